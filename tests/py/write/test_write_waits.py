# SPDX-License-Identifier: BSD-3-Clause
"""Waits in traces (run --waits --trace): in OTF2 read by otf2-print, in Perfetto's form by its package, in Chrome's by json, and in
Spartito's JSON. The events agree with the report of each lock and call site."""

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict

import pftrace
import pytest
from commandline import run
from programs import HOOKS
from spartito._analyse import Model
from waiting import Waits, command, compiled, line_of, recorded

PROGRAM = """
import queue, threading, time
from asleep import until_asleep, when_asleep
first, second = threading.Lock(), threading.RLock()  # made
q = queue.Queue()  # queue.made

def hold(lock, ready, tried):
    with lock:
        ready.release()
        tried.wait()
        until_asleep(threading.main_thread())

def want(lock):
    with lock:  # wait
        pass

def try_for(lock):
    return lock.acquire(timeout=0.02)  # timed

def main():
    ready = threading.Semaphore(0)
    for lock in (first, second, first):
        tried = threading.Event()
        t = threading.Thread(target=hold, args=(lock, ready, tried), name="holder")
        t.start()
        ready.acquire()
        assert not try_for(lock)
        tried.set()
        want(lock)
        t.join()
    t = when_asleep(q.put, 1)
    q.get()  # queue.wait
    t.join()
    for _ in range(50):
        with first:
            pass
    time.sleep(0.01)  # sleep

main()
"""
WORDS = {
    "lock": "waiting for a lock",
    "rlock": "waiting for an RLock",
    "semaphore": "waiting for a semaphore",
    "condition": "waiting for a condition",
    "event": "waiting for an event",
    "queue": "waiting for a queue",
    "thread": "waiting for the end of a thread",
    "sleep": "sleeping",
    "gil": "waiting for the GIL",
    "mutex": "waiting for a mutex of C",
}


class Recorded:
    def __init__(self, spartito, cwd, text=PROGRAM, *options):
        self.text = text
        self.model, _ = recorded(spartito, cwd, text, "--trace", *options)
        self.waits = Waits(self.model)
        self.cwd = cwd

    def convert(self, kind, name):
        path = self.cwd / name
        self.model.convert(kind, str(path))
        return path

    def by_kind(self):
        """{kind: (count, ns)} of the report."""
        found = defaultdict(lambda: [0, 0.0])
        for w in self.waits.found["waits"]:
            found[w["kind"]][0] += w["count"]
            found[w["kind"]][1] += w["time"] * 1e9
        return found


def same(traced, expected):
    """Equal counts, and times equal up to rounding: events have times in whole ns."""
    assert set(traced) == set(expected)
    for kind, (count, ns) in expected.items():
        assert traced[kind][0] == count, kind
        assert abs(traced[kind][1] - ns) <= 4 * count + 1, kind


@pytest.fixture(scope="module", params=HOOKS)
def made(request, tmp_path_factory):
    return Recorded([sys.executable, "-m", "spartito"], tmp_path_factory.mktemp("waits"), PROGRAM, "--hook", request.param)


# ---- OTF2 ----


class Archive:
    """records [(kind, location, time, text)], waits [(location, kind of the region, exclusive ns, attributes)]"""

    def __init__(self, directory):
        out = subprocess.run(
            ["otf2-print", "--warnings-as-errors", directory / "traces.otf2"], capture_output=True, text=True, check=True
        ).stdout
        out = re.sub(r"\n +ADDITIONAL ATTRIBUTES:", " ADDITIONAL ATTRIBUTES:", out)
        matches = [re.match(r"([A-Z_]+) +(\d+) +(\d+) +(.*)", line) for line in out.splitlines()]
        self.records = [(m[1], int(m[2]), int(m[3]), m[4]) for m in matches if m]
        self.definitions = subprocess.run(
            ["otf2-print", "-G", directory / "traces.otf2"], capture_output=True, text=True, check=True
        ).stdout

    def waits(self):
        words = {word: kind for kind, word in WORDS.items()}
        stacks, found = defaultdict(list), []
        for kind, where, time, text in self.records:
            if kind == "ENTER":
                stacks[where].append((words.get(re.match(r'Region: "(.*?)"', text)[1]), time, [0], text))
            elif kind == "LEAVE":
                of, begin, inner, entered = stacks[where].pop()
                if of:
                    found.append((where, of, time - begin - inner[0], entered + text))
                    for outer in stacks[where]:
                        outer[2][0] += (time - begin - inner[0]) if outer[0] else 0
        assert not any(stacks.values())
        return found

    def metrics(self):
        """[(location, ns, count)] of the metrics of waits."""
        pattern = r'Metric: .*\("wait_time" <\d+>; [^;]*; (\d+)\), \("waits" <\d+>; [^;]*; (\d+)\)'
        return [(where, re.search(pattern, text)) for kind, where, _, text in self.records if kind == "METRIC"]


