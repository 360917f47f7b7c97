# SPDX-License-Identifier: BSD-3-Clause
"""MPI in measured programs: where the wrappers are active, and where they are not."""

import re
import subprocess
import sys

from mpi import mpi  # noqa: F401

HELLO = "from mpi4py import MPI\nc = MPI.COMM_WORLD\nc.Barrier()\nprint('rank', c.rank, 'of', c.size)\n"


def test_worlds_and_regions(mpi):  # noqa: F811
    done = mpi.measured(2, HELLO)
    assert sorted(done.done.stdout.split("\n")) == sorted(mpi.plain(2, HELLO).stdout.split("\n"))
    assert [r.meta["mpi_rank"] for r in done.ranks] == ["0", "1"]
    assert {r.meta["mpi_size"] for r in done.ranks} == {"2"}
    assert len({r.meta["mpi_world"] for r in done.ranks}) == 1
    assert {r.meta["mpi_thread_level"] for r in done.ranks} == {"MPI_THREAD_MULTIPLE"}
    assert all(("Open MPI" if mpi.kind == "openmpi" else "MPICH") in r.meta["mpi_library"] for r in done.ranks)
    for rank in done.ranks:
        names = rank.names()
        assert names.count("MPI_Init_thread") == names.count("MPI_Finalize") == names.count("MPI_Barrier") == 1
        assert rank.comms == {1: 4, 2: 2}
        assert [c[0] for c in rank.of("MPI_Init_thread")[0]] == ["collective_begin", "comm_create", "comm_create", "collective_end"]
        assert [c[0] for c in rank.of("MPI_Finalize")[0]] == ["collective_begin", "comm_destroy", "comm_destroy", "collective_end"]


def test_off_and_groups(mpi):  # noqa: F811
    done = mpi.measured(2, HELLO, "--mpi", "off")
    assert all(r.names() == [] and "mpi_rank" not in r.meta for r in done.ranks)
    done = mpi.measured(2, HELLO, "--mpi", "coll")
    assert all(r.names() == ["MPI_Barrier"] and r.meta["mpi_size"] == "2" for r in done.ranks)


def test_a_wrong_group(spartito):
    done = subprocess.run([*spartito, "run", "--mpi", "p2p,kol", "--", "true"], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "--mpi" in done.stderr and "'kol'" in done.stderr


def test_mpi_never_begun(mpi):  # noqa: F811
    program = "import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\nprint(MPI.Is_initialized())\n"
    done = mpi.measured(2, program)
    assert done.done.stdout == "False\nFalse\n"
    assert all("mpi_rank" not in r.meta for r in done.ranks)
    assert all(set(r.names()) <= {"MPI_Initialized", "MPI_Finalized"} for r in done.ranks)


def test_abort(mpi):  # noqa: F811
    program = HELLO + "def f(): c.Abort(7)\nif c.rank == 1: f()\nc.Barrier()\n"
    done = mpi.measured(2, program, fails=True)
    assert done.done.returncode == mpi.plain(2, program).returncode != 0
    assert done.ranks[1].meta["mpi_aborted"] == "7"
    names = done.ranks[1].names()
    # with newer versions of MPICH the program may still run until mpiexec ends it
    assert "MPI_Abort" in names if mpi.kind == "mpich" and mpi.version >= (4, 2) else names[-1] == "MPI_Abort"
    assert done.ranks[0].names().count("MPI_Barrier") >= 1
    message = subprocess.run([sys.executable, "-m", "spartito", "info", done.directory], capture_output=True, text=True).stderr
    assert re.search(r"^spartito.*: rank 1 \(process \d+ on .*\) called MPI_Abort with code 7$", message, re.M), message


# A program can query MPI symbols in the process: the answer must be right without MPI and with it.
ASK = """
import ctypes, sys
everywhere = ctypes.CDLL(None)
before = hasattr(everywhere, "MPI_Get_version"), hasattr(everywhere, "MPI_Wtime")
flag = ctypes.c_int(5)
assert everywhere.MPI_Initialized(ctypes.byref(flag)) == 0 and flag.value == 0
assert everywhere.MPI_Barrier(None) != 0
from mpi4py import MPI
print(before, MPI.COMM_WORLD.size)
"""


def test_symbols_tell_the_truth(mpi):  # noqa: F811
    done = mpi.measured(2, ASK)
    assert done.done.stdout == "(False, False) 2\n" * 2
    assert "MPI_Finalize" in done.ranks[0].names()


def test_loaded_too_late(mpi):  # noqa: F811
    program = "from mpi4py import MPI\nimport spartito\nspartito.start('y')\nMPI.COMM_WORLD.Barrier()\nspartito.stop()\n"
    (mpi.path / "program.py").write_text(program)
    assert mpi.run(1, [sys.executable, "program.py"]).returncode == 0
    from rawfile import Raw

    (path,) = (mpi.path / "y" / "raw").glob("*.raw")
    assert "loaded before" in Raw(path).meta["missing_mpi"]


def test_programs_without_mpi_stay_as_they_are(tmp_path, spartito):
    program = "import ctypes\nprint(hasattr(ctypes.CDLL(None), 'MPI_Wtime'))\n"
    done = subprocess.run([*spartito, "run", "-q", "-o", tmp_path / "x", "--", sys.executable, "-c", program],
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
