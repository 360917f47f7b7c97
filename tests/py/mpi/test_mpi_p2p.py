# SPDX-License-Identifier: BSD-3-Clause
"""Point-to-point messages: each is recorded once where it was sent and once where it was received, with partner, tag, communicator
and bytes."""

import sys
from collections import Counter

import pytest
from rawfile import Raw

from mpi import Rank, mpi  # noqa: F401

START = """
import threading, time
import numpy as np
from mpi4py import MPI
c = MPI.COMM_WORLD
me, n = c.rank, c.size
next, before = (me + 1) % n, (me - 1) % n
x, y = np.arange(10.), np.zeros(10)
"""


def both(ranks):
    """Sent and received messages as (from, to, tag, bytes), with or without requests."""
    sent, came = Counter(), Counter()
    for me, rank in enumerate(ranks):
        for record in ("send", "isend"):
            sent.update((me, to, tag, size) for _, to, tag, size in rank.messages(record))
        for record in ("recv", "irecv"):
            came.update((start, me, tag, size) for _, start, tag, size in rank.messages(record))
    return sent, came


def requests(rank, *records):
    """Numbers of requests in records of these kinds."""
    place = {"isend": 3, "irecv": 3}
    return sorted(words[place.get(what, 0)] for what, *words in rank.records() if what in records)


BLOCKING = START + """
if me == 0:
    for i, f in enumerate([c.Send, c.Ssend, c.Rsend]): f(x[:i + 1], 1, i)
    MPI.Attach_buffer(bytearray(10000))
    c.Bsend([x, 7, MPI.DOUBLE], 1, 3)
    MPI.Detach_buffer()
    c.Send(x, MPI.PROC_NULL, 4)
if me == 1:
    c.Recv(y, 0, 0)
    s = MPI.Status()
    c.Recv(y, MPI.ANY_SOURCE, MPI.ANY_TAG, s)
    assert (s.source, s.tag, s.Get_count(MPI.DOUBLE)) == (0, 1, 2)
    c.Probe(0, 2, s)
    c.Recv(y, 0, 2)
    while not c.Iprobe(0, 3): time.sleep(0.001)
    c.Recv(y, 0, 3)
    c.Recv(y, MPI.PROC_NULL, 4)
c.Sendrecv(x, next, 5, y, before, 5)
c.Sendrecv_replace(y, next, 6, before, 6)
c.Sendrecv(x, MPI.PROC_NULL, 7, y, MPI.PROC_NULL, 7)
c.Sendrecv(bytearray(me + 1), next, 8, bytearray(n), before, 8)
"""


@pytest.mark.parametrize("n", [2, 4])
def test_blocking(mpi, n):  # noqa: F811
    ranks = mpi.measured(n, BLOCKING).ranks
    sent, came = both(ranks)
    ring = [(i, (i + 1) % n) for i in range(n)]
    assert sent == came == Counter([(0, 1, i, 8 * (i + 1)) for i in range(3)] + [(0, 1, 3, 56)] + [
        (a, b, tag, 80) for tag in (5, 6) for a, b in ring] + [(a, b, 8, a + 1) for a, b in ring])  # fmt: skip
    for function in ("MPI_Send", "MPI_Ssend", "MPI_Rsend", "MPI_Bsend"):
        assert [len(call) for call in ranks[0].of(function)] == ([1, 0] if function == "MPI_Send" else [1])
    assert [len(call) for call in ranks[1].of("MPI_Recv")] == [1, 1, 1, 1, 0]
    assert [[r[0] for r in call] for call in ranks[0].of("MPI_Sendrecv")] == [["send", "recv"], [], ["send", "recv"]]
    assert ranks[0].metric("MPI_Send", "bytes_sent") == 8 and ranks[0].metric("MPI_Bsend", "bytes_sent") == 56
    assert ranks[1].metric("MPI_Recv", "bytes_received") == 8 + 16 + 24 + 56


REQUESTS = START + """
for tag in range(3):
    r = [c.Irecv(y, before, tag), c.Isend(x[:tag], next, tag), c.Irecv(y, MPI.PROC_NULL), c.Isend(x, MPI.PROC_NULL)]
    if tag == 0: MPI.Request.Waitall(r)
    elif tag == 1:
        for q in r: q.Wait()
    else:
        while any(r): MPI.Request.Waitany(r)
a, b = c.Issend(x, next, 3), c.Irecv(y, before, 3)
left = 2
while left: left -= len(MPI.Request.Waitsome([a, b]) or ())
c.Barrier()
a = c.Irecv(y, before, 4)
c.Barrier()
b = c.Irsend(x, next, 4)
while not MPI.Request.Testall([a, b]): time.sleep(0.001)
a, b = c.Irecv(y, before, 5), c.Isend(x, next, 5)
while not a.Test(): time.sleep(0.001)
while not b.Test(): time.sleep(0.001)
a, b = c.Irecv(y, before, 6), c.Isend(x, next, 6)
done = 0
while done < 2: done += MPI.Request.Testany([a, b])[0] not in (MPI.UNDEFINED,); time.sleep(0.001)
a, b = c.Irecv(y, before, 7), c.Isend(x, next, 7)
done = 0
while done < 2: done += len(MPI.Request.Testsome([a, b]) or ()); time.sleep(0.001)
"""


