# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of MPI: blocking, in place, non-blocking and persistent, in all kinds of communicators. Operation, root, communicator
and bytes are right in every rank."""

import shutil
import subprocess

import pytest

from mpi import mpi  # noqa: F401

DOUBLE, COUNT = 8, 3
BLOCK = DOUBLE * COUNT
ROOT = 1
ROOTED = ("BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "REDUCE")

# Arguments of every collective for the method of that name in mpi4py. The counts of ranks differ, so that sums are distinguishable.
EVERY = """
import numpy as np
from mpi4py import MPI

def every(c, here):
    me, n = c.rank, c.size
    root = me == 1
    s, r, S, R = np.ones(3), np.zeros(3), np.ones(3 * n), np.zeros(3 * n)
    counts = np.arange(1, n + 1)
    def vector(counts, types=None):
        at = np.cumsum(counts) - counts
        if types: return [np.ones(sum(counts)), (counts, at * 8), types]
        return [np.ones(sum(counts)), counts, at, MPI.DOUBLE]
    v, V, T = np.ones(me + 1), vector(counts), [MPI.DOUBLE] * n
    if here:
        to, P = [abs(me - i) + 1 for i in range(n)], MPI.IN_PLACE
        return [("Gather", P if root else s, R if root else None, 1), ("Gatherv", P if root else v, V if root else None, 1),
                ("Scatter", S if root else None, P if root else r, 1), ("Scatterv", V if root else None, P if root else v, 1),
                ("Allgather", P, R), ("Allgatherv", P, V), ("Alltoall", P, R), ("Alltoallv", P, vector(to)),
                ("Alltoallw", P, vector(to, T)), ("Reduce", P if root else s, s if root else None, MPI.SUM, 1),
                ("Allreduce", P, r), ("Reduce_scatter", P, V[0], counts), ("Reduce_scatter_block", P, R), ("Scan", P, r),
                ("Exscan", P, r)]
    to, fro = [me + 2 * i + 1 for i in range(n)], [i + 2 * me + 1 for i in range(n)]
    return [("Barrier",), ("Bcast", s, 1), ("Gather", s, R if root else None, 1), ("Gatherv", v, V if root else None, 1),
            ("Scatter", S if root else None, r, 1), ("Scatterv", V if root else None, v, 1), ("Allgather", s, R),
            ("Allgatherv", v, V), ("Alltoall", S, R), ("Alltoallv", vector(to), vector(fro)),
            ("Alltoallw", vector(to, T), vector(fro, T)), ("Reduce", s, r if root else None, MPI.SUM, 1), ("Allreduce", s, r),
            ("Reduce_scatter", V[0], v, counts), ("Reduce_scatter_block", S, r), ("Scan", s, r), ("Exscan", s, r)]

c = MPI.COMM_WORLD
"""


def expected(me, n, here):
    """(operation, sent, received) of each of those calls, by Score-P's conventions."""
    own = 0 if here else 1  # whether a process's own share counts
    root, b = me == ROOT, BLOCK
    total, mine = DOUBLE * n * (n + 1) // 2, DOUBLE * (me + 1)
    of_root = {
        "BCAST": (n * b, b), "GATHER": (own * b, (n - 1 + own) * b), "SCATTER": ((n - 1 + own) * b, own * b),
        "GATHERV": (own * mine, total - (1 - own) * mine), "SCATTERV": (total - (1 - own) * mine, own * mine),
        "REDUCE": (own * b, (n - 1 + own) * b),
    }  # fmt: skip
    of_others = {
        "BCAST": (0, b), "GATHER": (b, 0), "SCATTER": (0, b), "GATHERV": (mine, 0), "SCATTERV": (0, mine), "REDUCE": (b, 0),
    }  # fmt: skip
    to = [me + 2 * i + 1 for i in range(n)]
    fro = [i + 2 * me + 1 for i in range(n)]
    vector = (DOUBLE * sum(to), DOUBLE * sum(fro))
    if here:
        vector = (DOUBLE * sum(abs(me - i) + 1 for i in range(n) if i != me),) * 2
    each = ((n - 1 + own) * b,) * 2
    found = {**(of_root if root else of_others)}
    found.update(
        BARRIER=(0, 0), ALLGATHER=each, ALLGATHERV=((n - 1 + own) * mine, total - (1 - own) * mine), ALLTOALL=each,
        ALLTOALLV=vector, ALLTOALLW=vector, ALLREDUCE=each,
        REDUCE_SCATTER=(total - (1 - own) * mine, (n - 1 + own) * mine), REDUCE_SCATTER_BLOCK=each,
        SCAN=((n - 1 - me + own) * b, (me + own) * b), EXSCAN=((n - 1 - me) * b, me * b),
    )  # fmt: skip
    order = ["BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV", "ALLTOALL", "ALLTOALLV",
             "ALLTOALLW", "REDUCE", "ALLREDUCE", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "SCAN", "EXSCAN"]  # fmt: skip
    return [(what, ROOT if what in ROOTED else -1, *found[what]) for what in order[2 if here else 0 :]]