def test_otf2(made):
    directory = made.convert("otf2", "otf2")
    archive = Archive(directory)
    traced = defaultdict(lambda: [0, 0])
    for _, kind, ns, _ in archive.waits():
        traced[kind][0] += 1
        traced[kind][1] += ns
    same(traced, made.by_kind())
    # the metric of waits in the trace sums up to that of the profile
    values = [(int(m[1]), int(m[2])) for _, m in archive.metrics() if m]
    whole = {m["name"]: m["total"] for m in made.model.info()["metrics"]}
    assert sum(n for _, n in values) == sum(count for count, _ in made.by_kind().values())
    assert whole["waits"] <= sum(n for _, n in values)
    assert abs(sum(ns for ns, _ in values) - sum(ns for _, ns in made.by_kind().values())) <= 4 * len(values)


def test_otf2_says_what_and_who(made):
    archive = Archive(made.convert("otf2", "otf2-who"))
    (line,) = {w["line"] for w in made.waits.at(line_of(made.text, "wait"), "lock")}
    at = re.compile(rf'"WaitLine" <\d+>; UINT32; {line}\)')
    waits = [text for _, kind, _, text in archive.waits() if kind == "lock" and at.search(text)]
    assert len(waits) == 2
    for text in waits:
        assert re.search(r'"Lock" <\d+>; STRING; "Lock made at program.py:4(?: #\d)?"', text)
        assert re.search(r'"Holder" <\d+>; LOCATION; "holder', text)
        assert re.search(r'"HeldIn" <\d+>; REGION; "__main__:hold"', text)
        assert "WaitEnded" not in text
    at = re.compile(rf'/program.py" <\d+>\).*"WaitLine" <\d+>; UINT32; {line_of(made.text, "timed")}\)')
    timed = [text for _, _, _, text in archive.waits() if at.search(text)]
    assert len(timed) == 3 and all("without it" in text for text in timed)


def test_otf2_locks(made):
    """Each acquisition has its release, in the order of acquisition numbers, whichever thread holds the lock."""
    archive = Archive(made.convert("otf2", "otf2-locks"))
    holds, last = {}, {}
    taken = Counter()
    for kind, _, _, text in sorted(archive.records, key=lambda r: r[2]):
        if not kind.startswith("THREAD_") or not kind.endswith("_LOCK"):
            continue
        lock, order = (int(re.search(rf"{what}: (\d+)", text)[1]) for what in ("Lock", "Acquisition Order"))
        if kind == "THREAD_ACQUIRE_LOCK":
            assert lock not in holds and order == last.get(lock, order - 1) + 1
            holds[lock] = order
            taken[lock] += 1
        else:
            # the first release may be of an acquisition before any wait, which is not recorded
            assert holds.pop(lock, order) == order
        last[lock] = order
    assert not holds
    # the main thread acquired it twice after a wait, and 50 times; the holder at its second wait acquired it after the first wait
    (lock,) = {w["lock"] for w in made.waits.at(line_of(made.text, "wait"), "lock")}
    assert taken[lock + 1] == 53
    assert made.waits.locks[lock]["count"] == last[lock + 1] == 54
    assert re.search(rf'"lock {lock + 1}" <\d+>, .*Value: "Lock made at program.py:4', archive.definitions)


# ---- timeline viewers ----


def slices(trace):
    return [s for events in trace.threads.values() for s in trace.slices(events) if "wait" in s.categories]


def slices_at(trace, line):
    """Slices of waits at a line of the program."""
    return [s for s in slices(trace) if s.notes.get("line") == line and s.notes["file"].endswith("/program.py")]


def alone(trace):
    """{kind: [count, ns without nested waits]}"""
    found = defaultdict(lambda: [0, 0])
    for events in trace.threads.values():
        waits = [s for s in trace.slices(events) if "wait" in s.categories]  # in the order of their begin
        for i, s in enumerate(waits):
            inner = sum(o.end - o.begin for o in waits[i + 1 :] if o.end <= s.end)
            found[s.notes["for"]][0] += 1
            found[s.notes["for"]][1] += s.end - s.begin - inner
    return found


@pytest.fixture(params=["perfetto", "chrome"])
def trace(request, made):
    if request.param == "perfetto":
        pytest.importorskip("perfetto")
        return pftrace.perfetto(made.convert("perfetto", "trace.pftrace"))
    return pftrace.chrome(made.convert("chrome", "trace.json"))


def test_slices(made, trace):
    same(alone(trace), made.by_kind())


def test_slices_say_what_and_who(made, trace):
    waits = [s for s in slices_at(trace, line_of(made.text, "wait")) if s.notes["for"] == "lock"]
    assert len(waits) == 2
    for s in waits:
        assert re.fullmatch(r"waiting for Lock made at program.py:4(?: #\d)?", s.name)
        assert s.notes["held by"] == "holder" and s.notes["which acquired it in"] == "__main__:hold"
        assert s.notes["made in"].endswith("program.py") and s.notes["at line"] == 4
        assert "ended" not in s.notes
    assert [s.notes["ended"] for s in slices_at(trace, line_of(made.text, "timed"))] == ["without it"] * 3
    queues = slices_at(trace, line_of(made.text, "queue.wait"))
    assert {s.name for s in queues} == {"waiting for queue.Queue made at program.py:5"}
    assert [s.name for s in slices_at(trace, line_of(made.text, "sleep"))] == ["sleeping"]


