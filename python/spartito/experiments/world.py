# SPDX-License-Identifier: BSD-3-Clause
"""Finds out which rank of which parallel job this process is, from the variables of the job's launcher: Open MPI, Hydra (MPICH,
Intel MPI), Slurm's srun, or any other that uses PMIx or PMI."""

from __future__ import annotations

import os
import time

from spartito.experiments.job import batch_job

FIRST_SPECIAL_STEP = 0xFFFFFF00  # Slurm's step numbers from this one on are batch scripts, interactive shells and the like
MAX_RANKS = 1 << 24  # of a job; a larger number is not believed
LOCAL_RANKS = (
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "PMI_LOCAL_RANK",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
)
MAX_DEPTH = 8  # maximum number of processes (shells, wrappers) between a rank and its launcher
# Seconds that a silent rank waits before it exits, so that the reporting rank can print an error first, even on a busy machine.
# Hydra waits for all ranks before it ends, so that the user would wait for the full time; it gets less.
REPORT_TIME, HYDRA_REPORT_TIME = 5.0, 0.5


def _text(name: str) -> str:
    return os.environ.get(name, "")


def _number(name: str) -> int:
    text = _text(name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1


def hashed(text: str) -> str:
    """The FNV-1a hash as 16 hexadecimal digits. Importing hashlib would take longer."""
    h = 0xCBF29CE484222325
    for byte in os.fsencode(text):
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


class World:
    """The ranks that one call of a launcher started, and the place of this process among them."""

    __slots__ = ("key", "manager", "meeting", "rank", "size", "reports", "weak")

    def __init__(self, rank: int, size: int, manager: str, key: str, weak: bool = False) -> None:
        self.rank = rank
        self.size = size
        self.manager = manager
        # identifies the job: equal in all ranks, and without blanks
        self.key = key if len(key) < 200 and key.isascii() and key.isprintable() and " " not in key else hashed(key)
        self.weak = weak  # another job may have the same key
        local = next(filter(lambda n: n >= 0, map(_number, LOCAL_RANKS)), rank)
        self.reports = local == 0  # this rank prints the messages that all ranks of its node would print
        self.meeting = ".spartito-" + hashed(self.key)  # name of the meeting file (ranks.meet())

    def wait_for_report(self) -> None:
        """Waits before this rank exits with an error that another rank reports: most launchers end all ranks when the first one
        fails."""
        time.sleep(HYDRA_REPORT_TIME if self.manager == "hydra" else REPORT_TIME)


def _weak(rank: int, size: int, manager: str, command: list[str]) -> World:
    """A job that has no identifier. Its key is made of the user, directory, size, batch job and command line."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    key = "\0".join((str(os.getuid()), here, str(size), batch_job(), *command))
    return World(rank, size, manager, hashed(key), True)


def process(pid: int) -> tuple[str, int, str]:
    """Name, parent and start time (clock ticks since boot) of a process. OSError, ValueError, IndexError: there is no such
    process."""
    with open(f"/proc/{pid}/stat", "rb") as f:
        text = f.read()
    name, _, rest = text.rpartition(b")")
    words = rest.split()
    return os.fsdecode(name.partition(b"(")[2]), int(words[1]), words[19].decode()


def _hydra(rank: int, size: int, command: list[str]) -> World:
    """The job of a rank of Hydra. A proxy process started this rank, directly or through shells; there is one proxy for each node
    and call of mpiexec. The proxies of one call have the same port in their command lines. If all ranks are on this node, the
    proxy's process identifies the job."""
    pid = os.getppid()
    try:
        for _ in range(MAX_DEPTH):
            name, parent, start = process(pid)
            if name.startswith("hydra"):
                break
            pid = parent
        else:
            return _weak(rank, size, "hydra", command)
        if _number("MPI_LOCALNRANKS") == size:
            return World(rank, size, "hydra", f"hydra:{os.uname().nodename}:{pid}:{start}")
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = [os.fsdecode(word) for word in f.read().split(b"\0")]
    except (OSError, ValueError, IndexError):
        return _weak(rank, size, "hydra", command)
    ids = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("--control-port", "--pgid")]
    if not ids:
        return _weak(rank, size, "hydra", command)
    return World(rank, size, "hydra", "hydra:" + ":".join([*ids, batch_job()]))


def _openmpi(rank: int, size: int, command: list[str]) -> World:
    job = _text("PMIX_NAMESPACE") or _text("OMPI_MCA_ess_base_jobid")
    if not job:
        return _weak(rank, size, "openmpi", command)
    # the job number is derived from a process id, which may recur; the other value is random
    drawn = _text("OMPI_MCA_orte_precondition_transports")
    return World(rank, size, "openmpi", f"openmpi:{job}:{drawn}")


def _slurm() -> World | None:
    """The job step of this process; None: it is not in a step with several tasks. Batch scripts have the same variables, but no
    step."""
    rank, size, step = _number("SLURM_PROCID"), _number("SLURM_STEP_NUM_TASKS"), _number("SLURM_STEP_ID")
    size = size if size > 0 else _number("SLURM_NTASKS")
    job = _text("SLURM_JOB_ID")
    if not job or not 0 <= step < FIRST_SPECIAL_STEP or not 0 <= rank < size:
        return None
    parts = (_text("SLURM_CLUSTER_NAME"), job, str(step), os.environ.get("SLURM_RESTART_COUNT", "0"))
    return World(rank, size, "slurm", "slurm:" + ".".join(parts))


def _pmi(command: list[str]) -> World | None:
    rank, size = _number("PMI_RANK"), _number("PMI_SIZE")
    if rank < 0:
        rank, size = _number("MV2_COMM_WORLD_RANK"), _number("MV2_COMM_WORLD_SIZE")
    if not 0 <= rank < size:
        return None
    if _number("MPI_LOCALNRANKS") > 0:
        return _hydra(rank, size, command)
    slurm = _slurm()
    if slurm and (slurm.rank, slurm.size) == (rank, size):
        return slurm
    for name in ("PMI_JOBID", "PALS_APID", "ALPS_APP_ID", "FLUX_JOB_ID"):
        if _text(name):
            return World(rank, size, "pmi", f"pmi:{name}:{_text(name)}:{batch_job()}")
    return _weak(rank, size, "pmi", command)


def find(command: list[str]) -> World | None:
    """The parallel job of this process; None: it is not one of several ranks, or that is not known. command: for the key of a job
    without an identifier. The variables are checked in the order of likely nesting: srun may start mpiexec, so Slurm's are checked
    last."""
    rank, size = _number("OMPI_COMM_WORLD_RANK"), _number("OMPI_COMM_WORLD_SIZE")
    if 0 <= rank < size:
        world: World | None = _openmpi(rank, size, command)
    elif _number("PMI_RANK") >= 0 or _number("MV2_COMM_WORLD_RANK") >= 0:
        world = _pmi(command)
    else:
        world = _slurm()
        rank, job = _number("PMIX_RANK"), _text("PMIX_NAMESPACE")
        size = _number("PMIX_SIZE")
        if not world and job and 0 <= rank < size:
            world = World(rank, size, "pmix", f"pmix:{job}")
    return world if world and 1 < world.size <= MAX_RANKS else None