def recorded(rank, record="collective_end", comm=1):
    return [(what, root, *moved) for what, where, root, *moved in rank.collectives(record) if where == comm]


def named(rank, name):
    """The ids of communicators with that name."""
    return [c.id for c in rank.communicators().values() if c.name == name]


# The functions with int counts, as mpi4py calls those with large counts; and arguments that are not significant.
SMALL = """
#include <mpi.h>
void small(void)
{
	int me, n, counts[16], at[16];
	double x[64] = {0}, y[64] = {0};
	MPI_Datatype types[16];
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	for (int i = 0; i < n; i++) {
		counts[i] = 2;
		at[i] = 2 * i;
		types[i] = MPI_DOUBLE;
	}
	const int root = me == 0, bad = root ? 2 : -7;
	int *only = root ? counts : (int *)8;
	MPI_Datatype type = root ? MPI_DOUBLE : MPI_DATATYPE_NULL;
	MPI_Gather(x, 2, MPI_DOUBLE, y, bad, type, 0, MPI_COMM_WORLD);
	MPI_Gatherv(x, 2, MPI_DOUBLE, y, only, only == counts ? at : only, type, 0, MPI_COMM_WORLD);
	MPI_Scatter(x, bad, type, y, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Scatterv(x, only, only == counts ? at : only, type, y, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Allgather(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, y, 2, MPI_DOUBLE, MPI_COMM_WORLD);
	MPI_Allgatherv(x, 2, MPI_DOUBLE, y, counts, at, MPI_DOUBLE, MPI_COMM_WORLD);
	MPI_Alltoallv(x, counts, at, MPI_DOUBLE, y, counts, at, MPI_DOUBLE, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		at[i] = 16 * i;
	MPI_Alltoallw(x, counts, at, types, y, counts, at, types, MPI_COMM_WORLD);
	MPI_Reduce_scatter(x, y, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
"""
ALL = EVERY + """
import ctypes, sys
wait = []
def whole(call):
    c.Barrier()
    for here in (False, True):
        for name, *rest in every(c, here): call(name, *rest)
for here in (False, True):
    for name, *rest in every(c, here): getattr(c, name)(*rest)
for here in (False, True):
    for name, *rest in every(c, here): getattr(c, "I" + name.lower())(*rest).Wait()
half = c.Split(c.rank % 2, -c.rank)
half.Set_name("half")
for name, *rest in every(half, False): getattr(half, name)(*rest)
several = [getattr(half, "I" + name.lower())(*rest) for name, *rest in every(half, False)]
MPI.Request.Waitall(several)
if len(sys.argv) > 1: ctypes.CDLL(sys.argv[1]).small()
"""


