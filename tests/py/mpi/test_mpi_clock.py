# SPDX-License-Identifier: BSD-3-Clause
"""Clocks of different hosts: compared at the begin and the end of MPI, corrected by a linear function, and remaining errors are
reported."""

import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from foreign import OTF2_PRINT, Trace
from rawfile import CLOCK

from mpi import Measured, mpi  # noqa: F401

SKEW_SOURCE = Path(__file__).parents[2] / "native" / "skew.c"
MESSAGE = re.compile(r"MPI_(SEND|RECV) +(\d+) +(\d+) +(?:Receiver|Sender): (\d+)")
# every rank sends to every other rank, several times
PROGRAM = """
import time
import numpy as np
from mpi4py import MPI
c = MPI.COMM_WORLD
x, y = np.zeros(1), np.zeros(1)
for i in range(8):
    for a in range(c.size):
        for b in range(c.size):
            if c.rank == a != b:
                c.Send(x, b)
            elif c.rank == b != a:
                c.Recv(y, a)
    time.sleep(0.05)
"""
AHEAD = [0, 5_000_000_000, -3_000_000_000, 77_000]  # ns
# Drift in millionths. Rank 2 passes the clock of rank 0 on to rank 3; its own drift meanwhile is unknown until MPI ends.
GAIN = [0, 1000, -90, 50]


@pytest.fixture(scope="module")
def skew(tmp_path_factory):
    library = tmp_path_factory.mktemp("skew") / "skew.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(SKEW_SOURCE), "-o", str(library), "-ldl"], check=True)
    return str(library)


def comparisons(rank):
    return [struct.unpack("=3Q", texts[0]) for kind, _, _, _, *texts in rank.raw.of_mpi if kind == CLOCK]


def early(directory, tmp_path):
    """{(from, to): times by which messages arrived before they were sent}, from the trace as otf2-print shows it."""
    convert = [sys.executable, "-m", "spartito", "convert", "--to", "otf2", "-o", str(tmp_path / "otf2"), str(directory)]
    subprocess.run(convert, check=True, capture_output=True)
    times = {"SEND": {}, "RECV": {}}
    for line in Trace.lines(tmp_path / "otf2" / "traces.otf2"):
        found = MESSAGE.match(line)
        if found:
            kind, own, at, other = found[1], *map(int, found.groups()[1:])
            times[kind].setdefault((own, other) if kind == "SEND" else (other, own), []).append(int(at))
    assert {k: len(v) for k, v in times["SEND"].items()} == {k: len(v) for k, v in times["RECV"].items()}
    return {k: [sent - came for sent, came in zip(v, times["RECV"][k]) if came < sent] for k, v in times["SEND"].items()}


def reported(directory):
    command = [sys.executable, "-m", "spartito", "report", "messages", "--json", str(directory)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(not OTF2_PRINT, reason="needs otf2-print")
def test_skew_and_drift(mpi, skew, tmp_path):  # noqa: F811
    environment = {"SKEW": ",".join(map(str, AHEAD)), "DRIFT": ",".join(map(str, GAIN)), "SPARTITO_CLOCK": "monotonic"}
    done = mpi.measured(4, PROGRAM, within=["env", f"LD_PRELOAD={skew}"], **environment)
    doubt = []
    for me, rank in enumerate(done.ranks):
        (ticks, reference, error), (later, later_reference, later_error) = comparisons(rank)
        if me == 0:
            assert (reference, error, later_reference, later_error) == (ticks, 0, later, 0)
        doubt.append(max(error, later_error))
        # the clock's drift before MPI began is at most a thousandth of that time
        assert abs(ticks - reference - AHEAD[me]) <= doubt[me] + 60_000_000
        gained = (later - ticks) - (later_reference - reference)
        assert abs(gained - GAIN[me] / 1e6 * (later_reference - reference)) <= error + later_error + 1000
    wrong = early(done.directory, tmp_path)
    assert len(wrong) == 12
    for (a, b), amounts in wrong.items():
        # clocks agree as well as they could be compared
        assert all(amount <= doubt[a] + doubt[b] + 10 for amount in amounts), (a, b, doubt)
    found = reported(done.directory)
    assert found["messages"] == 96 and found["early"] == sum(map(len, wrong.values()))


@pytest.mark.skipif(not OTF2_PRINT, reason="needs otf2-print")
def test_one_host_has_one_clock(mpi, tmp_path):  # noqa: F811
    done = mpi.measured(3, PROGRAM.replace("range(8)", "range(2)"))
    for rank in done.ranks:
        assert [(ticks == reference, error) for ticks, reference, error in comparisons(rank)] == [(True, 0)] * 2
    assert not any(early(done.directory, tmp_path).values())
    assert reported(done.directory)["early"] == 0


def test_some_ranks_are_not_measured(mpi):  # noqa: F811
    (mpi.path / "program.py").write_text(PROGRAM)
    plain = [sys.executable, "program.py"]
    words = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", mpi.path / "x", "--", *plain]
    done = mpi.run_each(words, plain)
    assert done.returncode == 0, done.stderr
    (rank,) = Measured(done, mpi.path / "x").ranks
    assert "not all of the 2 ranks are measured" in rank.meta["missing_mpi_together"]
    assert comparisons(rank) == []
    assert len(rank.messages("send")) == len(rank.messages("recv")) == 8
