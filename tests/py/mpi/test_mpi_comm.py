# SPDX-License-Identifier: BSD-3-Clause
"""Communicators from creation to end: the same number in all members and in no other communicator, agreed on without a message."""

import pytest

from mpi import half, mpi  # noqa: F401

LIFE = """
from mpi4py import MPI
c = MPI.COMM_WORLD
me, n = c.rank, c.size
made = {}
def name(what, m):
    if m != MPI.COMM_NULL:
        m.Set_name(what)
        made[what] = m

name("dup", c.Dup())
name("split", c.Split(me % 2 if me else MPI.UNDEFINED, -me))      # rank 0 is left out and must count it all the same
name("create", c.Create(c.group.Incl([2, 1])))
name("again", c.Dup())
if me in (1, 3): name("group", c.Create_group(c.group.Incl([3, 1]), 5))
name("shared", c.Split_type(MPI.COMM_TYPE_SHARED))
name("of self", MPI.COMM_SELF.Dup())
name("of split", made["split"].Dup()) if "split" in made else None
name("cart", c.Create_cart([3, 1], [True, False]))                # rank 3 is left out
if "cart" in made: name("sub", made["cart"].Sub([True, False]))
name("graph", c.Create_graph([1, 2, 3, 4], [1, 2, 3, 0]))
name("dist", c.Create_dist_graph([me], [1], [(me + 1) % n]))
name("adjacent", c.Create_dist_graph_adjacent([(me - 1) % n], [(me + 1) % n]))
m, q = c.Idup()
early = c.Dup()
q.Wait()
name("idup", m)
name("early", early)
side = c.Split(me // 2, me)
i = side.Create_intercomm(0, c, 2 if me < 2 else 0, 9)
name("inter", i)
name("merged", i.Merge(me < 2))
name("inter dup", i.Dup())
if me in (0, 2) and "Open MPI" in MPI.Get_library_version():       # two that find each other by a port
    port = c.recv(source=0) if me else MPI.Open_port()
    if me == 0: c.send(port, 2)
    name("met", (MPI.COMM_SELF.Accept if me == 0 else MPI.COMM_SELF.Connect)(port))
    made.pop("met").Disconnect()
free = made.pop("again")
free.Free()
for m in made.values(): m.Barrier()
"""
# members and, for an intercommunicator, those of the other group, as recorded in its rank 0
MEMBERS = {
    "dup": [0, 1, 2, 3], "create": [2, 1], "again": [0, 1, 2, 3], "group": [3, 1], "shared": [0, 1, 2, 3],
    "cart": [0, 1, 2], "sub": [0, 1, 2], "graph": [0, 1, 2, 3], "dist": [0, 1, 2, 3], "adjacent": [0, 1, 2, 3],
    "idup": [0, 1, 2, 3], "early": [0, 1, 2, 3], "merged": [2, 3, 0, 1],
}  # fmt: skip
PARENTS = {
    "dup": "MPI_COMM_WORLD", "split": "MPI_COMM_WORLD", "of split": "split", "sub": "cart", "merged": "inter",
    "group": "MPI_COMM_WORLD", "of self": "MPI_COMM_SELF", "idup": "MPI_COMM_WORLD",
}  # fmt: skip


def test_life(mpi):  # noqa: F811
    ranks = mpi.measured(4, LIFE).ranks
    for rank in ranks:
        # both groups create it together: the collective belongs to the new communicator, as in Score-P
        inter = next(c for c in rank.communicators().values() if c.name == "inter")
        ((*_, end),) = rank.of("MPI_Intercomm_create")
        assert half(end[1])[0] == inter.id
    comms = [{c.name: c for c in rank.communicators().values() if c.name} for rank in ranks]
    numbers = {}
    for name, members in MEMBERS.items():
        if name == "shared" and not mpi.shares_memory:
            continue
        of = [comms[r][name] for r in members]
        assert {c.number for c in of} == {of[0].number}, name
        assert [c.rank for c in of] == list(range(len(members))) and of[0].members == members
        assert all(c.members == [] and c.size == len(members) for c in of[1:])
        assert sum(name in known for known in comms) == len(members)
        assert of[0].number not in numbers, (name, numbers.get(of[0].number))
        numbers[of[0].number] = name
    assert (comms[3]["split"].number, comms[3]["split"].members) == (comms[1]["split"].number, [3, 1])
    assert (comms[2]["split"].members, "split" in comms[0]) == ([2], False)
    assert comms[3]["of split"].number == comms[1]["of split"].number != comms[2]["of split"].number
    two_sides = ("inter", "inter dup", "met")[: None if mpi.kind == "openmpi" else 2]
    for name in two_sides:
        groups = ([0], [2]) if name == "met" else ([0, 1], [2, 3])
        assert len({comms[r][name].number for group in groups for r in group}) == 1
        assert [(comms[g[0]][name].members, comms[g[0]][name].others) for g in groups] == [groups, groups[::-1]]
    alone = {known[name].number for known in comms for name in ("MPI_COMM_SELF", "of self")}
    several = {comms[r][name].number for name in ("split", "of split", *two_sides) for r in (2, 3) if name in comms[r]}
    assert len(alone) == 8 and len(several) == 4 + len(two_sides)
    assert len({*numbers, *alone, *several}) == len(numbers) + len(alone) + len(several)
    for name, parent in PARENTS.items():
        assert all(known[name].parent == known[parent].number for known in comms if name in known), name

    assert [known["cart"].cart for known in comms[:3]] == [[(3, 1, 1, 0), (r, 0)] for r in range(3)]
    assert [known["sub"].cart for known in comms[:3]] == [[(3, 1), (r,)] for r in range(3)]
    assert all(c.cart is None for known in comms for name, c in known.items() if name not in ("cart", "sub"))


