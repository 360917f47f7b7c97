# SPDX-License-Identifier: BSD-3-Clause
"""Findings: for each topic a program that has the finding, and one, or another part of it, that has not. Thresholds of time are
lowered, as the programs are short and the machine may be busy; what a topic finds does not depend on them."""

import json
import pickle
import re
import shutil
import subprocess
import sys

import pytest
import spartito
from commandline import run
from conftest import ROOT
from spartito._analyse import Model
from spartito.base.text import percent, size
from spartito.base.text import seconds as seconds_text
from spartito.experiments import processtime
from spartito.notebook.result import Result
from spartito.report.findings import thresholds, topics

CALLS = """
import re
def of_library(match):
    return ""
def small(x):
    return x * 31 % 7 * 31 % 11 * 31 % 13 * 31 % 17 * 31 % 19 * 31 % 23
def seldom(x):
    return x + 1
def large(n):
    return sum(range(n))
def inner(x):
    return seldom(x)
def loop():
    for i in range(300_000): small(i)
    for i in range(60_000): inner(i)
    for i in range(100): large(1000)
    re.sub("x", of_library, "x" * 60_000)
loop()
"""
REPEATED = """
class C: pass
def same(n, text): return sum(range(n))
def different(n): return sum(range(n))
def of_object(c): return sum(range(3000))
for i in range(300):
    same(3000, "a")
    different(3000 + i)
    of_object(C())
"""
IMPORTS = "import heavy\n"
EVENTLOOP = """
import asyncio, time
def compute(): time.sleep(0.6)
async def block():
    await asyncio.sleep(0.001)
    compute()
async def other():
    for _ in range(20): await asyncio.sleep(0.005)
async def child(): await asyncio.sleep(0.001)
async def alone():
    time.sleep(0.15)  # before it has other tasks
    await asyncio.gather(child(), child())
async def main(): await asyncio.gather(block(), other(), other())
async def creator():
    tasks = [asyncio.create_task(other()) for _ in range(3)]
    await asyncio.sleep(0.001)
    compute()
    await asyncio.gather(*tasks)
asyncio.run(main())
asyncio.run(alone())
asyncio.run(creator())
"""
CALLBACKS = """
import asyncio, socket, time
def compute(seconds): time.sleep(seconds)
def callback(): compute(0.15)
def lonely(done):
    compute(0.3)
    done.set_result(None)
class Protocol(asyncio.Protocol):
    def __init__(self, done): self.done = done
    def data_received(self, data):
        compute(0.5)
        self.done.set_result(None)
async def wait(done): await done
async def main():
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    workers = [loop.create_task(wait(done)) for _ in range(2)]
    ours, theirs = socket.socketpair()
    await loop.create_connection(lambda: Protocol(done), sock=ours)
    for _ in range(4): loop.call_soon(callback)
    theirs.send(b"x")
    await asyncio.gather(*workers)
async def alone():
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lonely, done)
    await asyncio.gather(wait(done))
asyncio.run(main())
asyncio.run(alone())
"""
WAITS = """
import threading, time
busy, free, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def critical():
    with busy: time.sleep(0.02)
def spin():
    x = 0
    for i in range(2_000_000): x += i
def work():
    both.wait()
    for _ in range(10): critical()
    with free: pass
    both.wait()
    spin()
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
"""
TURNS = """
import threading, time
def spin():
    time.sleep(0.1)  # until the main thread is in join()
    for i in range(3_000_000): pass
for _ in range(2):
    thread = threading.Thread(target=spin)
    thread.start()
    thread.join()
"""
POOL = """
import multiprocessing
def work(n): return sum(range(n * 500_000))
def task(n):
    both.wait()  # each worker has one task
    return work(n)
def early(n): return sum(range(n * 500_000))
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    both = context.Barrier(2)
    with context.Pool(2) as pool:
        pool.map(task, [1, 9], chunksize=1)
    for n in (1, 9):  # one after the other: their times are no imbalance
        process = context.Process(target=early, args=(n,))
        process.start()
        process.join()
"""
EXCHANGE = """
import multiprocessing, pickle
DATA = [(i, str(i)) for i in range(20_000)]
def receive(connection):
    for _ in range(10): connection.recv()
def save():
    for _ in range(10): pickle.dumps(DATA)
if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=receive, args=(theirs,))
    process.start()
    for _ in range(10): ours.send(DATA)
    save()
    process.join()
"""
CHILD = """
import subprocess, sys
for _ in range(2): subprocess.run([sys.executable, "-c", "import time; time.sleep(0.3)"])
"""
CHILDREN = """
import subprocess, sys
command = [sys.executable, "-c", "import time; input(); time.sleep(0.2)"]
both = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(2)]
for p in both: p.stdin.close()
for p in both: p.wait()
"""
SMALL_IO = """
import os, tempfile
def small(fd):
    for _ in range(20_000): os.write(fd, b"0123456789")
def large(fd):
    for _ in range(2_000): os.write(fd, b"0123456789" * 1_000)
file = tempfile.TemporaryFile()
small(file.fileno())
large(file.fileno())
"""
MEMORY = """
import time
kept, released = [], []
def grow(n):
    for _ in range(n):
        kept.append(bytearray(200_000))
        released.append(bytearray(200_000))
        time.sleep(0.01)
grow(60)
released.clear()
"""
PEAK = """
import time
def steps(): return [bytearray(200_000) for _ in range(20)]
def blow(): return len(bytearray(64 << 20))
kept = steps()
time.sleep(3)  # a busy machine may interrupt blow() for a while
blow()
time.sleep(3)
"""
EMPTY = """
def empty(): pass
def often():
    for _ in range(2_000_000): empty()
often()
"""
EXCEPTIONS = """
def parse(text): return int(text)
def checked(text):
    return parse(text)
def caught(n):
    for i in range(n):
        try: checked("x")
        except ValueError: pass
def inside(text):
    try: return int(text)
    except ValueError: return None
def iterate(n):
    for i in range(n):
        for j in generator(): break
        next(generator())
def generator():
    yield 1
    yield 2
caught(40_000)
for i in range(40_000): inside("x")
iterate(40_000)
"""
GARBAGE = """
import gc
kept = []
def build(): kept.extend([i] for i in range(200_000))
def tidy():
    for i in range(20): gc.collect()
build()
tidy()
"""
# a library with a pool of one thread, as that of BLAS: both the pool and the caller of compute() compute
LIBRARY = """
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static double of_pool;
void compute(double until)
{
    struct timespec t;
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); while (t.tv_sec + t.tv_nsec * 1e-9 < until);
}
static void *pool(void *arg) { compute(of_pool); for (;;) pause(); return arg; }
void start(double until)
{
    pthread_t t;
    of_pool = until;
    pthread_create(&t, 0, pool, 0);
}
"""
NATIVE = """
import ctypes, os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
library = ctypes.CDLL("./library.so")
library.start(ctypes.c_double(float(sys.argv[1])))
def compute(until): library.compute(ctypes.c_double(until))
for i in range(100): compute(i / 100)
"""
PROGRAMS = {
    "calls": (CALLS, ()), "repeated": (REPEATED, ("--label", "args")), "imports": (IMPORTS, ()), "eventloop": (EVENTLOOP, ()),
    "callbacks": (CALLBACKS, ()), "waits": (WAITS, ("--waits",)), "turns": (TURNS, ("--gil",)), "pool": (POOL, ("--waits",)),
    "exchange": (EXCHANGE, ("--c-calls", "--io")), "child": (CHILD, ()), "children": (CHILDREN, ()),
    "smallio": (SMALL_IO, ("--io",)), "memory": (MEMORY, ("--memory-profile",)), "garbage": (GARBAGE, ()),
    "exceptions": (EXCEPTIONS, ()), "peak": (PEAK, ("--memory-profile",)), "empty": (EMPTY, ()),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("findings")
    (place / "heavy.py").write_text("import time\ntime.sleep(0.3)\n")
    running = []
    for name, (text, options) in PROGRAMS.items():
        (place / f"{name}_program.py").write_text(text)
        command = [sys.executable, "-m", "spartito", "run", *options, "-o", name, "--", sys.executable, f"{name}_program.py"]
        running.append((name, subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)))
        if len(running) % 2 == 0:  # two at a time
            running[-2][1].wait(100)
    summaries = {}
    for name, process in running:
        summaries[name] = process.communicate(timeout=100)[1]
        assert process.returncode == 0, summaries[name]
    return place, summaries


