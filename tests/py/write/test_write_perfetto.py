# SPDX-License-Identifier: BSD-3-Clause
"""Traces for Perfetto, read with the message classes of its package, and traces in Chrome's form: every slice, track, arrow and
count equals the model's, for programs with threads, tasks, processes and MPI."""

import gzip
import json
import shutil
import sys
from collections import Counter

import pftrace
import pytest
from commandline import run
from conftest import ROOT
from spartito._analyse import Error, Model

from mpi import KINDS, Mpi

pytest.importorskip("perfetto")

PROGRAM = """
import asyncio, os, random, signal, threading, time
import spartito

r = random.Random(5)

def leaf(n):
    return n

def left(n):
    return right(n - 1) + leaf(n) if n > 0 and r.random() < 0.7 else leaf(n)

def right(n):
    return left(n - 1) if n > 0 and r.random() < 0.6 else left(n - 2) + right(n - 3) if n > 3 else leaf(n)

async def child():
    await asyncio.sleep(0)
    left(3)

async def failing():
    raise ValueError

async def main():
    await asyncio.gather(asyncio.create_task(child(), name="first child"), child(), failing(), return_exceptions=True)

def work(n):
    for i in range(20):
        left(r.randrange(8))
    with spartito.region("phase"):
        spartito.parameter("n", n)
        spartito.parameter("n", -n)
        spartito.parameter("case", "größer")
        for i in range(3):
            spartito.counter("load", n + i / 4)
    with open(f"out-{n}", "wb", buffering=0) as f:
        f.write(b"x" * (1000 + n))

def killed(n):
    spartito.parameter("at", n)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
spartito.marker("half way")
spartito.pause()
leaf(1)
spartito.resume()
pid = os.fork()
if pid == 0:
    left(5)
    killed(7)
os.waitpid(pid, 0)
right(6)
"""
#: categories of slices that are not calls of the program
NOT_CALLS = {"gil", "thread", "off_cpu"}


class Made:
    """An experiment and its trace in both forms."""

    def __init__(self, directory, process=-1):
        self.model = Model(str(directory))
        self.info = self.model.info()
        for name, suffix in (("perfetto", "pftrace"), ("chrome", "chrome.json"), ("json", "json"), ("speedscope", "ss")):
            self.model.convert(name, f"{directory}.{suffix}", process=process)
        self.path = directory.with_name(directory.name + ".pftrace")
        self.perfetto = pftrace.perfetto(self.path)
        self.chrome = pftrace.chrome(directory.with_name(directory.name + ".chrome.json"))
        self.json = json.loads(directory.with_name(directory.name + ".json").read_text())
        self.lines = json.loads(directory.with_name(directory.name + ".ss").read_text())

    def of_locations(self):
        """(location, its process, its key in a trace) for locations with a thread id of the system."""
        for location in self.info["locations"]:
            process = self.info["processes"][location["process"]]
            yield location, process, (process["pid"], location["tid"])