def test_every_collective(mpi):  # noqa: F811
    compiler = shutil.which(f"mpicc.{mpi.kind}")
    (mpi.path / "small.c").write_text(SMALL)
    words = []
    if compiler:
        subprocess.run([compiler, "-shared", "-fPIC", "-o", mpi.path / "small.so", mpi.path / "small.c"], check=True)
        words = [mpi.path / "small.so"]
    ranks = mpi.measured(4, ALL, words=words).ranks
    for me, rank in enumerate(ranks):
        plain, places = expected(me, 4, False), expected(me, 4, True)
        blocking = recorded(rank)
        assert blocking[: len(plain) + len(places)] == plain + places
        assert recorded(rank, "nbc_complete") == plain + places
        if compiler:
            x, a, r = 16, (64, 64), me == 0
            assert blocking[len(plain) + len(places) :] == [
                ("GATHER", 0, x, 64 * r), ("GATHERV", 0, x, 64 * r), ("SCATTER", 0, 64 * r, x), ("SCATTERV", 0, 64 * r, x),
                ("ALLGATHER", -1, 48, 48), ("ALLGATHERV", -1, *a), ("ALLTOALLV", -1, *a), ("ALLTOALLW", -1, *a),
                ("REDUCE_SCATTER", -1, *a),
            ]  # fmt: skip
        (half,) = named(rank, "half")
        in_half = expected(1 - me // 2, 2, False)
        assert recorded(rank, comm=half) == in_half
        assert sorted(recorded(rank, "nbc_complete", half)) == sorted(in_half)

        # each operation begins after its enter and ends before its leave, and each request is created once and completed once
        for name, *records in rank.calls():
            kinds = [what for what, *_ in records]
            if name == "MPI_Wait":
                assert kinds == ["nbc_complete"]
            elif name[4:].lower() in {what.lower() for what, *_ in plain}:
                assert kinds == ["collective_begin", "collective_end"], name
            elif name[:5] == "MPI_I" and name[5:].upper() in {what for what, *_ in plain}:
                assert kinds == ["nbc_request"]
        asked = [words[0] for what, *words in rank.records() if what == "nbc_request"]
        done = [words[4] for what, *words in rank.records() if what == "nbc_complete"]
        assert sorted(asked) == sorted(done) == sorted(set(asked))

        # the profile has the same bytes, in the blocking call or in the call that waits for the request
        for which, name in ((2, "bytes_sent"), (3, "bytes_received")):
            of = {what: 0 for what, *_ in plain}
            for call in blocking + in_half:
                of[call[0]] += call[which]
            for what, moved in of.items():
                assert rank.metric(f"MPI_{what.capitalize()}", name) == moved, what
            waited = sum(call[which] for call in plain + places)
            assert rank.metric("MPI_Wait", name) == waited
            assert rank.metric("MPI_Waitall", name) == sum(call[which] for call in in_half)


# MPICH 4.0.2 cannot start a persistent Scatter twice, also without Spartito
PERSISTENT = EVERY + """
for here in (False, True):
    for name, *rest in every(c, here):
        q = getattr(c, name + "_init")(*rest)
        for _ in range(1 if name == "Scatter" else 2):
            q.Start()
            q.Wait()
        q.Free()
"""


def test_persistent(mpi):  # noqa: F811
    if mpi.kind == "openmpi" and mpi.version < (5,):
        pytest.skip("Open MPI has them from version 5 on")
    for me, rank in enumerate(mpi.measured(3, PERSISTENT).ranks):
        once = expected(me, 3, False) + expected(me, 3, True)
        starts = [call for call in once for _ in range(1 if call[0] == "SCATTER" else 2)]
        assert recorded(rank, "nbc_complete") == starts
        assert all(records == [] for name, *records in rank.calls() if name.endswith("_init"))
        assert all(kind == "nbc_request" for start in rank.of("MPI_Start") for kind, *_ in start)
        asked = [words[0] for what, *words in rank.records() if what == "nbc_request"]
        assert len(set(asked)) == len(asked) == len(starts)


# Between rank 0 alone and the others; then a call that fails, and neighbourhood collectives.
BETWEEN = EVERY + """
me = c.rank
side = c.Split(min(me, 1))
i = side.Create_intercomm(0, c, 1 if me == 0 else 0, 7)
i.Set_name("between")
s, r, R = np.ones(3), np.zeros(3), np.zeros(9)
root = MPI.ROOT if me == 2 else MPI.PROC_NULL if me else 1  # rank 2 of all is rank 1 of its side
i.Barrier()
i.Bcast(s, root)
i.Gather(s if me == 0 else None, r if me == 2 else None, root)
i.Scatterv([s, [3], [0], MPI.DOUBLE] if me == 2 else None, r if me == 0 else None, root)
i.Reduce(s if me == 0 else None, r if me == 2 else None, MPI.SUM, root)
i.Allgather(s, R if me == 0 else r)
i.Allreduce(s, r)
i.Alltoall(R if me == 0 else s, R if me == 0 else r)
i.Reduce_scatter(s, r if me == 0 else np.zeros(1), [3] if me == 0 else [1, 1, 1])
i.Ibarrier().Wait()
i.Iallgather(s, R if me == 0 else r).Wait()
c.Set_errhandler(MPI.ERRORS_RETURN)
try: c.Bcast(s, 99)
except MPI.Exception: pass
else: raise SystemExit("no error")
ring = c.Create_cart([4], [True])
ring.Neighbor_allgather(s, np.zeros(6))
ring.Ineighbor_allgather(s, np.zeros(6)).Wait()
"""


def test_intercommunicators_and_errors(mpi):  # noqa: F811
    for me, rank in enumerate(mpi.measured(4, BETWEEN).ranks):
        (between,) = named(rank, "between")
        b, alone = BLOCK, me == 0
        root = 1 if alone else -2 if me == 2 else -3
        n, at_root = (3 if alone else 1), me == 2
        assert recorded(rank, comm=between) == [
            ("BARRIER", -1, 0, 0),
            ("BCAST", root, b * at_root, b * alone),
            ("GATHER", root, b * alone, b * at_root),
            ("SCATTERV", root, b * at_root, b * alone),
            ("REDUCE", root, b * alone, b * at_root),
            ("ALLGATHER", -1, n * b, n * b),
            ("ALLREDUCE", -1, n * b, n * b),
            ("ALLTOALL", -1, n * b, n * b),
            ("REDUCE_SCATTER", -1, b, 3 * b if alone else DOUBLE),
        ]
        assert recorded(rank, "nbc_complete", between) == [("BARRIER", -1, 0, 0), ("ALLGATHER", -1, n * b, n * b)]
        assert recorded(rank) == [("BCAST", -1, 0, 0)]
        assert rank.of("MPI_Neighbor_allgather") == rank.of("MPI_Ineighbor_allgather") == [[]]


def test_without_the_group(mpi):  # noqa: F811
    program = EVERY + "for name, *rest in every(c, False): getattr(c, name)(*rest)\nc.Ibarrier().Wait()\n"
    for rank in mpi.measured(2, program, "--mpi", "p2p").ranks:
        assert rank.collectives() == rank.collectives("nbc_complete") == []
        assert rank.names() == ["MPI_Wait"] and rank.of("MPI_Wait") == [[]]