@pytest.fixture
def found(made, monkeypatch):
    """found(name, share): {topic: [finding]} of an experiment. share: the least one."""

    def search(name, share=0.01, model=None):
        monkeypatch.setattr(thresholds, "SHARE", share)
        monkeypatch.setattr(thresholds, "SECONDS", 0.0005)
        findings, notes = topics.ranked(model or Model(str(made[0] / name)), False, 0)
        assert not notes
        by_topic = {}
        for finding in findings:
            assert finding.gain.share > 0 and finding.evidence and finding.advice and finding.command.startswith("spartito report ")
            by_topic.setdefault(finding.topic, []).append(finding)
        return by_topic

    return search


class Changed:
    """A model with other answers of one method."""

    def __init__(self, model, **answers):
        self.model, self.answers = model, answers

    def __getattr__(self, name):
        if name in self.answers:
            return lambda **keywords: self.answers[name]
        return getattr(self.model, name)


def test_a_small_function_called_from_one_loop(found):
    findings = found("calls")
    by_name = {f.function: f for f in findings.pop("small-function")}
    small = by_name.pop("__main__:small")
    assert set(by_name) <= {"__main__:inner"}  # each call of inner() calls seldom() once; the loop of re.sub() is not the program's
    assert (small.function, small.line, small.path[-2:]) == ("__main__:small", 5, ["__main__:loop", "__main__:small"])
    assert "is called 300,000 times from __main__:loop" in small.title
    assert set(findings) <= {"overhead", "imports", "garbage-collection"}