@pytest.mark.parametrize("n", [2, 4])
def test_requests(mpi, n):  # noqa: F811
    ranks = mpi.measured(n, REQUESTS).ranks
    sent, came = both(ranks)
    assert sent == came == Counter((i, (i + 1) % n, t, 8 * t if t < 3 else 80) for i in range(n) for t in range(8))
    for rank in ranks:
        assert len(set(requests(rank, "isend"))) == 8
        assert requests(rank, "isend") == requests(rank, "isend_complete")
        assert requests(rank, "irecv_request") == requests(rank, "irecv")
        assert "send" not in [r[0] for r in rank.records()] and "test" not in [r[0] for r in rank.records()]


SIZES = (0, 1, 8, 64, 1 << 10, 1 << 18)
STEPS = 10
GRIDS = {2: (2, 1), 4: (2, 2), 16: (4, 4)}
HALO = START + f"""
sizes, steps, grid = {SIZES}, {STEPS}, {GRIDS}[n]
for i, size in enumerate(sizes):
    for k in range(steps):
        if me == 0: c.Send(bytearray(size), 1, i); c.Recv(bytearray(size), 1, i)
        if me == 1: c.Recv(bytearray(size), 0, i); c.Send(bytearray(size), 0, i)
cart = c.Create_cart(grid, [True, False])
field, came = np.zeros((10, 20)), np.zeros(20)
for k in range(steps):
    r = []
    for axis in range(2):
        edge = field[0] if axis else np.ascontiguousarray(field[:, 0])
        for up in (0, 1):
            source, to = cart.Shift(axis, 1 if up else -1)
            r += [cart.Irecv(np.zeros(20), source, 2 * axis + up), cart.Isend(edge, to, 2 * axis + up)]
    MPI.Request.Waitall(r)
"""


def halo(n):
    """(from, to, tag, bytes) of each message on a grid whose first axis is periodic."""
    rows, columns = GRIDS[n]
    for i in range(rows):
        for j in range(columns):
            for tag, (di, dj) in enumerate([(-1, 0), (1, 0), (0, -1), (0, 1)]):
                if 0 <= j + dj < columns:
                    yield i * columns + j, (i + di) % rows * columns + j + dj, tag, 160 if dj else 80


@pytest.mark.parametrize("n", [2, 4, 16])
def test_ping_pong_and_halo(mpi, n):  # noqa: F811
    ranks = mpi.measured(n, HALO, timeout=300).ranks
    for me in (0, 1):
        expected = [(1, 1 - me, tag, size) for tag, size in enumerate(SIZES) for _ in range(STEPS)]
        assert ranks[me].messages("send") == ranks[me].messages("recv") == expected
        assert ranks[me].metric("MPI_Send", "bytes_sent") == ranks[me].metric("MPI_Recv", "bytes_received") == STEPS * sum(SIZES)
    sent, came = Counter(), Counter()
    for me, rank in enumerate(ranks):
        sent.update((me, *m[1:]) for m in rank.messages("isend"))
        came.update((m[1], me, *m[2:]) for m in rank.messages("irecv"))
        assert requests(rank, "isend") == requests(rank, "isend_complete")
        assert requests(rank, "irecv_request") == requests(rank, "irecv")
        assert {m[0] for m in rank.messages("isend") + rank.messages("irecv")} == {3}
        assert rank.metric("MPI_Isend", "bytes_sent") == STEPS * sum(m[3] for m in halo(n) if m[0] == me)
        assert rank.metric("MPI_Waitall", "bytes_received") == STEPS * sum(m[3] for m in halo(n) if m[1] == me)
    assert sent == came == Counter([*halo(n)] * STEPS)


def test_without_a_trace(mpi):  # noqa: F811
    for me, rank in enumerate(mpi.measured(2, HALO, trace=False).ranks):
        assert not list(rank.records())
        moved = STEPS * sum(m[3] for m in halo(2) if m[0] == me)
        assert rank.metric("MPI_Recv", "bytes_received") == rank.metric("MPI_Send", "bytes_sent") == STEPS * sum(SIZES)
        assert rank.metric("MPI_Isend", "bytes_sent") == rank.metric("MPI_Waitall", "bytes_received") == moved


