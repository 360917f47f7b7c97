# SPDX-License-Identifier: BSD-3-Clause
"""Whether mpiexec started this very command in several ranks, and what they need to talk through MPI."""

from __future__ import annotations

import os
import sys

from spartito.base import package
from spartito.base.messages import Refused
from spartito.experiments import world

WRAPPERS = {"openmpi": "spartito_mpi_openmpi.so", "mpich": "spartito_mpi_mpich.so"}
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
LIBRARIES = {"openmpi": ("libmpi.so.40", "libmpi.so"), "mpich": ("libmpich.so.12", "libmpi.so.12")}
LAUNCHERS = ("mpi", "orte", "prte", "hydra", "slurmstepd")  # how names of processes that start ranks begin
INTERMEDIATES = ("sh", "bash", "dash", "zsh", "ksh", "env", "nice", "time", "timeout", "taskset", "numactl")


class Ranks:
    """The ranks that all run this command."""

    __slots__ = ("job", "libraries", "rank", "size", "wrappers")

    def __init__(self, job: world.World, wrappers: str, libraries: tuple[str, ...]) -> None:
        self.job = job
        self.rank = job.rank
        self.size = job.size
        self.wrappers = wrappers  # path
        self.libraries = libraries  # names of the MPI's own, one of which is available


def _started_by_launcher() -> bool:
    """A program that is a rank may run a command of ours, which has its variables and is no rank."""
    pid = os.getppid()
    try:
        for _ in range(world.MAX_DEPTH):
            name, parent, _start = world.process(pid)
            if name.startswith(LAUNCHERS):
                return True
            if name not in INTERMEDIATES:
                return False
            pid = parent
    except (OSError, ValueError, IndexError):
        pass
    return False


def find() -> Ranks | None:
    """None: this process is alone. Refused: it is not, and Spartito was built without this MPI."""
    job = world.find(sys.argv)
    if not job or not _started_by_launcher():
        return None
    available = [kind for kind, name in WRAPPERS.items() if os.path.exists(os.path.join(package.DIRECTORY, name))]
    kind = {"openmpi": "openmpi", "hydra": "mpich"}.get(job.manager)
    if kind is None:
        likely = "openmpi" if "PMIX_RANK" in os.environ else "mpich"
        kind = likely if likely in available or not available else available[0]
    if kind not in available:
        if job.rank:
            job.wait_for_report()
            raise SystemExit(1)
        raise Refused(f"Spartito was built without {NAMES[kind]}: start it without mpiexec")
    return Ranks(job, os.path.join(package.DIRECTORY, WRAPPERS[kind]), LIBRARIES[kind])
