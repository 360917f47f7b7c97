# SPDX-License-Identifier: BSD-3-Clause
"""`mpiexec -n N spartito-kernprof`: one file for all ranks together, and one for each rank."""

import subprocess
import sys

import pytest
from test_kernprof import calls, hits

from mpi import KINDS, Mpi

NAMED = "import os\nr = int(os.environ.get('OMPI_COMM_WORLD_RANK') or os.environ['PMI_RANK'])\n"
BEGUN = "from mpi4py import MPI\nr = MPI.COMM_WORLD.rank\n"
# waits up to 100 s for missing ranks, as a busy machine may start them late
PATIENT = (
    "import sys\nfrom spartito.experiments import ranks\nfrom spartito.compat.kernprof.command import main\n"
    "ranks.JOIN_TIMEOUT = 100\n"
    "sys.exit(main())\n"
)
KERNPROF = [sys.executable, "-c", PATIENT]
PROGRAM = "@profile\ndef f():\n    return 1\nfor i in range(10 ** r): f()\n"


@pytest.fixture(params=KINDS)
def mpi(request, tmp_path):
    return Mpi(request.param, tmp_path)


def left(mpi):
    return sorted(p.name for p in mpi.path.iterdir() if p.name != "mpich")


@pytest.mark.parametrize("head", [NAMED, BEGUN], ids=["named", "begun"])
@pytest.mark.parametrize("option", ["-l", "-b"])
def test_a_file_for_each_rank(mpi, head, option):
    """For ranks that begin MPI, and for ranks that only mpiexec started."""
    (mpi.path / "script.py").write_text(head + PROGRAM, encoding="utf-8")
    done = mpi.run(3, [*KERNPROF, option, "script.py"])
    assert done.returncode == 0, done.stderr
    name = "script.py.lprof" if option == "-l" else "script.py.prof"
    assert left(mpi) == ["script.py", name, *(f"{name}{rank}" for rank in range(3))]
    assert [row for row in done.stdout.splitlines() if row.startswith("Wrote")] == [
        f"Wrote profile results to '{file}'" for file in (name, *(f"{name}{rank}" for rank in range(3)))
    ]
    line = 5 if option == "-l" else 0
    for number, file in ((111, name), (1, name + "0"), (10, name + "1"), (100, name + "2")):
        if option == "-l":
            assert hits(mpi.path / file) == {"f": {line: number}}
        else:
            assert calls(mpi.path / file, "f") == number


def test_one_rank_has_one_file(mpi):
    (mpi.path / "script.py").write_text(BEGUN + PROGRAM, encoding="utf-8")
    done = mpi.run(1, [*KERNPROF, "-b", "script.py"])
    assert done.returncode == 0, done.stderr
    assert left(mpi) == ["script.py", "script.py.prof"] and calls(mpi.path / "script.py.prof", "f") == 1


def test_all_ranks_refuse_as_one(mpi):
    done = mpi.run(2, [*KERNPROF, "-l", "nothing.py"])
    assert done.returncode == 1 and "kernprof: Could not find script 'nothing.py'" in done.stderr
    assert left(mpi) == []


def test_view_once(mpi):
    (mpi.path / "script.py").write_text(NAMED + PROGRAM, encoding="utf-8")
    done = mpi.run(2, [*KERNPROF, "-bv", "script.py"])
    assert done.returncode == 0 and done.stdout.count("Ordered by: standard name") == 1
    subprocess.run([sys.executable, "-c", "import pstats; pstats.Stats('script.py.prof')"], cwd=mpi.path, check=True)
