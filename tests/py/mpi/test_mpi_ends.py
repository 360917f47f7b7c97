# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs that end abnormally, begin unusually, or are measured in part: each has a readable experiment and a clear
message."""

import re
import signal
import struct
import subprocess
import sys
import time
from collections import Counter

import pytest
from rawfile import Raw
from scorep_helpers import DROPIN

from mpi import Measured, Rank, all_gone, mpi  # noqa: F401

SPARTITO = [sys.executable, "-m", "spartito"]
KILLED = """
import os
from mpi4py import MPI
c = MPI.COMM_WORLD
for i in range(100):
    if c.rank == 0: c.Send(bytearray(8), 1)
    if c.rank == 1: c.Recv(bytearray(8), 0)
c.Barrier()
def dies(): os.kill(os.getpid(), 9)
if c.rank == 1: dies()
c.Recv(bytearray(8), 1)
"""
HANGS = """
from mpi4py import MPI
c = MPI.COMM_WORLD
def stuck(): c.Recv(bytearray(8), 0)
c.Barrier()
open(f"ready{c.rank}", "w").close()
if c.rank == 1: stuck()
c.Barrier()
"""
HALF = """
from mpi4py import MPI
c = MPI.COMM_WORLD
c.Sendrecv(bytearray(3), 1 - c.rank, 7, bytearray(3), 1 - c.rank, 7)
c.Barrier()
"""
SPAWNS = """
import sys
from mpi4py import MPI
c = MPI.COMM_WORLD
if len(sys.argv) > 1:
    p = MPI.Comm.Get_parent()
    p.Send(bytearray(5 + c.rank), 0, 7)
else:
    p = c.Spawn(sys.executable, [__file__, "child"], 2)
    for i in range(2): p.Recv(bytearray(10), i, 7)
