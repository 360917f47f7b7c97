# SPDX-License-Identifier: BSD-3-Clause
"""One-sided communication: every operation with its bytes, and the calls that complete it."""

from collections import Counter

from mpi import half, mpi  # noqa: F401

HEAD = """
import time
import numpy as np
from mpi4py import MPI
c = MPI.COMM_WORLD
to = (c.rank + 1) % c.size
x, y = np.ones(10), np.ones(10)
memory = np.zeros(100)
w = MPI.Win.Create(memory, 8, comm=c)
"""
NON_BLOCKING, REMOTE = 1, 3  # how an operation was completed
PROCESS, MEMORY = 1, 2  # synchronisation
BARRIER, CREATE, DESTROY, CREATE_AND_ALLOCATE, DESTROY_AND_DEALLOCATE = 0, 17, 18, 21, 22
REQUESTED, RELEASED = 0, 3  # locks
EXCLUSIVE, SHARED = 0, 1
ALL = 2**32 - 1


def ends(rank):
    """{matching of an operation: (target, bytes to it, bytes back, [(function that completed it, how)…])}."""
    found = {}
    for function, *records in rank.calls():
        for what, *words in records:
            if what in ("put", "get", "atomic"):
                sent, got = {"put": (words[1], 0), "get": (0, words[1])}.get(what, words[2:4])
                assert words[-1] not in found, "two operations have one number"
                found[words[-1]] = half(words[0])[1], sent, got, []
            elif what == "rma_complete":
                found[words[1]][3].append((function, half(words[0])[1]))
    return list(found.values())


def test_fence(mpi):  # noqa: F811
    done = mpi.measured(2, HEAD + "w.Fence(); w.Put(x, to); w.Get(y, to); w.Accumulate(x[:3], to); w.Fence(); w.Free()\n")
    for me, rank in enumerate(done.ranks):
        both = [("MPI_Win_fence", NON_BLOCKING), ("MPI_Win_fence", REMOTE)]
        assert ends(rank) == [(1 - me, 80, 0, both), (1 - me, 0, 80, both[:1]), (1 - me, 24, 0, both)]
        assert rank.metric("MPI_Put", "bytes_put") == 80 and rank.metric("MPI_Get", "bytes_get") == 80
        assert rank.metric("MPI_Accumulate", "bytes_put") == 24 and rank.metric("MPI_Accumulate", "bytes_get") == 0
        first = rank.of("MPI_Win_fence")[0]
        assert first == [("rma_collective_begin",), ("rma_collective_end", 1, PROCESS | MEMORY, first[1][3], 0, 0)]
        assert [c[0] for c in rank.of("MPI_Win_fence")[1]] == ["rma_collective_begin", *["rma_complete"] * 5, "rma_collective_end"]


def test_locks_and_flushes(mpi):  # noqa: F811
    program = HEAD + (
        "w.Lock(to); w.Put(x, to); w.Unlock(to)\n"
        "w.Lock(to, MPI.LOCK_SHARED); w.Get(y, to); w.Flush(to); w.Put(x, to); w.Flush_local(to); w.Unlock(to)\n"
        "w.Lock_all(); w.Put(x, 0); w.Put(x, 1); w.Flush(0); w.Flush_local_all(); w.Flush_all(); w.Put(x, 1); w.Unlock_all()\n"
        "w.Put(x, MPI.PROC_NULL)\nc.Barrier(); w.Free()\n"
    )  # fmt: skip
    for me, rank in enumerate(mpi.measured(2, program).ranks):
        flush, unlock = ("MPI_Win_flush", NON_BLOCKING), ("MPI_Win_unlock", NON_BLOCKING)
        assert ends(rank) == [
            (1 - me, 80, 0, [unlock, ("MPI_Win_unlock", REMOTE)]),
            (1 - me, 0, 80, [flush]),
            (1 - me, 80, 0, [("MPI_Win_flush_local", NON_BLOCKING), ("MPI_Win_unlock", REMOTE)]),
            (0, 80, 0, [flush, ("MPI_Win_flush", REMOTE)]),
            (1, 80, 0, [("MPI_Win_flush_local_all", NON_BLOCKING), ("MPI_Win_flush_all", REMOTE)]),
            (1, 80, 0, [("MPI_Win_unlock_all", NON_BLOCKING), ("MPI_Win_unlock_all", REMOTE)]),
        ]
        locks = [(half(w[0])[1], half(w[1])) for what, *w in rank.records() if what == "lock"]
        assert locks == [
            (1 - me, (REQUESTED, EXCLUSIVE)), (1 - me, (RELEASED, 0)), (1 - me, (REQUESTED, SHARED)), (1 - me, (RELEASED, 0)),
            (ALL, (REQUESTED, SHARED)), (ALL, (RELEASED, 0)),
        ]  # fmt: skip


