# SPDX-License-Identifier: BSD-3-Clause
"""Runs real programs with mpiexec, for each MPI library installed, and reads the raw files of the ranks."""

import functools
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rawfile import CART, COMM, MPI, UNKNOWN, WIN, Raw
from spartito.experiments.rundir import PID

KINDS = ("openmpi", "mpich")
LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
FOREIGN = ("OMPI_", "PRTE_", "PMI", "MPI_", "SLURM_", "HYDI_", "MPI4PY_", "SPARTITO_", "PYTHONUNBUFFERED")
# names of the records, by their number in FORMAT.md
NAMES = {
    20: "send", 21: "recv", 22: "isend", 23: "isend_complete", 24: "irecv_request", 25: "irecv", 26: "test", 27: "cancelled",
    28: "collective_begin", 29: "collective_end", 30: "nbc_request", 31: "nbc_complete", 32: "comm_create",
    33: "comm_destroy", 34: "win_create", 35: "win_destroy", 36: "put", 37: "get", 38: "atomic", 39: "rma_complete",
    40: "group_sync", 41: "rma_collective_begin", 42: "rma_collective_end", 43: "lock",
}  # fmt: skip
OPERATIONS = [
    "BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV", "ALLTOALL", "ALLTOALLV",
    "ALLTOALLW", "ALLREDUCE", "REDUCE", "REDUCE_SCATTER", "SCAN", "EXSCAN", "REDUCE_SCATTER_BLOCK", "CREATE_HANDLE",
    "DESTROY_HANDLE", "ALLOCATE", "DEALLOCATE",
]  # fmt: skip


@functools.cache
def version(kind):
    """The version of an MPI library, (5, 0, 7); it is the first number that its mpiexec prints."""
    text = subprocess.run([f"mpiexec.{kind}", "--version"], capture_output=True, text=True).stdout
    return tuple(map(int, re.search(r"\d+(?:\.\d+)+", text).group().split(".")))


