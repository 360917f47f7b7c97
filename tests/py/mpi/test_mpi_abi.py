# SPDX-License-Identifier: BSD-3-Clause
"""Programs that use the binary interface of MPI 5: one library of wrappers records them with every MPI that has it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from mpi import LIBRARIES, mpi  # noqa: F401

EXCHANGE = """
#include <mpi.h>
#include <stddef.h>
int exchange(void)
{
	char out[40] = "", in[100];
	int me, size, total, one = 1, done;
	void *memory;
	MPI_Request requests[2];
	MPI_Status status, statuses[2];
	MPI_Comm both;
	MPI_Win window;
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &both);
	MPI_Comm_set_name(both, "both");
	MPI_Irecv(in, 100, MPI_CHAR, 1 - me, 5, both, &requests[0]);
	MPI_Isend(out, 40, MPI_CHAR, 1 - me, 5, both, &requests[1]);
	MPI_Waitall(2, requests, statuses);
	if (me == 0)
		MPI_Send(out, 10, MPI_INT8_T, 1, 6, MPI_COMM_WORLD);
	else
		MPI_Recv(in, 20, MPI_INT8_T, 0, 6, MPI_COMM_WORLD, &status);
	for (int i = 0; i < 3; i++) { /* these may be complete at once */
		MPI_Isend(&one, 0, MPI_INT, MPI_PROC_NULL, 7, both, &requests[0]);
		MPI_Isend(&one, 1, MPI_INT, 1 - me, 7, both, &requests[1]);
		MPI_Recv(&done, 1, MPI_INT, 1 - me, 7, both, MPI_STATUS_IGNORE);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
	MPI_Irecv(in, 100, MPI_CHAR, 1 - me, 8, both, &requests[0]);
	MPI_Cancel(&requests[0]);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, both);
	MPI_Win_allocate(8, 1, MPI_INFO_NULL, both, &memory, &window);
	MPI_Win_free(&window);
	MPI_Comm_free(&both);
	MPI_Finalize();
	return total;
}
"""
PROGRAM = "import ctypes\nprint(ctypes.CDLL('./exchange.so').exchange())\n"


def standard_header():
    """Compiler options with which <mpi.h> is that of the standard interface; None: unavailable."""
    for compiler in filter(shutil.which, ("mpicc_abi", "mpicc.openmpi", "mpicc")):
        words = [sys.executable, ROOT / "src/mpi/flags.py", compiler, "standard"]
        options = subprocess.run(words, capture_output=True, text=True).stdout.split()
        text = "#include <mpi.h>\n#if !defined(MPI_ABI_VERSION) || MPI_ABI_VERSION < 1\n#error\n#endif\n"
        command = ["cc", "-fsyntax-only", *options, "-x", "c", "-"]
        if subprocess.run(command, input=text, text=True, capture_output=True).returncode == 0:
            return options
    return None


def standard_library(kind):
    """The library of an MPI with the standard interface; None: unavailable. Where both MPIs are installed, Debian names them so."""
    for folder in map(Path, LIBRARIES):
        found = sorted(folder.glob(f"libmpi_abi_{kind}.so.*")) or sorted(folder.glob(f"{kind}/lib/libmpi_abi.so.*"))
        if found:
            return found[0]
    return None


def test_programs_with_the_standard_interface(mpi):  # noqa: F811
    options, library = standard_header(), standard_library(mpi.kind)
    if options is None or library is None:
        pytest.skip("no library with the binary interface of MPI 5 here")
    folder = mpi.path / "abi"
    folder.mkdir()
    (folder / "libmpi_abi.so.1").symlink_to(library)
    (mpi.path / "exchange.c").write_text(EXCHANGE)
    command = ["cc", "-shared", "-fPIC", *options, "-o", "exchange.so", "exchange.c", folder / "libmpi_abi.so.1"]
    subprocess.run(command, cwd=mpi.path, check=True)
    before = mpi.environment.get("LD_LIBRARY_PATH")
    done = mpi.measured(2, PROGRAM, LD_LIBRARY_PATH=os.pathsep.join(filter(None, (str(folder), before))))
    assert done.done.stdout == "2\n2\n"
    for me, rank in enumerate(done.ranks):
        assert "missing_mpi" not in rank.meta
        assert (int(rank.meta["mpi_rank"]), int(rank.meta["mpi_size"])) == (me, 2)
        world, own = (next(c for c in rank.communicators().values() if c.name == name) for name in ("MPI_COMM_WORLD", "both"))
        assert (world.size, own.size, own.rank) == (2, 2, me)
        once = [(own.id, 1 - me, 5, 40)]
        again = [(own.id, 1 - me, 7, 4)] * 3
        assert rank.messages("isend") == once + again
        assert rank.messages("irecv") == once
        assert rank.messages("recv") == ([(world.id, 0, 6, 10)] if me else []) + again
        assert rank.messages("send") == ([] if me else [(world.id, 1, 6, 10)])
        assert len([1 for what, *_ in rank.records() if what == "cancelled"]) == 1
        assert ("ALLREDUCE", own.id, -1, 8, 8) in rank.collectives()
        assert list(rank.windows.values()) == [""]
        numbers = [words[0] for what, *words in rank.records() if what == "isend_complete"]
        assert len(numbers) == len(set(numbers)) == 4
