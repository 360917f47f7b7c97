# SPDX-License-Identifier: BSD-3-Clause
"""MPI ranks under `python -m omnitrace`: one directory and one table for all of them, and the status of the job."""

import os
import sys

import pytest
from omnitrace_helpers import COUNTS, DROPIN, output, rows

from mpi import KINDS, Mpi

PROGRAM = """\
import sys
from mpi4py import MPI
def shared(n): return n
def alone(): return shared(0)
rank = MPI.COMM_WORLD.rank
shared(rank)
if rank == 1:
    alone()
MPI.COMM_WORLD.Barrier()
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_share_directory_and_table(tmp_path, kind):
    mpi = Mpi(kind, tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    path = os.pathsep.join(filter(None, [DROPIN, os.environ.get("PYTHONPATH", "")]))
    words = [sys.executable, "-m", "omnitrace", "-R", "^shared$", "^alone$", "--", "program.py", "0"]
    done = mpi.run(2, words, PYTHONPATH=path, HOME="/nowhere", **COUNTS)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (output(tmp_path) / "trip_count.txt").read_text()
    ranks = [line.split("|")[2] for line in text.splitlines() if "shared" in line or "alone" in line]
    assert ranks == ["0", "1", "1", "1"]
    found = [row for row in rows(tmp_path) if not row[0].startswith("MPI_")]
    assert found == [("shared", 1, 0), ("shared", 1, 0), ("alone", 1, 0), ("|_shared", 1, 1)]
    assert ("MPI_Barrier", 1, 0) in rows(tmp_path)
    # the file by which the ranks agreed on a name is removed
    assert [p.name for p in (tmp_path / "omnitrace-program-output").iterdir()] == [output(tmp_path).name]
    # one launcher prints the list of written files
    assert done.stderr.count("trip_count.txt") == 1