def test_events_of_life(mpi):  # noqa: F811
    end = "m, q = c.Idup()\nq.Wait()\nname('idup', m)\nmade['dup'].Free()\nif me < 3: made['sub'].Free()\n"
    program = LIFE.split("m, q =")[0] + end
    for me, rank in enumerate(mpi.measured(4, program).ranks):
        comms = {c.name: c.id for c in rank.communicators().values() if c.name}

        def once(function, comm, parent="MPI_COMM_WORLD", comms=comms, rank=rank):
            begin, *created, (what, word, *rest) = rank.of(function)[0]
            assert (begin, what, rest) == (("collective_begin",), "collective_end", [None, 0, 0]), function
            assert created == ([("comm_create", comms[comm])] if comm else []), function
            assert half(word) == (comms[parent], 17)

        once("MPI_Comm_dup", "dup")
        once("MPI_Comm_split", "split" if me else None)
        once("MPI_Comm_create", "create" if me in (1, 2) else None)
        once("MPI_Cart_create", "cart" if me < 3 else None)
        once("MPI_Graph_create", "graph")
        once("MPI_Dist_graph_create_adjacent", "adjacent")
        if me in (1, 3):
            once("MPI_Comm_create_group", "group", "group")
        if me < 3:
            once("MPI_Cart_sub", "sub", "cart")
        [(asked, number)] = rank.of("MPI_Comm_idup")[0]
        [created, (done, word, root, *moved)] = rank.of("MPI_Wait")[0]
        assert (asked, done, created) == ("nbc_request", "nbc_complete", ("comm_create", comms["idup"]))
        assert (half(word), root, moved) == ((comms["MPI_COMM_WORLD"], 17), None, [0, 0, number])
        freed = [comms["dup"], *([comms["sub"]] if me < 3 else [])]
        for records, comm in zip(rank.of("MPI_Comm_free"), freed):
            begin, destroyed, (what, word, *_) = records
            assert (begin, destroyed) == (("collective_begin",), ("comm_destroy", comm))
            assert (what, half(word)) == ("collective_end", (comm, 18))


# MPI uses handles of freed communicators again: a new communicator with a known handle replaces the old one, even if its end was
# not recorded.
REUSED = """
from mpi4py import MPI
c = MPI.COMM_WORLD
class Inner:
    def __init__(self, comm): self.comm = comm
key = MPI.Comm.Create_keyval(delete_fn=lambda comm, key, inner: inner.comm.Free())
for i in range(40):
    m = c.Split(0, c.rank if i % 2 else -c.rank)
    m.Set_attr(key, Inner(m.Dup()))
    m.Reduce(bytearray(1), bytearray(1) if m.rank == 0 else None, MPI.BOR, 0)
    m.Free()
"""


def test_handles_come_again(mpi):  # noqa: F811
    ranks = mpi.measured(2, REUSED).ranks
    comms = [rank.communicators() for rank in ranks]
    used = [[where for what, where, *_ in rank.collectives() if what == "REDUCE"] for rank in ranks]
    assert all(len(set(ids)) == 40 for ids in used)
    for i, (here, there) in enumerate(zip(*used)):
        a, b = comms[0][here], comms[1][there]
        assert a.number == b.number and (a.rank, b.rank) == ((0, 1) if i % 2 else (1, 0))
        assert (a.members or b.members) == ([0, 1] if i % 2 else [1, 0])


SPAWN = """
import sys
from mpi4py import MPI
import numpy as np
parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    child = MPI.COMM_SELF.Spawn(sys.executable, ["program.py"], 2)
    child.Set_name("down")
    child.Bcast(np.ones(5), MPI.ROOT)
    child.Barrier()
    child.Disconnect()
else:
    parent.Bcast(np.zeros(5), 0)
    parent.Barrier()
    parent.Disconnect()
"""


def test_spawned(mpi):  # noqa: F811
    if mpi.kind == "mpich" and mpi.version < (5,):
        pytest.skip("MPICH over UCX, as Debian has it, knows neither ports nor spawning")
    (rank,) = [r for r in mpi.measured(1, SPAWN, "--mpi", "cg,coll,spawn").ranks if "MPI_Comm_spawn" in r.names()]
    (down,) = [c for c in rank.communicators().values() if c.name == "down"]
    assert (down.size, down.remote, down.members, down.others) == (1, 2, [0], [None, None])
    assert ("BCAST", down.id, -2, 80, 0) in rank.collectives()
    assert ("comm_destroy", down.id) in rank.of("MPI_Comm_disconnect")[0]


# A session, without MPI_COMM_WORLD.
SESSION = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
s = MPI.Session.Init()
g = s.Create_group("mpi://WORLD")
c = MPI.Intracomm.Create_from_group(g, "a")
c.Allreduce(bytearray(3), bytearray(3))
print(c.size)
c.Free()
g.Free()
s.Finalize()
"""


def test_sessions(mpi):  # noqa: F811
    if mpi.kind == "openmpi" and mpi.version < (5,):
        pytest.skip("Open MPI has them from version 5 on")
    done = mpi.measured(2, SESSION)
    assert done.done.stdout == "2\n2\n" and done.done.stderr == ""
    for rank in done.ranks:
        assert [(what, *moved) for what, _, _, *moved in rank.collectives()] == [("ALLREDUCE", 6, 6)]