def measured(cwd, program, *more):
    (cwd / "program.py").write_text(program)
    options = ("--trace", "--gil", "--io", "--metric", "rusage:ru_utime", "--metric", "rusage:ru_minflt", *more)
    words = ("run", "-q", *options, "-o", cwd / "x", "--", sys.executable, "program.py")
    done = run([sys.executable, "-m", "spartito"], *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return Made(cwd / "x")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return measured(tmp_path_factory.mktemp("perfetto"), PROGRAM)


def calls(events):
    """Enters and leaves of the program's functions, as in speedscope files."""
    found, stack = [], []
    for e in events:
        if e.kind == "B":
            stack.append(e)
        if e.kind == "E":
            begun = stack.pop()
            e = e._replace(name=begun.name, categories=begun.categories)
        if e.kind != "i" and not NOT_CALLS & set(e.categories):
            found.append((e.kind, e.name, e.time))
    return found


def test_tracks(made):
    trace = made.perfetto
    assert trace.pids == {p["pid"]: p["command"] for p in made.info["processes"]}
    assert len(trace.pids) == 2
    assert trace.thread_names == {key: location["name"] for location, _, key in made.of_locations()}
    tasks = made.model.tasks()["tasks"]
    assert sorted(trace.task_names.values()) == sorted(t["name"] for t in tasks)
    assert sum(name == "MainThread" for name in trace.thread_names.values()) == 2


def test_every_call(made):
    """Name, time and nesting of each call equal those in speedscope files. Calls of a killed process that were never left stay
    open."""
    frames = [f["name"] for f in made.lines["shared"]["frames"]]
    checked = 0
    for (location, process, key), profile in zip(made.of_locations(), made.lines["profiles"]):
        expected = [("B" if e["type"] == "O" else "E", frames[e["frame"]], e["at"]) for e in profile["events"]]
        found = calls(made.perfetto.threads[key])
        never = [s for s in made.perfetto.slices(made.perfetto.threads[key]) if s.end is None]
        assert found == expected[: len(expected) - len(never)]
        assert [name for _, name, _ in expected[len(found) :]] == [s.name for s in reversed(never)]
        if process["end"] == "abrupt":
            assert [s.name for s in never] == ["__main__:<module>", "__main__:killed"]
        else:
            assert not never
        checked += len(expected)
        assert location["process"] == made.info["processes"].index(process)
    assert checked > 1000


def test_names_say_what_a_region_is(made):
    regions = {
        (r["name"], r["kind"], (r["file"], r["qualname"], r["line"] or 0) if r["file"] else None) for r in made.json["regions"]
    }
    seen = Counter()
    for events in made.perfetto.threads.values():
        for e in events:
            if e.kind != "B" or NOT_CALLS & set(e.categories):
                continue
            assert (e.name, e.categories[0], e.place) in regions
            seen[e.categories[0]] += 1
    assert seen["python"] and seen["user"] and seen["io"]
    resumed = Counter(e.name for events in made.perfetto.threads.values() for e in events if "resumed" in e.categories)
    expected = Counter()
    for r in made.model.flat():
        expected[r["name"]] += r["resumed"]
    expected = +expected
    assert resumed == expected
    assert {e.name for events in made.perfetto.threads.values() for e in events if "begun before" in e.categories} == {
        "__main__:<module>"
    }


def test_parameters_counters_markers(made):
    trace = made.perfetto
    assert [s.notes for s in sorted(trace.named("phase"), key=lambda s: s.notes["n"])] == [
        {"n": n, "n 2": -n, "case": "größer"} for n in (1, 2)
    ]
    (load,) = [values for (pid, tid, name), values in trace.counts.items() if name == "load"]
    assert sorted(v for _, v in load) == sorted(n + i / 4 for n in (1, 2) for i in range(3))
    assert len(trace.instants("half way")) == 1 and trace.instants("half way")[0].categories == ["marker"]
    # a call that was never left has an instant at its end
    (left,) = trace.instants("__main__:killed")
    assert left.notes == {"at": 7} and left.categories == ["python", "never left"]
    # when recording pauses, the joined thread may not have ended yet, and then pauses, too
    off, on = (
        [e.time for (pid, tid), events in trace.threads.items() for e in events if pid == tid and e.name == f"recording {what}"]
        for what in ("off", "on")
    )
    assert len(off) == len(on) == 1 and off < on


def test_metrics(made):
    """Each metric has a track in each thread, with its unit, and a value wherever it changed."""
    found = {(pid, tid): values for (pid, tid, name), values in made.perfetto.counts.items() if name == "ru_utime"}
    at = made.json["value_columns"].index("ru_utime")
    # for a short thread the system may report no processor time
    used = [sum(row[at] for row in rows) for rows in made.json["values"]]
    needed = {key for (_, _, key), time in zip(made.of_locations(), used) if time}
    assert needed and needed <= set(found) <= set(made.perfetto.threads)
    for values in found.values():
        assert all(a[0] <= b[0] and a[1] < b[1] for a, b in zip(values, values[1:]))
        assert all(0 <= v < 1000 for _, v in values)
    faults = [v for (_, _, name), values in made.perfetto.counts.items() if name == "ru_minflt" for _, v in values]
    assert faults and all(v == int(v) for v in faults)


def test_file_io(made):
    written = {}
    for s in made.perfetto.named("write"):
        written[s.notes["file"].rsplit("/")[-1]] = s.notes
    for n in (1, 2):
        notes = written[f"out-{n}"]
        assert (notes["operation"], notes["asked"], notes["bytes"]) == ("write", 1000 + n, 1000 + n)
    opened = [s.notes["opens"] for s in made.perfetto.named("open64") + made.perfetto.named("open") if "opens" in s.notes]
    assert sum(path.endswith("out-1") for path in opened) == 1


def test_tasks(made):
    trace = made.perfetto
    tasks = {t["name"]: t for t in made.model.tasks()["tasks"]}
    for number, name in trace.task_names.items():
        t, slices = tasks[name], trace.slices(trace.tasks[number])
        running = [s for s in slices if s.categories == ["task"]]
        waiting = [s for s in slices if s.categories == ["task", "wait"]]
        assert len(running) + len(waiting) == len(slices)
        assert len(running) == t["steps"] and len(waiting) == t["steps"] - 1
        assert {s.name for s in running} == {t["region"]}
        assert sum(s.end - s.begin for s in waiting) == pytest.approx(t["waiting"] * 1e9, abs=1000)
        assert running[-1].notes == {"ended": t["state"]}
        assert all(a.end == b.begin for a, b in zip(slices, slices[1:]))
    created = [e.notes["task"] for e in trace.instants("task created")]
    assert sorted(created) == sorted(tasks)
    (first,) = [t for t, name in trace.task_names.items() if name == "first child"]
    (wait,) = [s for s in trace.slices(trace.tasks[first]) if s.name == "waiting"]
    assert wait.notes == {"awaits in": "asyncio.tasks:__sleep0"}


def test_arrows_between_threads_and_tasks(made):
    trace = made.perfetto
    flows = trace.flows()
    threads, tasks = ([ends for id, ends in flows.items() if id >> 56 == kind] for kind in (2, 3))
    whole = [ends for ends in threads if len(ends) == 2]
    assert [[name for *_, name, _ in ends] for ends in whole] == [["thread started", "thread begins"]] * 2
    assert all(a[1] != b[1] for a, b in whole)
    assert len(tasks) == len(trace.task_names)
    for created, begun in tasks:
        assert created[3] == "task created" and begun[0] is None and created[2] <= begun[2]
    assert len(trace.instants("thread joined")) == 2


def test_ends_of_processes(made):
    reported = {pid: {e.name: e for e in events} for pid, events in made.perfetto.processes.items()}
    for process in made.info["processes"]:
        events = reported[process["pid"]]
        assert events["process begins"].notes["command line"] == process["command"]
        assert events["process begins"].notes["python"] == ".".join(map(str, sys.version_info[:3]))
        end = events["process ends"].notes
        assert end["end"] == process["end"]
        assert end.get("signal") == (9 if process["end"] == "abrupt" else None)
    assert sorted(p["end"] for p in made.info["processes"]) == ["abrupt", "normal"]


def same(perfetto, chrome):
    assert perfetto.pids == chrome.pids and perfetto.thread_names == chrome.thread_names
    for key, events in perfetto.threads.items():
        assert len(events) == len(chrome.threads[key])
        for a, b in zip(events, chrome.threads[key]):
            assert (a.kind, a.time, a.name, a.notes) == (b.kind, b.time, b.name, b.notes)
            if a.kind == "B":
                assert a.categories == b.categories
                assert b.place == (a.place and (f"{a.place[0]}:{a.place[2]}" if a.place[2] else a.place[0]))
    assert [[e[:4] + (e.notes,) for e in events] for events in perfetto.processes.values()] == [
        [e[:4] + (e.notes,) for e in events] for events in chrome.processes.values()
    ]
    for number, events in perfetto.tasks.items():
        assert [(e.kind, e.time, e.notes) for e in events] == [(e.kind, e.time, e.notes) for e in chrome.tasks[number]]
        assert perfetto.task_names[number] == chrome.task_names[number]
    counts = {}
    for (pid, tid, name), values in perfetto.counts.items():
        shown = name if tid is None else f"{name} ({perfetto.thread_names[pid, tid]} {tid})"
        counts[pid, shown] = values
    assert {key: sorted(v) for key, v in counts.items()} == {key: sorted(v) for key, v in chrome.counts.items()}


def test_chrome_says_the_same(made):
    same(made.perfetto, made.chrome)
    tasks = {id for id in made.perfetto.flows() if id >> 56 == 3}
    flows = made.chrome.flows()
    assert set(flows) == set(made.perfetto.flows())
    for id in set(flows) - tasks:
        assert [end[:4] for end in flows[id]] == [end[:4] for end in made.perfetto.flows()[id]]


def test_packed_by_its_name(made, tmp_path):
    plain = {"perfetto": made.path, "chrome": made.path.with_name("x.chrome.json")}
    for name, path in plain.items():
        packed = tmp_path / f"{name}.gz"
        made.model.convert(name, str(packed))
        data = packed.read_bytes()
        assert gzip.decompress(data) == path.read_bytes()
        assert len(data) < len(path.read_bytes()) / 2
    with pytest.raises(Error, match="none"):
        made.model.convert("perfetto", str(tmp_path / "none" / "x.gz"))


def test_one_process(made, tmp_path):
    for index, process in enumerate(made.info["processes"]):
        made.model.convert("perfetto", str(tmp_path / "one"), process=index)
        one = pftrace.perfetto(tmp_path / "one")
        assert list(one.pids) == [process["pid"]]
        assert one.threads == {key: events for key, events in made.perfetto.threads.items() if key[0] == process["pid"]}


def test_size_of_an_event(tmp_path):
    """An event takes at most 16 bytes on average."""
    (tmp_path / "p.py").write_text(
        "def leaf(): pass\ndef calls(n):\n    for _ in range(n): leaf()\n    for _ in (i for i in range(n)): pass\ncalls(50000)\n"
    )
    done = run([sys.executable, "-m", "spartito"], "run", "-q", "--trace", "-o", "x", "--", sys.executable, "p.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = Model(str(tmp_path / "x"))
    model.convert("perfetto", str(tmp_path / "x.pftrace"))
    events = model.info()["events"]
    assert events > 200000
    assert (tmp_path / "x.pftrace").stat().st_size <= 16 * events


def test_counts_that_are_no_numbers(tmp_path):
    program = "import spartito\nfor v in (float('nan'), float('-inf'), 1.5): spartito.counter('odd', v)\n"
    made = measured(tmp_path, program)
    json.loads((tmp_path / "x.chrome.json").read_text(), parse_constant=pytest.fail)
    (values,) = [v for (_, _, name), v in made.perfetto.counts.items() if name == "odd"]
    assert [repr(v) for _, v in values] == ["nan", "-inf", "1.5"]
    ((_, values),) = [(key, v) for key, v in made.chrome.counts.items() if key[1] == "odd"]
    assert [v for _, v in values] == ["NaN", "-Infinity", 1.5]


def test_run_turns_the_trace_on(spartito, tmp_path):
    (tmp_path / "p.py").write_text("def f(): pass\nf()\n")
    done = run(spartito, "run", "--to", "perfetto", "-o", "x", "--", sys.executable, "p.py", cwd=tmp_path)
    assert "x.pftrace (open with https://ui.perfetto.dev)" in done.stderr
    assert len(pftrace.perfetto(tmp_path / "x.pftrace").named("__main__:f")) == 1
    assert run(spartito, "run", "-q", "-o", "y", "--", sys.executable, "p.py", cwd=tmp_path).returncode == 0
    done = run(spartito, "convert", "y", "--to", "chrome", cwd=tmp_path)
    assert done.returncode != 0 and "chrome needs the trace" in done.stderr and not (tmp_path / "y.chrome.json").exists()


# ---- raw files made by a generator ----


def ranks(path, worlds=1):
    (path / "raw").mkdir(parents=True)
    for world in range(worlds):
        for rank in range(4):
            data = (ROOT / f"tests/old-raw/v3-mpi-{rank}.raw").read_bytes()
            data = data.replace(b"0000000000000abc", b"0000000000000ab%d" % world)
            data = data.replace((0xABC).to_bytes(8, sys.byteorder), (0xAB0 + world).to_bytes(8, sys.byteorder))
            (path / "raw" / f"w{world}-{rank}.raw").write_bytes(data)
    return path


def messages(trace):
    """(from, to, name of the sending call, bytes received) of each arrow; checks both ends."""
    by_time = {(pid, e.time): e for (pid, _), events in trace.threads.items() for e in events if e.name == "message received"}
    found = []
    for id, ends in trace.flows().items():
        if id >> 56 == 1:
            (sender, _, begun, call, first), (receiver, _, time, name, last) = ends
            assert name == "message received" and begun < time and (first, last) == (False, True)
            found.append((sender, receiver, call, by_time[receiver, time].notes["bytes"]))
    return sorted(found)


def test_messages(tmp_path):
    made = Made(ranks(tmp_path / "x"))
    pids = [p["pid"] for p in made.info["processes"]]
    assert list(made.perfetto.pids.values()) == [f"MPI Rank {i}: python ring.py" for i in range(4)]
    expected = [(pids[i], pids[(i + 1) % 4], *sent) for i in range(4) for sent in (("MPI_Send", 800), ("MPI_Wait", 16))]
    assert messages(made.perfetto) == sorted(expected)
    same(made.perfetto, made.chrome)
    sent = made.perfetto.named("MPI_Send")
    assert [s.notes for s in sent] == [
        {"to rank": (i + 1) % 4, "bytes": 800, "tag": 7, "communicator": "MPI_COMM_WORLD"} for i in range(4)
    ]
    got = [e.notes for e in made.perfetto.instants("message received")]
    assert Counter(n["from rank"] for n in got if n["tag"] == 7) == Counter(range(4))
    # all MPI facts of a rank are notes of its calls
    note_names = {name for events in made.perfetto.threads.values() for e in events for name in e.notes}
    assert {"root", "bytes sent", "window", "put to rank", "request completed", "communicator made"} <= note_names


def test_numbers_of_the_system_that_repeat(tmp_path):
    """On two machines, processes may have the same id: both appear, one with an id that no system assigns."""
    made = Made(ranks(tmp_path / "x", worlds=2))
    pids = list(made.perfetto.pids)
    assert len(pids) == 8 and sum(pid >= 1 << 22 for pid in pids) == 4
    assert len(messages(made.perfetto)) == 16
    assert [n for n in made.perfetto.pids.values() if "of world 2" in n]
    begins = [e for events in made.perfetto.processes.values() for e in events if e.name == "process begins"]
    assert sorted(e.notes["process id"] for e in begins) == sorted(p["pid"] for p in made.info["processes"])


def test_messages_of_one_rank_have_no_half_arrows(tmp_path):
    directory = ranks(tmp_path / "x")
    Model(str(directory)).convert("perfetto", str(tmp_path / "one"), process=1)
    trace = pftrace.perfetto(tmp_path / "one")
    assert len(trace.pids) == 1 and not trace.flows() and trace.named("MPI_Send")


def test_losses_and_damage(tmp_path):
    (tmp_path / "x" / "raw").mkdir(parents=True)
    data = (ROOT / "tests/old-raw/v3-mpi-0.raw").read_bytes()
    (tmp_path / "x" / "raw" / "a.raw").write_bytes(data)
    shutil.copy(ROOT / "tests/old-raw/v2-trace.raw", tmp_path / "x" / "raw" / "b.raw")
    (tmp_path / "x" / "raw" / "c.raw").write_bytes(data[: len(data) // 2])
    made = Made(tmp_path / "x")
    lost = made.perfetto.instants("events lost")
    assert [e.notes for e in lost] == [{"events": 3}] * len(lost) and lost
    problems = [p for p in made.json["problems"]]
    assert problems and [e.notes["problem"] for e in made.perfetto.root] == problems
    assert {e.name for e in made.perfetto.root} == {"damage found"}
    same(made.perfetto, made.chrome)


MESSAGES = """
import random
from mpi4py import MPI
c = MPI.COMM_WORLD
me, other, n = c.rank, 1 - c.rank, 12
r = random.Random(3)
order = list(range(n))
r.shuffle(order)
if me == 0:
    for k in range(n):
        c.Send([bytes(100 + k), MPI.BYTE], other, tag=k % 3)
    requests = [c.Isend([bytes(300 + k), MPI.BYTE], other, tag=k % 2) for k in range(n)]
    MPI.Request.Waitall(requests)
else:
    for k in range(n):
        status = MPI.Status()
        c.Recv([bytearray(1000), MPI.BYTE], MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    requests = [c.Irecv([bytearray(1000), MPI.BYTE], other, tag=k % 2) for k in order]
    MPI.Request.Waitall(requests)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_messages_of_a_real_program(kind, tmp_path):
    """Each message has another size: each arrow ends where the message of that size was received."""
    pytest.importorskip("mpi4py")
    mpi = Mpi(kind, tmp_path)
    (tmp_path / "program.py").write_text(MESSAGES)
    words = ["-m", "spartito", "run", "-q", "--trace", "--only-mine", "--to", "perfetto", "-o", "x", "--"]
    done = mpi.run(2, [sys.executable, *words, sys.executable, "program.py"])
    assert done.returncode == 0, done.stderr
    trace = pftrace.perfetto(tmp_path / "x.pftrace")
    sizes = {}
    for events in trace.threads.values():
        for s in trace.slices(events):
            sizes.update((id, s.notes["bytes"]) for id, _ in s.flows if "to rank" in s.notes)
        for e in events:
            if e.name == "message received":
                ((id, last),) = e.flows
                assert last and sizes[id] == e.notes["bytes"]
    assert sorted(sizes.values()) == [100 + k for k in range(12)] + [300 + k for k in range(12)]
