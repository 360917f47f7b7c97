# SPDX-License-Identifier: BSD-3-Clause
"""Memory of several processes: MPI ranks, children by exec and fork, and threads; each has separate numbers."""

import json
import re
import sys

import pytest
from commandline import run
from memoryhelp import LIBC, Memory, recorded
from programs import WITHOUT_GIL

from mpi import mpi  # noqa: F401

RANKS = (
    LIBC.replace("CDLL", "PyDLL")
    + """
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
def keep():
    for i in range(10 * (rank + 1)):
        libc.malloc(1000 + rank)  # kept
def high():
    p = libc.malloc(20_000_000 * (rank + 1))  # high
    libc.free(p)
keep()
high()
MPI.COMM_WORLD.Barrier()
"""
)
BUFFERS = """
import numpy
from mpi4py import MPI
c = MPI.COMM_WORLD
a = numpy.zeros(250_000 * (c.rank + 1))  # buffer
a[:] = 1
b = numpy.empty_like(a)  # result
c.Allreduce(a[:1000], b[:1000])
print(b[0])
"""


# a block of 1000 bytes is missed with the probability e^-50
@pytest.mark.parametrize("option", ["--memory-profile", "--memory-sample=20"])
def test_ranks(spartito, mpi, option):  # noqa: F811
    done = mpi.measured(3, RANKS, option, trace=False)
    m = Memory(done.directory, RANKS)
    exact = option == "--memory-profile"
    ranks = {p["rank"]: i for i, p in enumerate(m.model.info()["processes"])}
    assert sorted(ranks) == [0, 1, 2]
    heaps = {p["process"]: p for p in m.found["processes"]}
    for rank, process in ranks.items():
        kept = [s for s in m.sites("kept", "malloc") if s["process"] == process]
        n = 10 * (rank + 1)
        # blocks much larger than the sampling period are all recorded with their exact size
        assert sum(s["left_bytes"] for s in kept) == pytest.approx(n * (1000 + rank), rel=0 if exact else 0.01)
        high = [s for s in m.sites("high", "malloc") if s["process"] == process]
        assert sum(s["bytes"] for s in high) == sum(s["freed_bytes"] for s in high) == 20_000_000 * (rank + 1), high
        assert heaps[process]["peak_bytes"] > 20_000_000 * (rank + 1) and heaps[process]["lost"] == 0
    shown = run(spartito, "report", "memory", done.directory).stdout
    table = shown[shown.index("by process") :].splitlines()[2:5]
    assert [line.split("  ")[-1].split(",")[0] for line in table] == ["rank 0", "rank 1", "rank 2"]
    one = json.loads(run(spartito, "report", "memory", "--rank", "1", "--json", done.directory).stdout)
    assert [p["process"] for p in one["processes"]] == [ranks[1]] and {t["process"] for t in one["threads"]} == {ranks[1]}
    assert one["processes"][0]["sums"] == {key: one["totals"][key] for key in one["processes"][0]["sums"]}
    # Open MPI 5 itself may have more, which the line with the import leads to
    (high,) = (row for row in one["peak"][:2] if row["line"] == m.lines["high"])
    assert 40_000_000 <= high["peak_bytes"] < 40_010_000
    # a merged experiment has the columns without reading the raw files
    run(spartito, "finalize", "--force", done.directory)
    merged = Memory(done.directory, RANKS)
    assert merged.found == m.found
    keep = next(row for row in merged.model.flat(limit=0) if row["name"] == "__main__:keep")
    assert keep["metrics"]["left_bytes"]["excl"] >= 10 * 1000 + 20 * 1001 + 30 * 1002 - (0 if exact else 600)