PERSISTENT = START + """
s, r = c.Send_init(x, next, 1), c.Recv_init(y, before, 1)
for i in range(3):
    r.Start(); s.Start()
    MPI.Request.Waitall([r, s])
t, u = c.Ssend_init(x[:3], next, 2), c.Recv_init(y, MPI.ANY_SOURCE, 2)
for i in range(2):
    MPI.Prequest.Startall([u, t])
    u.Wait(); t.Wait()
for q in (s, r, t, u): q.Free()
"""


def test_persistent(mpi):  # noqa: F811
    ranks = mpi.measured(2, PERSISTENT).ranks
    sent, came = both(ranks)
    assert sent == came == Counter({(0, 1, 1, 80): 3, (1, 0, 1, 80): 3, (0, 1, 2, 24): 2, (1, 0, 2, 24): 2})
    for rank in ranks:
        numbers = requests(rank, "isend", "irecv_request")
        assert len(numbers) == len(set(numbers)) == 10
        assert numbers == requests(rank, "isend_complete", "irecv")


PARTITIONED = START + """
try: s, r = c.Psend_init(x, 5, next, 1), c.Precv_init(y, 5, before, 1)
except NotImplementedError: raise SystemExit("no partitioned communication")
for i in range(2):
    MPI.Prequest.Startall([s, r])
    s.Pready_range(0, 3); s.Pready(4)
    MPI.Request.Waitall([s, r])
assert (y == x).all()
s.Free(); r.Free()
"""


def test_partitioned(mpi):  # noqa: F811
    done = mpi.measured(2, PARTITIONED, fails=True)
    if "no partitioned" in done.done.stderr:
        pytest.skip("this MPI has no partitioned communication")
    assert done.done.returncode == 0
    sent, came = both(done.ranks)
    assert sent == came == Counter({(0, 1, 1, 80): 2, (1, 0, 1, 80): 2})
    assert {"MPI_Psend_init", "MPI_Precv_init", "MPI_Pready", "MPI_Pready_range"} <= set(done.ranks[0].names())


# requests created during a pause, and started in two measurements and between them
AGAIN = """
import os, spartito
spartito.start("first" + (os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]), trace=True)
from mpi4py import MPI
c = MPI.COMM_WORLD
me = c.rank
d = c.Dup()
spartito.pause()
r = [q for comm in (c, d) for q in (comm.Recv_init(bytearray(5), 1 - me, 3), comm.Send_init(bytearray(5), 1 - me, 3))]
spartito.resume()
def once(r):
    MPI.Prequest.Startall(r)
    MPI.Request.Waitall(r)
once(r)
spartito.stop()
once(r)
spartito.start(f"second{me}", trace=True)
once(r)
d.Free()
once(r[:2])
for q in r: q.Free()
"""


def test_measured_twice(mpi):  # noqa: F811
    (mpi.path / "program.py").write_text(AGAIN)
    done = mpi.run(2, [sys.executable, "program.py"])
    assert done.returncode == 0, done.stderr
    for me in range(2):
        first, second = (Rank(Raw(next((mpi.path / f"{name}{me}" / "raw").glob("*.raw")))) for name in ("first", "second"))
        for rank, n in ((first, 2), (second, 3)):
            assert [m[1:] for m in rank.messages("isend")] == [m[1:] for m in rank.messages("irecv")] == [(1 - me, 3, 5)] * n
            assert requests(rank, "isend") == requests(rank, "isend_complete")
            assert {m[0] for m in rank.messages("isend") + rank.messages("irecv")} <= set(rank.comms)
            assert len({m[0] for m in rank.messages("isend")}) == 2


MANY = START + """
one = bytearray(1)  # stays until all is sent
for i in range(3000): c.Isend(one, next, 1) if i % 2 else MPI.Request.Free(c.Isend(one, next, 1))
r = [c.Isend(bytearray(1), next, 2) for i in range(3000)]
for i in range(3000): c.Recv(bytearray(1), before, 1)
q = [c.Irecv(bytearray(1), before, 2) for i in range(3000)]
MPI.Request.Waitall(q[::-1])
MPI.Request.Waitall(r[::-1])
"""


