# SPDX-License-Identifier: BSD-3-Clause
"""Every function in the mpi.h of an installed MPI has a wrapper, except those that src/mpi/functions.list excludes on purpose."""

import re
import shutil
import subprocess

import pytest
from conftest import ROOT

from mpi import KINDS, mpi  # noqa: F401

# clocks and arithmetic, the tool interface, conversions of handles, the version of MPI and of its binary interface
EXCLUDED = re.compile(
    r"W(time|tick)|Aint_(add|diff)|T_\w+|\w+_(c2f|f2c|c2f08|f082c|f082f|f2f08|toint|fromint)|Get_(library_)?version|Abi_\w+"
)


def wrapped():
    """The names in functions.list, without MPI_; a star adds the variant for large counts."""
    names = set()
    for line in (ROOT / "src/mpi/functions.list").read_text().splitlines():
        if line and not line.startswith("#"):
            word = line.split()[0]
            name = word.rstrip("*+")
            names |= {name, name + "_c"} if "*" in word else {name}
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_every_function_has_a_wrapper(kind):
    if not shutil.which(f"mpicc.{kind}"):
        pytest.skip(f"mpicc.{kind} is not installed")
    command = [f"mpicc.{kind}", "-E", "-P", "-x", "c", "-include", "mpi.h", "/dev/null"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    declared = set(re.findall(r"\bPMPI_(\w+)\s*\(", text))
    assert len(declared) > 350
    assert [name for name in sorted(declared - wrapped()) if not EXCLUDED.fullmatch(name)] == []


# Functions of MPI 4.1. Each rank asks for requests that cannot be complete, and then for complete ones.
ASKED = """
from mpi4py import MPI
c = MPI.COMM_WORLD
if MPI.Get_version() < (4, 1): raise SystemExit("older than MPI 4.1")
other = 1 - c.rank
requests = [c.Irecv(bytearray(8), other, tag) for tag in (1, 2)]
assert not MPI.Request.Get_status_all(requests)
assert not MPI.Request.Get_status_any(requests)[1]
assert MPI.Request.Get_status_some(requests) == []
c.Barrier()
c.Send(bytearray(8), other, 1)
while not requests[0].Get_status(): pass
assert MPI.Request.Get_status_some(requests) == [0]
c.Barrier()
c.Send(bytearray(8), other, 2)
while not MPI.Request.Get_status_all(requests): pass
MPI.Request.Waitall(requests)
buffer = MPI.Alloc_mem(1000 + MPI.BSEND_OVERHEAD)
c.Attach_buffer(buffer)
c.Bsend(bytearray(5), other, 3)
c.Recv(bytearray(5), other, 3)
c.Flush_buffer()
c.Iflush_buffer().Wait()
c.Detach_buffer()
"""


def test_functions_of_mpi_4_1(mpi):  # noqa: F811
    done = mpi.measured(2, ASKED, "--mpi", "default,xreqtest", fails=True)
    if "older than" in done.done.stderr:
        pytest.skip("this MPI is older than MPI 4.1")
    assert done.done.returncode == 0, done.done.stderr
    for rank in done.ranks:
        assert {f"MPI_Comm_{what}_buffer" for what in ("attach", "flush", "iflush", "detach")} <= set(rank.names())
        first, second = (words[0] for what, *words in rank.records() if what == "irecv_request")
        tested = [[words[0] for what, *words in records] for records in rank.of("MPI_Request_get_status_some")]
        assert tested == [[first, second], [second]]
        assert [words[0] for _, *words in rank.of("MPI_Request_get_status_any")[0]] == [first, second]
        assert [words[0] for _, *words in rank.of("MPI_Request_get_status_all")[0]] == [first, second]
        assert [(comm, tag, size) for comm, _, tag, size in rank.messages("irecv")] == [(1, 1, 8), (1, 2, 8)]