def test_a_small_function_saves_no_time_without_a_processor(made, found):
    """Its gain is a part of the running time, however long its thread was preempted."""
    whole = Model(str(made[0] / "calls"))
    preempted = [{**row, "excl": 50 * row["excl"]} for row in whole.tree()]
    (small,) = (f for f in found("calls", model=Changed(whole, tree=preempted))["small-function"] if f.function == "__main__:small")
    (row,) = (row for row in whole.flat() if row["name"] == "__main__:small")
    assert small.gain.amount <= row["running"] and small.gain.share < 1


def test_equal_arguments(found):
    findings = found("repeated")
    assert [f.function for f in findings["same-arguments"]] == ["__main__:same(n=3000, text='a')"]
    assert "same-arguments" not in found("calls")


def test_imports(found):
    (imports,) = found("imports")["imports"]
    assert imports.function == "heavy" and imports.gain.amount >= 0.3 and "imports" not in found("repeated")
    assert imports.evidence[-1].startswith("heavy ran its own code for ") and imports.advice.startswith("move what heavy does ")


def test_overhead_that_distorts_names_what_to_exclude(made, found, spartito, tmp_path):
    (overhead,) = found("empty")["overhead"]
    assert overhead.function == "__main__:empty" and "--exclude __main__:empty" in overhead.advice
    assert "overhead" not in found("imports")  # few calls
    model = Model(str(made[0] / "calls"))
    info = model.info()
    running = sum(loc["running"] for loc in info["locations"])
    visits = sum(loc["visits"] + loc["resumed"] for loc in info["locations"])
    process = {**info["processes"][0], "cost_in": 0.1 * running / visits, "cost_out": 0.1 * running / visits}
    (overhead,) = found("calls", model=Changed(model, info={**info, "processes": [process]}))["overhead"]
    assert overhead.gain.share == pytest.approx(0.2)
    options = overhead.advice.partition("spartito run ")[2].split()[:-1]
    assert options[:2] == ["--exclude", "__main__:small"]
    command = [*spartito, "run", "-q", *options, "-o", tmp_path / "x", "--", sys.executable, made[0] / "calls_program.py"]
    subprocess.run(command, check=True)
    assert not [row for row in Model(str(tmp_path / "x")).flat() if row["name"] in options]
    process.update(cost_in=0.0, cost_out=0.0)
    assert "overhead" not in found("calls", model=Changed(model, info={**info, "processes": [process]}))


