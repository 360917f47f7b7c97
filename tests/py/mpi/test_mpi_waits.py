# SPDX-License-Identifier: BSD-3-Clause
"""Real programs with known waits, under each MPI. Each rank notes the time before a call. The expected wait is computed from the
begin of the calls in the raw files, not from the sleeps in the program, as the machine may be busy."""

import bisect
import json

import pytest
from commandline import run
from spartito.analysis import Model
from spartito.report.findings import topics
from spartito.results.results import Results

from mpi import mpi  # noqa: F401

BEGIN = """
import json, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
noted = {}
x, y = np.ones(8), np.empty(8)
def at(name):
    noted[name] = time.monotonic()
def scene(f):
    comm.Barrier()
    f()
"""
END = """
with open(f"noted-{rank}.json", "w") as file:
    json.dump(noted, file)
"""
POINT_TO_POINT = """
def late_sender():
    if rank % 2 == 0:
        time.sleep(0.25); at("late_sender"); comm.Send(x, rank + 1, 1)
    else:
        at("late_sender"); comm.Recv(y, rank - 1, 1)
def late_request():
    if rank % 2 == 0:
        time.sleep(0.25); at("late_request"); comm.Isend(x, rank + 1, 2).Wait()
    else:
        r = [comm.Irecv(y, rank - 1, 2), comm.Irecv(y, rank - 1, 3)]
        at("late_request"); MPI.Request.Waitall(r[:1]); r[1].Cancel(); r[1].Wait()
def late_object():
    if rank % 2 == 0:
        time.sleep(0.25); at("late_object"); comm.send("word", rank + 1, 4)
    else:
        at("late_object"); comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
def late_receiver():
    if rank % 2 == 0:
        at("late_receiver"); comm.Ssend(x, rank + 1, 5)
    else:
        time.sleep(0.25); at("late_receiver"); comm.Recv(y, rank - 1, 5)
def wrong_order():
    if rank % 2 == 0:
        comm.Send(x, rank + 1, 6); time.sleep(0.25); at("wrong_order"); comm.Send(x, rank + 1, 7)
    else:
        at("wrong_order"); comm.Recv(y, rank - 1, 7); comm.Recv(y, rank - 1, 6)
def first(): time.sleep(0.3)
def second(): time.sleep(0.3)
def chain():
    if rank == 0:
        first(); at("chain"); comm.Send(x, 1, 8)
    elif rank == 1:
        at("chain"); comm.Recv(y, 0, 8); second()
for f in (late_sender, late_request, late_object, late_receiver, wrong_order, chain): scene(f)
"""
COLLECTIVES = """
def barrier(): at("barrier"); comm.Barrier()
def allreduce(): at("allreduce"); comm.Allreduce(x, y)
def bcast(): at("bcast"); comm.Bcast(x, root=size - 1)
def reduce(): at("reduce"); comm.Reduce(x, y, root=0)
def scan(): at("scan"); comm.Scan(x, y)
def ibarrier():
    at("begun")
    request = comm.Ibarrier(); at("ibarrier"); request.Wait()
def stairs(f):
    comm.Barrier()
    time.sleep(0.15 * rank)
    f()
for f in (barrier, allreduce, bcast, reduce, ibarrier): stairs(f)
comm.Barrier(); time.sleep(0.15 * (size - 1 - rank)); scan()
half = comm.Split(rank % 2)
half.Barrier()
"""
NEAR = 0.001  # seconds
# the calls of the scenes; mpi4py calls other functions, too
CALLS = ("MPI_Send", "MPI_Isend", "MPI_Ssend", "MPI_Recv", "MPI_Mprobe", "MPI_Wait", "MPI_Waitall", "MPI_Barrier",
         "MPI_Ibarrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Scan")  # fmt: skip


class Found:
    """The reports of a run, and the times that the ranks noted."""

    def __init__(self, spartito, mpi, ranks, program):  # noqa: F811
        measured = mpi.measured(ranks, BEGIN + program + END, SPARTITO_CLOCK="monotonic")
        self.directory = directory = measured.directory
        self.ask = lambda *options: run(spartito, "report", *options, directory)
        self.messages = json.loads(self.ask("messages", "--json").stdout)
        self.waits = json.loads(self.ask("waits", "--json").stdout)
        self.came = [self.calls(rank, mpi.path / f"noted-{i}.json") for i, rank in enumerate(measured.ranks)]
        self.ended = [max(t for t, (_, name) in rank.raw.enters if name == "MPI_Finalize") for rank in measured.ranks]
        self.metrics = {m["name"]: m for m in self.waits["metrics"]}
        # nothing is missing, and the clocks agree
        assert self.messages["notes"] == self.waits["notes"] == []

    def calls(self, rank, notes):
        """Time of the first of these calls after each note, in seconds of the clock of the notes."""
        begins = sorted(ticks / 1e9 for ticks, (_, name) in rank.raw.enters if name in CALLS)
        return {name: begins[bisect.bisect_left(begins, at - 1e-6)] for name, at in json.loads(notes.read_text()).items()}

    def waited(self, metric, scene, rank, on=None):
        """Seconds of waits in that function of the program."""
        ranks, kinds = self.waits["ranks"], self.metrics[metric]["kinds"]
        return sum(
            row["time"]
            for row in self.waits["rows"]
            if row["kind"] in kinds
            and f"__main__:{scene}" in self.waits["stacks"][str(row["path"])]
            and ranks[row["process"]] == str(rank)
            and (on is None or (row["on"] is not None and ranks[row["on"]] == str(on)))
        )

    def until(self, scene, rank, other):
        came = self.came[other]["begun" if scene == "ibarrier" else scene]
        return max(0.0, came - self.came[rank][scene])


