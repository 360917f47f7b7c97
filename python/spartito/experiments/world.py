# SPDX-License-Identifier: BSD-3-Clause
"""Which rank of which parallel job this process is, as the variables of the job's launcher say: Open MPI, Hydra (MPICH,
Intel MPI), Slurm's srun, whatever else reports PMIx or PMI."""

from __future__ import annotations

import os
import time

from spartito.experiments.job import batch_job

FIRST_SPECIAL_STEP = 0xFFFFFF00  # Slurm's numbers of steps from here on are batch scripts, interactive shells and the like
MAX_RANKS = 1 << 24  # ranks
LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
MAX_DEPTH = 8  # processes between a rank and its launcher: shells, wrappers
# seconds that a rank on a busy machine may come later than another; Hydra waits for all ranks, and who reads the message for it
REPORT_TIME, HYDRA_REPORT_TIME = 5.0, 0.5


def _text(name: str) -> str:
    return os.environ.get(name, "")


def _number(name: str) -> int:
    text = _text(name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1


def hashed(text: str) -> str:
    """16 hexadecimal digits (FNV-1a); hashlib costs more to load."""
    h = 0xCBF29CE484222325
    for byte in os.fsencode(text):
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


class World:
    """The ranks that one call of a launcher started."""

    __slots__ = ("key", "manager", "meeting", "rank", "size", "reports", "weak")

    def __init__(self, rank: int, size: int, manager: str, key: str, weak: bool = False) -> None:
        self.rank = rank
        self.size = size
        self.manager = manager
        # the same in all ranks, without blanks
        self.key = key if len(key) < 200 and key.isascii() and key.isprintable() and " " not in key else hashed(key)
        self.weak = weak  # another job may have that key
        local = next(filter(lambda n: n >= 0, map(_number, LOCAL_RANKS)), rank)
        self.reports = local == 0  # says for its node what all would say
        self.meeting = ".spartito-" + hashed(self.key)  # the file that tells the directory's name

    def wait_for_report(self) -> None:
        """Before a rank ends that leaves it to another to say what is wrong: most launchers end all when the first has failed."""
        time.sleep(HYDRA_REPORT_TIME if self.manager == "hydra" else REPORT_TIME)


def _weak(rank: int, size: int, manager: str, command: list[str]) -> World:
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    key = "\0".join((str(os.getuid()), here, str(size), batch_job(), *command))
    return World(rank, size, manager, hashed(key), True)


def process(pid: int) -> tuple[str, int, str]:
    """Name, parent and start of a process. OSError, ValueError, IndexError: it is not there."""
    with open(f"/proc/{pid}/stat", "rb") as f:
        text = f.read()
    name, _, rest = text.rpartition(b")")
    words = rest.split()
    return os.fsdecode(name.partition(b"(")[2]), int(words[1]), words[19].decode()


def _hydra(rank: int, size: int, command: list[str]) -> World:
    """The proxy that started this rank, directly or through shells: one for each node and call of mpiexec. Those of one
    call have the port of mpiexec in their command lines."""
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
    # the number of the job comes from a process id; the other one is drawn at random
    drawn = _text("OMPI_MCA_orte_precondition_transports")
    return World(rank, size, "openmpi", f"openmpi:{job}:{drawn}")


def _slurm() -> World | None:
    """Only in a step of several tasks: the variables are there in batch scripts too."""
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
    """None: this is no rank of several, or not known to be one. A launcher within a launcher stands last: its
    variables hide those of the one outside."""
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