def test_uneven_work(made, found, tmp_path):
    (uneven,) = found("pool")["imbalance"]
    assert uneven.function in ("__main__:task", "__main__:work")  # task() is left out if it waited for long
    assert "2 processes" in uneven.title
    assert "imbalance" not in found("exchange")  # the work of processes is known with --waits only
    (tmp_path / "raw").mkdir()
    for rank in range(4):  # ranks with equal times
        shutil.copy(ROOT / f"tests/old-raw/v3-mpi-{rank}.raw", tmp_path / "raw")
    model = Model(str(tmp_path))
    assert len(model.balance(by="path", time="incl")["rows"]) > 3 and not found("", 0.0, model)


def test_contention_for_a_lock_and_the_gil(made, found):
    findings = found("waits")
    (lock,) = findings["lock"]
    assert "Lock made at " in lock.title and "waits_program.py:3" in lock.title and lock.path[-1] == "__main__:critical"
    waits = [w for w in Model(str(made[0] / "waits")).locks()["waits"] if w["kind"] == "lock" and "__main__:critical" in w["stack"]]
    assert lock.gain.amount == pytest.approx(sum(w["time"] for w in waits))
    (gil,) = findings["gil"]
    model = Model(str(made[0] / "waits"))
    assert gil.gain.amount == pytest.approx(sum(w["time"] for w in model.locks()["waits"] if w["kind"] == "gil"), rel=1e-2)
    threads = [loc for loc in model.info()["locations"] if loc["runs"] == "__main__:work"]
    (together,) = [line for line in gil.evidence if " threads used " in line]
    assert re.match(r"2 threads used [01]\.\d\d of \d+ processors? together: ", together)
    assert f": {seconds_text(sum(loc['cpu'] for loc in threads))} of processor time in the " in together
    assert gil.advice.startswith("use processes ") == (" of 1 processor together" not in together)
    info = model.info()
    info["processes"][0]["meta"]["cpus"] = "1"
    (gil,) = found("waits", model=Changed(model, info=info))["gil"]
    assert gil.advice.startswith("first let the process run on more processors") and " of 1 processor together" in gil.evidence[-1]
    assert "gil" not in found("turns", 0.05)  # threads that run one after the other
    assert not {"lock", "gil"} & set(found("eventloop"))


def test_small_writes(found):
    (small,) = found("smallio")["small-io"]
    assert small.function == "__main__:small" and "writes 10 B at a time, 20,000 times" in small.title


def test_memory_that_grows(made, found):
    findings = found("memory")
    (growth,) = findings["memory-growth"]
    assert (growth.function, growth.line) == ("__main__:grow", 6) and growth.gain.unit == "B"
    assert 60 * 200_000 <= growth.gain.amount < 61 * 200_000 and "memory-growth" not in found("calls")


def test_a_peak_that_lasts_for_a_short_time(made, found):
    (peak,) = found("peak")["memory-peak"]
    assert peak.function == "__main__:blow" and 60 << 20 <= peak.gain.amount <= 65 << 20
    assert "memory-peak" not in found("memory")  # grows until the end
    model = Model(str(made[0] / "memory"))
    memory = model.memory()
    process = memory["processes"][0]
    process.update(peak_bytes=100 << 20, ended=10.0, resident_peak_time=None)
    cases = ((5.0, 5.4, 80 << 20), (5.0, 5.6, None), (9.8, 10.1, None))  # 4 % and 6 % of the time; not released
    for since, until, expected in cases:
        process["peak_time"] = since
        process["series"] = [(0.0, 20 << 20, 1, 0), (since, 100 << 20, 1, 0), (until, 20 << 20, 1, 0)]
        peaks = found("memory", model=Changed(model, memory=memory)).get("memory-peak", [])
        assert [peak.gain.amount for peak in peaks] == ([expected] if expected else [])