def launcher_environment(kind):
    """Lets root start more ranks than there are processors."""
    if kind != "openmpi":
        return {}
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if version(kind) < (5,):
        return {**environment, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    # the launcher is PRRTE, which reads other variables; its version 4, in Open MPI 6, has renamed this one
    policy = "rmaps_default_mapping_policy" if version(kind) < (6,) else "mapby"
    return {**environment, f"PRTE_MCA_{policy}": ":oversubscribe"}


def half(word):
    """The high and low half of a word; an unknown word is all ones."""
    word = UNKNOWN if word is None else word
    return word & 0xFFFFFFFF, word >> 32


def signed(word):
    return -1 if word is None else word - 2**64 if word >= 2**63 else word


def all_gone(directory, seconds=100):
    """Waits until the measured processes have ended: mpiexec may end before the processes that it killed."""
    end = time.monotonic() + seconds
    for path in (directory / "raw").glob("*.raw"):
        (pid,) = struct.unpack_from("=i", path.read_bytes(), PID)
        while runs(pid):
            assert time.monotonic() < end, f"process {pid} does not end"
            time.sleep(0.02)


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def some_kind():
    """The first MPI library that is installed; skips the test if none is."""
    kind = next((kind for kind in KINDS if shutil.which(f"mpiexec.{kind}")), None)
    return kind or pytest.skip("no mpiexec is installed")


class Mpi:
    """One MPI library: its mpiexec, and the build of mpi4py for it. Skips the test if it is not installed."""

    def __init__(self, kind, path):
        if not shutil.which(f"mpiexec.{kind}"):
            pytest.skip(f"mpiexec.{kind} is not installed")
        self.kind = kind
        self.path = path
        self.version = version(kind)
        # since version 5 MPICH over UCX, as Debian has it, never uses shared memory (issue 7705 of pmodels/mpich)
        self.shares_memory = kind == "openmpi" or self.version < (5,)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        self.environment["MPI4PY_MPIABI"] = kind
        self.environment.update(launcher_environment(kind))
        if kind == "openmpi":
            self.environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
            if self.version < (5,):
                self.environment["OMPI_MCA_osc"] = "ucx,sm"
            else:  # ranks that were spawned reach the others by TCP alone, and not each host reaches itself by its address
                self.environment["OMPI_MCA_btl_tcp_if_include"] = "lo"
        else:
            self.environment["LD_LIBRARY_PATH"] = str(self._library())

    def _library(self):
        """mpi4py's wheel opens MPICH as libmpi.so.12, which has another name in Debian."""
        directory = self.path / "mpich"
        directory.mkdir(exist_ok=True)
        real = next((p for p in (Path(d) / "libmpich.so.12" for d in LIBRARIES) if p.exists()), None)
        if real and not (directory / "libmpi.so.12").exists():
            (directory / "libmpi.so.12").symlink_to(real)
        return directory

    def run(self, n, words, timeout=250, **more):
        """Runs mpiexec -n N WORDS; returns the finished process. `more` is added to the environment."""
        command = [f"mpiexec.{self.kind}", "-n", str(n), *map(str, words)]
        return subprocess.run(command, cwd=self.path, env={**self.environment, **more}, text=True, capture_output=True,
                              timeout=timeout)  # fmt: skip

    def run_each(self, *commands, **more):
        """Runs a rank of one job with each of the commands. With `mpiexec A : B` Debian's Open MPI 5 crashes (issue 13303 of
        open-mpi/ompi), so a shell in each rank finds the command."""
        if self.kind != "openmpi" or self.version < (5,):
            words = [word for command in commands for word in (":", "-n", "1", *command)]
            return self.run(1, words[3:], **more)
        cases = "".join(f"{rank}) exec {shlex.join(map(str, command))};; " for rank, command in enumerate(commands))
        return self.run(len(commands), ["sh", "-c", f"case $OMPI_COMM_WORLD_RANK in {cases}esac"], **more)

    def plain(self, n, program, **more):
        (self.path / "program.py").write_text(program)
        return self.run(n, [sys.executable, "program.py"], **more)

    def measured(self, n, program, *options, trace=True, fails=False, words=(), within=(), **more):
        """Runs a program under `spartito run` in each rank, with `words` as its arguments and `within` before the command. Returns
        the raw files of the ranks, in order, and the output."""
        (self.path / "program.py").write_text(program)
        directory = self.path / "x"
        shutil.rmtree(directory, ignore_errors=True)
        front = [sys.executable, "-m", "spartito", "run", "-q", "-o", directory, *(["--trace"] if trace else []), *options]
        done = self.run(n, [*within, *front, "--", sys.executable, "program.py", *words], **more)
        assert fails or done.returncode == 0, done.stdout + done.stderr
        if done.returncode:
            all_gone(directory)
        return Measured(done, directory)


class Measured:
    def __init__(self, done, directory):
        self.done = done
        self.directory = directory
        raws = [Raw(p) for p in sorted((directory / "raw").glob("*.raw"))]
        self.ranks = [Rank(r) for r in sorted(raws, key=lambda r: int(r.meta.get("mpi_rank", -1)))]


class Communicator:
    """A communicator as one process defined it. members, and those of the other group, are known only in its rank 0; cart:
    dimensions and coordinates."""

    def __init__(self, number_here, flags):
        self.id, self.flags, self.cart = number_here, flags, None


def ranks_of(runs):
    """Ranks in MPI_COMM_WORLD; None for ranks of another world."""
    for world, first, count in struct.iter_unpack("=QII", runs):
        yield from range(first, first + count) if world else [None] * count


class Rank:
    """The MPI data of one rank."""

    def __init__(self, raw):
        self.raw = raw
        self.meta = raw.meta
        self.comms = {a: flags for kind, flags, a, *_ in raw.of_mpi if kind == COMM}
        self.windows = {a: texts[0].decode() for kind, _, a, _, *texts in raw.of_mpi if kind == WIN}

    def communicators(self):
        """{id: Communicator}; later definitions replace earlier ones."""
        found = {}
        for kind, flags, a, _, name, what, members, remote in self.raw.of_mpi:
            if kind == COMM:
                known = found.setdefault(a, Communicator(a, flags))
                known.name = name.decode()
                if what:
                    known.number, known.parent, known.size, known.rank, known.remote, _ = struct.unpack("=QQ4I", what)
                    known.members, known.others = list(ranks_of(members)), list(ranks_of(remote))
            elif kind == CART:
                found[a].cart = [struct.unpack(f"={len(text) // 4}I", text) for text in (what, members)]
        return found

    def records(self, location=None):
        """(name of the record, its words) of each MPI event, and (enter|leave, function), in order."""
        for where, events in sorted(self.raw.events.items()):
            for what, *rest in events:
                if what in ("enter", "leave") and rest[0][0] == MPI and location in (None, where):
                    yield what, rest[0][1]
                elif what in NAMES and location in (None, where):
                    yield NAMES[what], *rest

    def calls(self):
        """Each outermost MPI call with its records: [function, (record, words…)…]."""
        call = []
        for what, *rest in self.records():
            if what == "enter":
                call = [rest[0]]
            elif what == "leave":
                yield call
            else:
                call.append((what, *rest))

    def of(self, function):
        return [call[1:] for call in self.calls() if call[0] == function]

    def names(self):
        return [call[0] for call in self.calls()]

    def messages(self, record):
        """(communicator, partner, tag, bytes) of each send or receive of that kind."""
        found = []
        for what, *words in self.records():
            if what == record:
                comm, partner = half(words[0])
                found.append((comm, partner, signed(words[1]), words[2]))
        return found

    def collectives(self, record="collective_end"):
        """(operation, communicator, root, sent, received) of each, without those that create or free handles."""
        found = []
        for what, *words in self.records():
            if what == record:
                comm, operation = half(words[0])
                if OPERATIONS[operation] not in ("CREATE_HANDLE", "DESTROY_HANDLE"):
                    found.append((OPERATIONS[operation], comm, signed(words[1]), words[2], words[3]))
        return found

    def metric(self, function, name):
        """Sum of a metric over all call paths that end in the function."""
        return sum(values[name] for path, values in self.raw.profile.items() if path and path[-1] == function)


@pytest.fixture(params=KINDS)
def mpi(request, tmp_path):
    pytest.importorskip("mpi4py")
    return Mpi(request.param, tmp_path)