@pytest.mark.parametrize("ranks", [2, 4])
def test_point_to_point(spartito, mpi, ranks):  # noqa: F811
    for _ in range(5):
        found = Found(spartito, mpi, ranks, POINT_TO_POINT)
        # a path on which rank 1 waits for rank 0, and all for rank 1; on a busy machine the order may differ
        if found.came[1]["chain"] < found.came[0]["chain"] and found.ended[1] == max(found.ended):
            break
    pairs = ranks // 2
    assert found.messages["messages"] == 6 * pairs + 1 and found.messages["cancelled"] == 0
    names = found.messages["ranks"]
    matrix = {(names[r["from"]], names[r["to"]]): (r["messages"], r["received"]) for r in found.messages["rows"]["pair"]}
    assert matrix == {(str(2 * i), str(2 * i + 1)): (7, 7) if i == 0 else (6, 6) for i in range(pairs)}
    for sender in range(0, ranks, 2):
        receiver = sender + 1
        for scene in ("late_sender", "late_request", "late_object", "wrong_order"):
            truth = found.until(scene, receiver, sender)
            assert found.waited("mpi_latesender", scene, receiver, sender) == pytest.approx(truth, abs=NEAR), scene
        truth = found.until("wrong_order", receiver, sender)
        assert found.waited("mpi_lswo_same", "wrong_order", receiver, sender) == pytest.approx(truth, abs=NEAR)
        truth = found.until("late_receiver", sender, receiver)
        assert found.waited("mpi_latereceiver", "late_receiver", sender, receiver) == pytest.approx(truth, abs=NEAR)
    table = Results(found.directory).as_dict("waits")
    late = [i for i, kind in enumerate(table["kind"]) if kind == "Late Receiver"]
    assert sum(table["time"][i] for i in late) == pytest.approx(found.metrics["mpi_latereceiver"]["time"])
    assert {(table["waiter"][i], table["region"][i]) for i in late} >= {("rank", "MPI_Ssend")}
    (sent_late,) = [f for f in topics.ranked(Model(str(found.directory)), False, 0)[0] if f.topic == "late-sender"]
    assert sent_late.gain.amount == found.metrics["mpi_latesender"]["time"] and sent_late.function.startswith("MPI_")
    path = json.loads(found.ask("critical-path", "--json").stdout)
    times = {r["name"]: r["time"] for r in path["regions"]}
    assert times["__main__:first"] >= 0.29 and times["__main__:second"] >= 0.29 and path["jumps"] >= 1
    # they sleep
    waiting = {tuple(path["stacks"][str(p["path"])][-1:]): p["waiting"] for p in path["paths"]}
    assert waiting["__main__:first",] >= 0.28 and waiting["__main__:second",] >= 0.28
    for name in ("__main__:first", "__main__:second"):  # each has one call path
        assert waiting[name,] == pytest.approx(next(r["waiting"] for r in path["regions"] if r["name"] == name))
    assert [a[2] for a in path["pieces"][:-1]] == [b[1] for b in path["pieces"][1:]]
    out = found.ask("waits").stdout
    assert "  Messages in Wrong Order\n" in out and "> __main__:late_object > MPI_Mprobe\n" in out


def test_collectives(spartito, mpi):  # noqa: F811
    ranks = 4
    found = Found(spartito, mpi, ranks, COLLECTIVES)
    assert found.messages["messages"] == found.messages["incomplete"] == 0
    for rank in range(ranks):
        later = {s: max(found.until(s, rank, other) for other in range(ranks)) for s in found.came[0]}
        for scene, metric in (("barrier", "mpi_barrier_wait"), ("allreduce", "mpi_wait_nxn"), ("ibarrier", "mpi_barrier_wait")):
            assert found.waited(metric, scene, rank) == pytest.approx(later[scene], abs=NEAR), (scene, rank)
        truth = found.until("bcast", rank, ranks - 1)
        assert found.waited("mpi_latebroadcast", "bcast", rank) == pytest.approx(truth, abs=NEAR)
        truth = max([0.0, *(found.until("scan", rank, lower) for lower in range(rank))])
        assert found.waited("mpi_earlyscan", "scan", rank) == pytest.approx(truth, abs=NEAR)
    first = min(found.until("reduce", 0, other) for other in range(1, ranks))
    assert found.waited("mpi_earlyreduce", "reduce", 0) == pytest.approx(first, abs=NEAR)
    assert not any(found.waited("mpi_earlyreduce", "reduce", rank) for rank in range(1, ranks))
    assert "late-sender" not in {f.topic for f in topics.ranked(Model(str(found.directory)), False, 0)[0]}


# rank 1 receives three of five messages and is killed; rank 0 waits for an answer until it is killed, too
KILLED = """
import os, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
def answer():
    comm.recv(source=1, tag=2)
if comm.rank == 0:
    for i in range(5): comm.send(i, 1, 1)
    comm.send("go", 1, 3)
    answer()
else:
    comm.recv(source=0, tag=3)
    for i in range(3): comm.recv(source=0, tag=1)
    time.sleep(0.5)
    os.kill(os.getpid(), 9)
"""


def test_a_killed_rank(spartito, mpi):  # noqa: F811
    directory = mpi.measured(2, KILLED, fails=True).directory
    found = json.loads(run(spartito, "report", "messages", "--json", directory).stdout)
    assert (found["messages"], found["unmatched_sends"], found["unmatched_receives"], found["unmeasured"]) == (6, 2, 0, 0)
    out = run(spartito, "report", "waits", directory).stdout
    assert "no receive was found of 2 messages and no send of 0" in out