def test_thousands_at_a_time(mpi):  # noqa: F811
    ranks = mpi.measured(2, MANY).ranks
    sent, came = both(ranks)
    assert sent == came == Counter({(a, 1 - a, tag, 1): 3000 for a in (0, 1) for tag in (1, 2)})
    for rank in ranks:
        assert requests(rank, "irecv_request") == requests(rank, "irecv")
        assert len(set(requests(rank, "isend_complete"))) >= 3000


OBJECTS = START + """
thing = {"a": list(range(50)), "b": "x" * 100}
if me == 0:
    c.send(thing, 1, 1); c.isend(thing, 1, 2).wait()
if me == 1:
    assert c.recv(source=0, tag=1) == thing
    assert c.irecv(source=0, tag=2).wait() == thing
    m = None
    while m is None: time.sleep(0.001); m = c.improbe()
    r = m.irecv(); assert r.wait() == 5
    m = c.Mprobe(); m.Recv(y)
if me == 0:
    c.send(5, 1, 3); c.Send(x, 1, 4)
d = c.Dup()
if me == 0: d.send(thing, 1, 5)
if me == 1: d.recv()
"""


def test_objects_come_too(mpi):  # noqa: F811
    """comm.recv() of mpi4py is a matched probe: received objects are recorded, too."""
    ranks = mpi.measured(2, OBJECTS).ranks
    sent, came = both(ranks)
    assert sent == came and sorted(tag for _, _, tag, _ in sent) == [1, 2, 3, 4, 5]
    (comm,) = {m[0] for m in ranks[0].messages("send") if m[2] == 5}
    assert comm not in (1, 2) and len({m[0] for m in ranks[1].messages("recv") if m[2] == 5} - {1, 2}) == 1


CANCEL = START + """
r = c.Irecv(y, before, 99); r.Cancel(); s = MPI.Status(); r.Wait(s)
assert s.Is_cancelled()
r = c.Irecv(y, before, 98)
assert not r.Test() and not MPI.Request.Testany([r])[1] and not r.Get_status()
r.Cancel(); r.Wait()
c.Set_errhandler(MPI.ERRORS_RETURN)
try: c.Send(x, n + 5, 1)
except MPI.Exception: pass
try: c.Isend(x, n + 5, 1)
except MPI.Exception: pass
if me == 0: c.Send(x, 1, 2)
if me == 1:
    try: c.Recv(y[:2], 0, 2)
    except MPI.Exception as e: assert e.Get_error_class() == MPI.ERR_TRUNCATE
"""


@pytest.mark.parametrize("groups", ["default", "default,xreqtest"])
def test_what_came_to_nothing(mpi, groups):  # noqa: F811
    ranks = mpi.measured(2, CANCEL, "--mpi", groups).ranks
    for me, rank in enumerate(ranks):
        assert requests(rank, "irecv_request") == requests(rank, "cancelled") and len(requests(rank, "cancelled")) == 2
        assert len(rank.messages("send")) == (me == 0) and not rank.messages("recv") and not rank.messages("isend")
        tests = requests(rank, "test")
        assert tests == ([max(requests(rank, "cancelled"))] * 3 if "xreqtest" in groups else [])


def test_without_requests_of_their_own(mpi):  # noqa: F811
    ranks = mpi.measured(2, REQUESTS, "--mpi", "p2p").ranks
    sent, came = both(ranks)
    assert sent == came and sum(sent.values()) == 16
    kinds = {r[0] for rank in ranks for r in rank.records()} - {"enter", "leave"}
    assert kinds == {"send", "recv"}


THREADS = START + """
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
def work(k):
    d, a, b = comms[k], np.zeros(k + 1), np.zeros(k + 1)
    for i in range(50):
        r = [d.Irecv(b, before, k), d.Isend(a, next, k)]
        MPI.Request.Waitall(r)
        d.Sendrecv(a, next, 100 + k, b, before, 100 + k)
comms = [c.Dup() for k in range(4)]
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for t in threads: t.start()
for t in threads: t.join()
"""


def test_threads(mpi):  # noqa: F811
    ranks = mpi.measured(2, THREADS).ranks
    sent, came = both(ranks)
    assert sent == came
    assert sent == Counter({(a, 1 - a, t + k, 8 * k + 8): 50 for a in (0, 1) for k in range(4) for t in (0, 100)})
    for rank in ranks:
        assert requests(rank, "isend") == requests(rank, "isend_complete")
        assert requests(rank, "irecv_request") == requests(rank, "irecv")
        by_tag = {}
        for comm, _, tag, _ in rank.messages("send") + rank.messages("recv") + rank.messages("irecv"):
            by_tag.setdefault(tag % 100, set()).add(comm)
        assert len({comm for comms in by_tag.values() for comm in comms}) == 4
        assert all(len(comms) == 1 for comms in by_tag.values())