p.Disconnect()
"""


def messages_of(directory):
    """Messages of `spartito info`, which must be able to read the experiment."""
    done = subprocess.run([*SPARTITO, "info", directory], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done.stderr


def test_a_killed_rank(mpi):  # noqa: F811
    done = mpi.measured(2, KILLED, fails=True)
    assert done.done.returncode != 0
    assert len(done.ranks[0].messages("send")) == len(done.ranks[1].messages("recv")) == 100
    assert done.ranks[1].metric("MPI_Recv", "bytes_received") == 800
    text = messages_of(done.directory)
    assert re.search(r"rank 1 \(process \d+ on \S+\) ended abruptly in __main__:dies, called by __main__:<module> \(", text)
    assert "rank 1 of 2 was ended by signal 9 (SIGKILL)" in text


def last_of(p, mpi):  # noqa: F811
    """The last enter or leave of MPI in each rank; empty if a file was read while it was written."""
    try:
        ranks = Measured(p, mpi.path / "x").ranks
        return [[what for what in rank.records() if what[0] in ("enter", "leave")][-1] for rank in ranks]
    except (LookupError, ValueError, struct.error):
        return []


def test_a_rank_that_hangs(mpi):  # noqa: F811
    stuck = [("enter", "MPI_Barrier"), ("enter", "MPI_Recv")]
    (mpi.path / "program.py").write_text(HANGS)
    words = [f"mpiexec.{mpi.kind}", "-n", "2", *SPARTITO, "run", "-q", "-o", "x", "--trace", "--", sys.executable, "program.py"]
    with subprocess.Popen(words, cwd=mpi.path, env=mpi.environment, stderr=subprocess.PIPE, text=True) as p:
        end = time.monotonic() + 100
        # events are in the files while the ranks run
        while not all((mpi.path / f"ready{r}").exists() for r in range(2)) or last_of(p, mpi) != stuck:
            assert time.monotonic() < end and p.poll() is None, last_of(p, mpi)
            time.sleep(0.05)
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=100)
    all_gone(mpi.path / "x")
    assert last_of(p, mpi) == stuck
    text = messages_of(mpi.path / "x")
    assert "ended abruptly in MPI_Barrier, called by __main__:<module> (" in text
    assert "ended abruptly in MPI_Recv, called by __main__:stuck (" in text


def test_abort(mpi):  # noqa: F811
    program = "from mpi4py import MPI\nc = MPI.COMM_WORLD\nc.Barrier()\nif c.rank == 1: c.Abort(7)\nc.Barrier()\n"
    done = mpi.measured(2, program, fails=True)
    assert done.done.returncode != 0
    assert re.search(r"rank 1 \(process \d+ on \S+\) called MPI_Abort with code 7", messages_of(done.directory))


def test_mpi_is_never_begun(mpi):  # noqa: F811
    done = mpi.measured(2, "import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\n")
    assert len(done.ranks) == 2 and messages_of(done.directory) == ""


def parts(mpi, *each):  # noqa: F811
    """Runs a separate command line for each rank; None: without Spartito."""
    (mpi.path / "program.py").write_text(HALF)
    front = [[] if options is None else [*SPARTITO, "run", "-q", "--trace", *options, "--"] for options in each]
    done = mpi.run_each(*([*words, sys.executable, "program.py"] for words in front))
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_only_one_rank_is_measured(mpi):  # noqa: F811
    """The measured rank must not wait for a rank without Spartito."""
    done = Measured(parts(mpi, ["-o", "x"], None), mpi.path / "x")
    (rank,) = done.ranks
    assert (rank.meta["mpi_rank"], rank.meta["mpi_size"]) == ("0", "2")
    assert [m[1:] for m in rank.messages("send")] == [m[1:] for m in rank.messages("recv")] == [(1, 7, 3)]
    text = messages_of(mpi.path / "x")
    assert "because not all of the 2 ranks are measured" in text and "rank 1 of 2" in text


def test_a_directory_for_each_rank(mpi):  # noqa: F811
    """Each rank has its own experiment, as on nodes without a shared file system."""
    parts(mpi, ["-o", "a"], ["-o", "b"])
    for me, name in enumerate("ab"):
        (rank,) = Measured(None, mpi.path / name).ranks
        assert [m[1:] for m in rank.messages("send")] == [m[1:] for m in rank.messages("recv")] == [(1 - me, 7, 3)]
        text = messages_of(mpi.path / name)
        assert "because not all of the 2 ranks are measured" in text and f"rank {1 - me} of 2" in text


def test_spawned_processes(mpi):  # noqa: F811
    if mpi.plain(1, SPAWNS).returncode:
        pytest.skip(f"{mpi.kind} cannot spawn processes here")
    words = [*SPARTITO, "run", "-q", "--trace", "-o", "x", "--", f"mpiexec.{mpi.kind}", "-n", "1", sys.executable, "program.py"]
    done = subprocess.run(words, cwd=mpi.path, env=mpi.environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    raws = [Raw(p) for p in (mpi.path / "x" / "raw").glob("*.raw")]
    assert Counter(r.meta["mpi_size"] for r in raws) == {"1": 1, "2": 2}
    assert len({r.meta["mpi_world"] for r in raws}) == 2
    (parent,) = (Rank(r) for r in raws if r.meta["mpi_size"] == "1")
    children = [Rank(r) for r in raws if r.meta["mpi_size"] == "2"]
    assert sorted(m[1:] for m in parent.messages("recv")) == [(0, 7, 5), (1, 7, 6)]
    assert sorted(m[1:] for c in children for m in c.messages("send")) == [(0, 7, 5), (0, 7, 6)]
    messages_of(mpi.path / "x")


@pytest.mark.parametrize(
    ("words", "groups", "names"),
    [
        (["--mpp=mpi"], "", {"MPI_Init_thread", "MPI_Finalize", "MPI_Sendrecv", "MPI_Barrier"}),
        (["--mpp=mpi"], "default,~p2p,~env", {"MPI_Barrier"}),
        (["--mpp=none"], "", set()),
    ],
)
def test_as_scorep(mpi, words, groups, names):  # noqa: F811
    (mpi.path / "program.py").write_text(HALF)
    variables = {"SCOREP_ENABLE_TRACING": "true", "SCOREP_EXPERIMENT_DIRECTORY": "s", "SCOREP_MPI_ENABLE_GROUPS": groups}
    variables["PYTHONPATH"] = DROPIN
    done = mpi.run(2, [sys.executable, "-m", "scorep", *words, "program.py"], **variables)
    assert done.returncode == 0, done.stderr
    found = Measured(done, mpi.path / "s")
    assert len(found.ranks) == 2
    for rank in found.ranks:
        assert set(rank.names()) >= names and (names or not rank.names())
        assert ("MPI_Sendrecv" in rank.names()) == ("MPI_Sendrecv" in names)
        assert [m[2:] for m in rank.messages("send")] == ([(7, 3)] if "MPI_Sendrecv" in names else [])