def test_pickling_for_another_process(found):
    (pickling,) = found("exchange")["serialization"]
    assert " in 20 calls" in pickling.title  # 10 by send(), 10 by recv(), and not the 10 by save()
    assert pickling.function in ("multiprocessing.reduction:ForkingPickler.dumps", "_pickle:<built-in method _pickle.loads>")
    each = size(len(pickle.dumps([(i, str(i)) for i in range(20_000)])) + 4)  # and the length of the message
    assert pickling.evidence[-1].endswith(f" sent in 10 messages: {each} each")


def test_more_threads_of_a_library_than_processors(found, tmp_path, spartito):
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "native.py").write_text(NATIVE)
    subprocess.run(["cc", "-shared", "-fPIC", "-pthread", "-o", "library.so", "library.c"], cwd=tmp_path, check=True)
    for name, seconds in ("busy", "1"), ("idle", "0"):
        done = run(spartito, "run", "-o", name, "native.py", seconds, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        if name == "busy":
            summary = done.stderr
    (many,) = found("busy", model=Model(str(tmp_path / "busy")))["oversubscription"]
    assert many.title == "1 process with compiled libraries computed in 2 threads on 1 processor"
    # on a busy machine it loses the processor for so long that some of it counts as waiting
    assert many.gain.amount > 0.02 and "the rest in 1 thread of compiled libraries" in many.evidence[0]
    assert "oversubscription" not in found("idle", model=Model(str(tmp_path / "idle")))
    info = run(spartito, "info", tmp_path / "busy").stdout
    (cpu,) = [line for line in info.splitlines() if line.startswith("processor")]
    (usage,) = processtime.usages(Model(str(tmp_path / "busy")).info())
    assert usage.outside > 0.9 and usage.recorded > 0.8
    inside = f"{seconds_text(usage.recorded)} of it in recorded threads, {seconds_text(usage.functions)} in recorded functions"
    assert cpu.endswith(inside)
    outside = f"outside of functions: {percent(usage.cpu - usage.functions, usage.cpu)} % of the {seconds_text(usage.cpu)} of "
    (line,) = [line for line in summary.splitlines() if line.startswith("outside of functions")]
    assert line.startswith(outside) and line.endswith(f"{seconds_text(usage.outside)} in threads that were not recorded")


def test_children_one_at_a_time(found):
    (waited,) = found("child")["child-process"]
    assert waited.gain.amount >= 0.6 and "for 2 child processes, one at a time" in waited.title
    assert "child-process" not in found("children")


def test_what_is_too_large_for_a_remark_is_noted(made):
    model = Model(str(made[0] / "eventloop"))
    assert topics.ranked(Changed(model, tasks={**model.tasks(), "count": 1 << 20}), False)[1] == [
        "event loops: there are more than 10,000 tasks; spartito report tasks shows their times"
    ]
    model = Model(str(made[0] / "calls"))
    info = {**model.info(), "worlds": [1], "traced": True, "events": 1 << 40}
    assert topics.ranked(Changed(model, info=info), False)[1] == [
        "late senders: the trace has more than 2,000,000 events; spartito report waits searches it"
    ]


def test_exceptions(made, found):
    (exceptions,) = found("exceptions")["exceptions"]
    assert (exceptions.function, exceptions.path[-2:]) == ("__main__:checked", ["__main__:caught", "__main__:checked"])
    assert exceptions.title == "__main__:checked ends with an exception 40,000 times, called from __main__:caught"
    assert "at least 40,000 of them ended no call of __main__:caught" in exceptions.evidence[0]
    rows = {row["name"]: row["running"] for row in Model(str(made[0] / "exceptions")).flat()}
    assert exceptions.gain.amount == pytest.approx(rows["__main__:checked"] + rows["__main__:parse"])


def test_garbage_collections(made, found):
    (garbage,) = found("garbage")["garbage-collection"]
    rows = [row for row in Model(str(made[0] / "garbage")).tallies()["rows"] if row["path"]]
    assert garbage.gain.amount == pytest.approx(sum(row["time"] for row in rows)) and garbage.function == "__main__:tidy"
    number = sum(row["count"] for row in rows if row["generation"] == 2)
    assert number >= 20 and garbage.evidence[0].startswith(f"generation 2: {number} collections in ")
    generations = len({row["generation"] for row in rows})
    assert " in 20 collections while this ran: __main__:tidy (" in garbage.evidence[generations]
    assert "garbage-collection" not in found("calls", 0.5)  # one at the end of the interpreter is in no function


def test_a_step_that_blocks_the_event_loop(made, found):
    findings = {f.title.partition(" blocked its event loop for up to ")[0]: f for f in found("eventloop")["event-loop"]}
    rows = {row["name"]: row for row in Model(str(made[0] / "eventloop")).flat()}
    if rows["__main__:alone"]["max"] < 0.25:  # it was not preempted while it had other tasks
        assert "__main__:alone" not in findings
    for name, others in (("block", 2), ("creator", 3)):
        blocking = findings[f"__main__:{name}"]
        assert blocking.function == "__main__:compute" and f"{others} other tasks" in blocking.evidence[1]


def test_a_callback_that_blocks_the_event_loop(found):
    findings = {f.title.partition(" blocked its event loop for up to ")[0]: f for f in found("callbacks")["event-loop"]}
    assert "__main__:lonely" not in findings  # the only task without a child waits for it
    soon, received = findings["__main__:callback"], findings["__main__:Protocol.data_received"]
    assert soon.function == received.function == "__main__:compute" and soon.path[-2:] == ["__main__:callback", "__main__:compute"]
    assert soon.evidence[0].startswith("4 calls of __main__:callback (") and soon.gain.amount >= 0.6
    assert received.evidence[0].startswith("1 call of __main__:Protocol.data_received (") and received.gain.amount >= 0.5
    assert all("the event loop had 2 or more tasks" in f.evidence[1] for f in (soon, received))


def test_report_summary_and_table(made, spartito):
    place, summaries = made
    done = run(spartito, "report", "findings", "--json", place / "child")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)["rows"]
    assert [row["share"] for row in rows] == sorted((row["share"] for row in rows), reverse=True)
    first = rows[0]
    assert (first["topic"], first["unit"], first["of"]) == ("child-process", "s", "the run")
    lines = run(spartito, "report", "findings", "child", cwd=place).stdout.splitlines()
    assert lines[0] == f"1. {first['title']}" and f"   try: {first['advice']}" in lines
    (more,) = [line[9:] for line in lines if line.startswith("   more: ")][:1]
    assert more == "spartito report callers --match subprocess:Popen.communicate child"
    assert run(spartito, *more.split()[1:], cwd=place).returncode == 0
    assert f"finding: {first['title']} (a change saves at most " in summaries["child"]
    assert summaries["child"].endswith("next: spartito report findings child\n")
    assert f"finding: {first['title']} (a change saves at most " in Result(place / "child").text()
    table = spartito_load(place / "child")
    assert table["title"] == [row["title"] for row in rows] and table["saved_time"][0] == first["saving"]
    assert run(spartito, "report", "findings", "--limit", "1", place / "child").stdout.count("   try: ") == 1


def test_nothing_to_find(made, spartito, tmp_path):
    (tmp_path / "x.py").write_text("pass\n")
    subprocess.run([*spartito, "run", "-q", "-o", "x", "--", sys.executable, "x.py"], cwd=tmp_path, check=True)
    done = run(spartito, "report", "findings", tmp_path / "x")
    assert done.stdout.startswith("no finding: ")
    assert spartito_load(tmp_path / "x")["title"] == []


def spartito_load(directory):
    return spartito.load(directory).as_dict("findings")