def test_arrows(made, trace):
    """An arrow goes from each release with a waiter to the next acquisition of the lock, and there is no other arrow."""
    arrows = [ends for ends in trace.flows().values() if any("lock" in end[3] for end in ends)]
    threads = {tid: name for (_, tid), name in trace.thread_names.items()}
    mine = [ends for ends in arrows if threads[ends[1][1]] == "MainThread" and threads[ends[0][1]] == "holder"]
    assert len(mine) >= 3  # one more for each acquisition of the semaphore's lock that had to wait for the second thread
    for ends in arrows:
        assert len(ends) == 2 and ends[0][2] <= ends[1][2] and ends[0][1] != ends[1][1]
    named = [n["lock"] for n in (e.notes for e in trace.instants("lock acquired"))]
    assert len(named) == len(trace.instants("lock released")) == len(arrows)


def test_json(made):
    found = json.loads(made.convert("json", "all.json").read_text())
    expected = made.waits.found
    assert (
        len(found["locks"]) == len(expected["locks"]) and len(found["waits"]) == len(expected["waits"]) and found["deadlocks"] == []
    )
    for w, t in zip(found["waits"], expected["waits"]):
        assert (w["kind"], w["lock"], w["line"], w["holder"], w["count"]) == (
            t["kind"],
            t["lock"],
            t["line"],
            t["holder"],
            t["count"],
        )
        assert abs(w["time"] - t["time"] * 1e9) < 1
        assert [found["regions"][r]["name"] for r in w["stack"]] == t["stack"]
        assert [found["regions"][r]["name"] for r in w["holder_stack"]] == t["holder_stack"]
    for o, t in zip(found["locks"], expected["locks"]):
        assert all(o[key] == t[key] for key in ("kind", "user", "made_line", "count"))
        assert (found["strings"][o["type"]] if o["type"] is not None else None) == t["type"]


# ---- compiled code ----

COMPILED = """
import ctypes
c = ctypes.CDLL({library!r})
c.wait_for_global(5, 40)
"""


def test_waits_of_compiled_code(spartito, tmp_path):
    """Waits of threads that never run Python are outside of any call. A lock call that did not block is no wait."""
    pytest.importorskip("perfetto")
    made = Recorded(spartito, tmp_path, COMPILED.format(library=compiled(tmp_path)))
    trace = pftrace.perfetto(made.convert("perfetto", "trace.pftrace"))
    expected = made.by_kind()
    assert expected["mutex"][0] == expected["sleep"][0] == 5
    found = alone(trace)
    for kind in ("mutex", "sleep"):
        same({kind: found[kind]}, {kind: expected[kind]})
    assert [s.name for s in slices(trace) if s.notes["for"] == "sleep"] == ["sleeping"] * 5
    assert all("global_lock in contend.so" in s.name for s in slices(trace) if s.notes["for"] == "mutex")
    traced = Counter(kind for _, kind, _, _ in Archive(made.convert("otf2", "otf2")).waits())
    assert (traced["mutex"], traced["sleep"]) == (5, 5)


# ---- pauses and killed processes ----

PAUSED = """
import threading, time
import spartito
from asleep import until_asleep
lock = threading.Lock()
lock.acquire()

def wait():
    with lock:  # wait
        pass

t = threading.Thread(target=wait, name="waits")
t.start()
until_asleep(t)
spartito.pause()
lock.release()
t.join()
spartito.resume()
time.sleep(0.01)
"""


def test_a_pause_ends_a_wait(spartito, tmp_path):
    """The end of the wait is not in the trace: the slice ends with the thread's recording, and notes this."""
    pytest.importorskip("perfetto")
    made = Recorded(spartito, tmp_path, PAUSED)
    trace = pftrace.perfetto(made.convert("perfetto", "trace.pftrace"))
    (wait,) = [s for s in slices_at(trace, line_of(PAUSED, "wait")) if s.notes["for"] == "lock"]
    assert wait.end is not None and wait.notes["ended"] in ("while recording was off", "never")
    Archive(made.convert("otf2", "otf2")).waits()


KILLED = """
import os, signal, threading
from asleep import until_asleep
lock = threading.Lock()
lock.acquire()
def want():
    with lock:
        pass

t = threading.Thread(target=want, daemon=True)
t.start()
until_asleep(t)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_wait_that_a_kill_ended(spartito, tmp_path):
    pytest.importorskip("perfetto")
    done = run(spartito, *command(tmp_path, KILLED, "--trace"), cwd=tmp_path)
    assert done.returncode == -9
    model = Model(str(tmp_path / "x"))
    model.convert("perfetto", str(tmp_path / "t.pftrace"))
    trace = pftrace.perfetto(tmp_path / "t.pftrace")
    (wait,) = [s for s in slices(trace) if s.notes["for"] == "lock"]
    assert wait.end is None
    model.convert("otf2", str(tmp_path / "otf2"))
    (wait,) = [text for _, kind, _, text in Archive(tmp_path / "otf2").waits() if kind == "lock"]
    assert "never" in wait
