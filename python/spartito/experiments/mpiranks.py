# SPDX-License-Identifier: BSD-3-Clause
"""Finds out whether mpiexec started this command in several ranks, and the libraries with which they communicate."""

from __future__ import annotations

import os
import sys

from spartito.base import package
from spartito.base.messages import Refused
from spartito.experiments import world

WRAPPERS = {"openmpi": "spartito_mpi_openmpi.so", "mpich": "spartito_mpi_mpich.so"}
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
LIBRARIES = {"openmpi": ("libmpi.so.40", "libmpi.so"), "mpich": ("libmpich.so.12", "libmpi.so.12")}
LAUNCHERS = ("mpi", "orte", "prte", "hydra", "slurmstepd")  # name prefixes of processes that start ranks
# programs that may be between the launcher and this process
INTERMEDIATES = ("sh", "bash", "dash", "zsh", "ksh", "env", "nice", "time", "timeout", "taskset", "numactl")


class Ranks:
    """The ranks that run this command together, and the place of this process among them."""

    __slots__ = ("job", "libraries", "rank", "size", "wrappers")

    def __init__(self, job: world.World, wrappers: str, libraries: tuple[str, ...]) -> None:
        self.job = job
        self.rank = job.rank
        self.size = job.size
        self.wrappers = wrappers  # path of the wrapper library
        self.libraries = libraries  # names of the MPI library, one of which is installed


def _started_by_launcher() -> bool:
    """Whether a launcher of ranks started this process. The variables alone do not show it: a rank may start this command, which
    inherits its variables and is not a rank."""
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
    """The ranks of this command; None: it is a single process. Refused: there are several ranks, and Spartito was built without
    this MPI library."""
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