def test_buffers_of_numpy_in_ranks(mpi):  # noqa: F811
    pytest.importorskip("numpy")
    done = mpi.measured(2, BUFFERS, "--memory-profile", trace=False)
    assert done.done.stdout.split() == ["2.0", "2.0"]
    m = Memory(done.directory, BUFFERS)
    for rank in 0, 1:
        process = next(i for i, p in enumerate(m.model.info()["processes"]) if p["rank"] == rank)
        for mark in "buffer", "result":
            large = [s["bytes"] for s in m.sites(mark) if s["process"] == process and s["bytes"] > 1_000_000]
            assert len(large) == 1 and 0 <= large[0] - 2_000_000 * (rank + 1) <= 64 * WITHOUT_GIL  # see test_numpy_buffers


def test_many_processes_are_a_table(spartito, tmp_path):
    m = recorded(
        spartito,
        tmp_path,
        LIBC
        + """
import os
for i in range(7):
    pid = os.fork()
    if not pid:
        libc.malloc(1000 * (i + 1))  # child
        os._exit(0)
    os.waitpid(pid, 0)
""",
    )
    assert m.numbers("child")[:2] == (7, 28_000)
    shown = run(spartito, "report", "memory", tmp_path / "x").stdout
    assert shown.startswith("by process\n") and "█" not in shown and "resident " in shown.splitlines()[1]
    assert "released that were there before, or were not recorded, in " in shown
    first = run(spartito, "report", "memory", "--process", "0", tmp_path / "x").stdout
    assert first.startswith("process 0") and "by process" not in first
    done = run(spartito, "report", "memory", "--process", "9", tmp_path / "x")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_limits_of_many_processes_are_one_line(spartito, tmp_path):
    (tmp_path / "program.py").write_text("""
import os, time
for i in range(6):
    if not os.fork():
        x = bytearray(b"x") * 100_000_000
        time.sleep(0.1)  # the resident size is measured from time to time
        y = [bytearray(b"x") * 1_000_000 for j in range(50)]
        os._exit(0)
    os.wait()
""")
    done = run(spartito, "run", "--limit-rss", "60M", "-o", "x", "--", sys.executable, "program.py", cwd=tmp_path)
    (line,) = [line for line in done.stderr.splitlines() if "60.0 MiB resident" in line]
    assert "was passed in 6 processes, first after " in line
    assert re.search(r" in __main__:<\w+>, line [567]$", line)
    assert line in run(spartito, "report", "memory", "x", cwd=tmp_path).stdout.replace("spartito: ", "")


def test_a_program_that_becomes_another(spartito, tmp_path):
    (tmp_path / "second.py").write_text(LIBC + "for i in range(5):\n    libc.malloc(700)\n")
    m = recorded(
        spartito,
        tmp_path,
        LIBC
        + """
import os
p = libc.malloc(5555)  # first
os.execv(sys.executable, [sys.executable, "second.py"])
""",
    )
    assert m.numbers("first") == (1, 5555, 0, 0)
    second = [s for s in m.found["sites"] if (s["file"] or "").endswith("second.py") and s["allocator"] == "malloc"]
    second = [s for s in second if s["bytes"] == 3500]
    assert len(second) == 1 and len(m.found["processes"]) == 2


def test_the_limit_is_marked_in_a_trace(spartito, tmp_path):
    m = recorded(
        spartito,
        tmp_path,
        """
import time
def big():
    return [bytearray(b"x") * 90_000_000, time.sleep(0.1), [bytes(1000) for j in range(100)]]  # big
for i in range(3):
    big()
    end = time.monotonic() + 0.2  # the resident size is measured from time to time, and where something is allocated
    while time.monotonic() < end:
        x = [bytes(1000) for j in range(3000)]
""",
        "--limit-rss",
        "60M",
        "--memory-profile",
        "--trace",
    )
    (process,) = m.found["processes"]
    # without the GIL freed memory stays resident for a time
    assert process["limit"]["passes"] in ((1, 2, 3) if WITHOUT_GIL else (3,)) and process["limit"]["line"] == m.lines["big"]
    assert run(spartito, "convert", "--to", "chrome", "-o", tmp_path / "c.json", tmp_path / "x").returncode == 0
    marks = [e for e in json.loads((tmp_path / "c.json").read_text())["traceEvents"] if "passed --limit-rss" in str(e.get("name"))]
    assert len(marks) == 1