def test_groups(mpi):  # noqa: F811
    program = HEAD + (
        "g = c.Get_group(); other = g.Incl([to])\n"
        "for i in range(2):\n    w.Post(other); w.Start(other); w.Put(x, to); w.Complete()\n"
        "    if i: w.Wait()\n    else:\n        while not w.Test(): time.sleep(0.001)\n"
        "w.Free()\n"
    )  # fmt: skip
    for rank in mpi.measured(2, program).ranks:
        both = [("MPI_Win_complete", NON_BLOCKING), ("MPI_Win_complete", REMOTE)]
        assert [e[3] for e in ends(rank)] == [both, both]
        syncs = [(half(w[0])[1], w[1]) for what, *w in rank.records() if what == "group_sync"]
        assert syncs == [(MEMORY, 1), (PROCESS, 1), (MEMORY, 1), (PROCESS | MEMORY, 1)] * 2  # the same members: the same group


def test_atomics_have_numbers_of_their_own(mpi):  # noqa: F811
    program = HEAD + (
        "i, j, k = (np.ones(1, 'i8') for _ in range(3))\n"
        "w.Lock(0); w.Compare_and_swap(i, j, k, 0, 5); w.Get_accumulate(x, y, 0, 6); w.Fetch_and_op(x[:1], y[:1], 0, 7)\n"
        "w.Get_accumulate(x, y, 0, 6, op=MPI.NO_OP); w.Unlock(0)\nc.Barrier(); w.Free()\n"
    )  # fmt: skip
    for rank in mpi.measured(2, program).ranks:
        both = [("MPI_Win_unlock", NON_BLOCKING), ("MPI_Win_unlock", REMOTE)]
        assert ends(rank) == [(0, 8, 8, both), (0, 80, 80, both), (0, 8, 8, both), (0, 0, 80, both)]
        assert [w[1] for what, *w in rank.records() if what == "atomic"] == [3, 7, 7, 7]
        assert rank.metric("MPI_Get_accumulate", "bytes_put") == 80 and rank.metric("MPI_Get_accumulate", "bytes_get") == 160


def test_requests(mpi):  # noqa: F811
    program = HEAD + (
        "w.Lock(to, MPI.LOCK_SHARED); r = w.Rput(x, to); r.Wait(); q = w.Rget(y, to); q.Wait()\n"
        "a = w.Raccumulate(x, to); b = w.Rget_accumulate(x, y, to); MPI.Request.Waitall([a, b])\n"
        "s = w.Rput(x, to); w.Unlock(to); s.Wait(); c.Barrier(); w.Free()\n"
    )  # fmt: skip
    for rank in mpi.measured(2, program).ranks:
        wait, unlock = ("MPI_Wait", NON_BLOCKING), ("MPI_Win_unlock", REMOTE)
        all_ = ("MPI_Waitall", NON_BLOCKING)
        assert [e[1:] for e in ends(rank)] == [
            (80, 0, [wait, unlock]), (0, 80, [wait]), (80, 0, [all_, unlock]), (80, 80, [all_, unlock]),
            (80, 0, [("MPI_Win_unlock", NON_BLOCKING), unlock]),
        ]  # fmt: skip


def test_windows(mpi):  # noqa: F811
    program = HEAD + (
        "w.Set_name('mine'); v = MPI.Win.Allocate(80, 8, comm=c); u = MPI.Win.Allocate_shared(80, 8, comm=c)\n"
        "d = MPI.Win.Create_dynamic(comm=c); d.Attach(memory); d.Detach(memory)\n"
        "for one in (d, u, v, w): one.Free()\n"
        "again = MPI.Win.Create(memory, 8, comm=c); again.Fence(); again.Free()\n"
    )  # fmt: skip
    if not mpi.shares_memory:
        program = program.replace("Allocate_shared", "Allocate")
    for rank in mpi.measured(2, program).ranks:
        made = [w[0] for what, *w in rank.records() if what == "win_create"]
        gone = [w[0] for what, *w in rank.records() if what == "win_destroy"]
        assert made == [1, 2, 3, 4, 5] and gone == [4, 3, 2, 1, 5]
        kinds = Counter(half(w[0])[1] for what, *w in rank.records() if what == "rma_collective_end")
        assert kinds == {CREATE: 3, DESTROY: 3, CREATE_AND_ALLOCATE: 2, DESTROY_AND_DEALLOCATE: 2, BARRIER: 1}
        assert rank.names().count("MPI_Win_attach") == rank.names().count("MPI_Win_detach") == 1
        assert rank.windows == {1: "mine", 2: "", 3: "", 4: "", 5: ""}


def test_group_off(mpi):  # noqa: F811
    for rank in mpi.measured(2, HEAD + "w.Fence(); w.Free(); c.Barrier()\n", "--mpi", "default,~rma").ranks:
        recorded = {what for what, *_ in rank.records()}
        assert "collective_begin" in recorded and not [w for w in recorded if w.startswith(("win", "rma"))]


def test_profile_alone(mpi):  # noqa: F811
    program = HEAD + "w.Fence(); w.Put(x, to); w.Get(y[:2], to); w.Fence(); w.Free()\n"
    for rank in mpi.measured(2, program, trace=False).ranks:
        assert rank.metric("MPI_Put", "bytes_put") == 80 and rank.metric("MPI_Get", "bytes_get") == 16
