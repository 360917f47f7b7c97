# SPDX-License-Identifier: BSD-3-Clause
"""Locks and waits in the report and in `spartito doctor PID`: deadlocks of a hung program, and merged experiments."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from commandline import run
from spartito._analyse import Model
from spartito.experiments import waiting
from spartito.report import locktable
from waiting import HELD, PROCESSES, Waits, command, line_of, recorded

CYCLE = """
import os, threading
from asleep import until_asleep
locks = [threading.Lock() for _ in range(N)]
ready = threading.Barrier(N + 1)
def work(i):
    with locks[i]:
        ready.wait()
        with locks[(i + 1) % N]:  # wait
            pass
threads = [threading.Thread(target=work, args=(i,), name=f"number {i}") for i in range(N)]
for t in threads:
    t.start()
ready.wait()
until_asleep(*threads)
print(os.getpid(), flush=True)
"""


def check_cycle(waits, n, text):
    (cycle,) = waits.found["deadlocks"]
    assert not cycle["interrupted"]
    names = [waits.name(link["location"]) for link in cycle["links"]]
    assert sorted(names) == [f"number {i}" for i in range(n)]
    for i, link in enumerate(cycle["links"]):
        held = waits.locks[link["lock"]]
        assert waits.name(held["holder"]) == names[(i + 1) % n]
        assert held["holder_stack"][-1] == "__main__:work"
    still = [w for w in waits.at(line_of(text, "wait")) if w["open"]]
    assert len(still) == n


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_deadlock(spartito, tmp_path, n, number):
    """A deadlock is shown by `spartito doctor` while the program hangs, and by the report after the program was killed."""
    text = f"N = {n}" + CYCLE
    words = [str(w) for w in command(tmp_path, text)]
    words.remove("-q")
    hung = subprocess.Popen([*spartito, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        pid = int(hung.stdout.readline())
        seen = run(spartito, "doctor", str(pid))
        assert (seen.returncode, seen.stderr) == (0, "")
        assert f"deadlock now: {n} threads wait for each other\n" in seen.stdout
        for i in range(n):
            line = next(line for line in seen.stdout.split("\n") if line.startswith(f"number {i} ("))
            assert f"program.py:{line_of(text, 'wait')} in " in line
            assert f"held by number {(i + 1) % n} since " in line
        os.kill(pid, number)
        _, err = hung.communicate(timeout=200)
    finally:
        hung.kill()
        hung.wait()
    assert f"deadlock at the end: {n} threads wait for each other\n" in err
    waits = Waits(Model(str(tmp_path / "x")))
    check_cycle(waits, n, text)
    report = run(spartito, "report", "waits", tmp_path / "x")
    assert (report.returncode, report.stdout.split("\n")[0]) == (0, f"deadlock at the end: {n} threads wait for each other")


def test_report(spartito, tmp_path):
    text = HELD.replace("KIND", "Lock")
    recorded(spartito, tmp_path, text)
    shown = run(spartito, "report", "waits", tmp_path / "x", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    row = next(line for line in shown.stdout.split("\n") if f"Lock made at program.py:{line_of(text, 'made')}" in line)
    assert row.split()[2] == "3"
    assert row.endswith("3 threads in __main__:hold")
    known = json.loads(run(spartito, "report", "waits", "--json", tmp_path / "x").stdout)
    assert (known["report"], known["deadlocks"]) == ("waits", [])
    assert {"lock", "sleep"} <= {w["kind"] for w in known["waits"]}


def test_merged(spartito, tmp_path):
    """A merged experiment has the same waits."""
    model, _ = recorded(spartito, tmp_path, PROCESSES)
    before = model.locks()
    done = run(spartito, "finalize", "--force", "-q", tmp_path / "x")
    assert (done.returncode, done.stderr) == (0, "")
    after = Model(str(tmp_path / "x")).locks()
    assert json.dumps(after, sort_keys=True) == json.dumps(before, sort_keys=True)


def test_doctor_says_what_it_cannot_know(spartito, tmp_path):
    # not this process: another test may have measured it
    with subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=-1, stdout=-1) as plain:
        plain.stdout.readline()
        own = run(spartito, "doctor", str(plain.pid))
        plain.communicate(b"\n")
    assert own.returncode == 0
    assert "is not measured" in own.stdout
    for words, why in (("abc", "is no process id"), ("999999999", "there is no process")):
        done = run(spartito, "doctor", words)
        assert done.returncode != 0
        assert why in done.stderr
        assert done.stderr.count("\n") == 1


PARTS = """
import queue, threading
from asleep import until_asleep
full = queue.Queue(1)  # made
def work():
    until_asleep(threading.main_thread())
    full.put(1)
    full.put(2)
    full.put(3)
    until_asleep(threading.main_thread())
t = threading.Thread(target=work)
t.start()
full.get()
until_asleep(t)
full.get()
full.get()
t.join()
"""


def test_an_object_and_its_locks_are_one_row(spartito, tmp_path):
    """Waits for an empty and for a full queue are in one row, as are waits for a thread's begin and for its end."""
    recorded(spartito, tmp_path, PARTS)
    done = run(spartito, "report", "waits", "--limit", "0", tmp_path / "x", cwd=tmp_path)
    rows = done.stdout.split("\n\n")[0].split("\n")[1:]
    assert sum(f"Queue made at program.py:{line_of(PARTS, 'made')}" in row for row in rows) == 1
    assert sum("Thread made at " in row for row in rows) == 1


MADE = """
import asyncio, multiprocessing, os, threading, time
from concurrent.futures import ThreadPoolExecutor
from asleep import until_asleep, when_asleep
def hold(lock, ready):
    with lock:
        ready.send(1)
        until_asleep(os.getppid())
async def handing():
    await asyncio.to_thread(time.sleep, 0.1)  # thread of asyncio
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    lock = context.Lock()  # lock
    queue = context.Queue()  # queue
    when_asleep(queue.put, 1)
    queue.get()
    mine, theirs = context.Pipe()
    p = context.Process(target=hold, args=(lock, theirs), name="holder")
    p.start()
    mine.recv()
    with lock:
        pass
    p.join()
    print(p.pid)
    with ThreadPoolExecutor(2) as pool:  # pool
        pool.submit(until_asleep, threading.main_thread())
        pool.submit(int)  # whose thread has nothing to do then
    asyncio.run(handing())
    threading.Thread(target=until_asleep, args=(threading.main_thread(),), name="late").start()
"""


def test_where_the_library_made_what_it_waits_for(spartito, tmp_path):
    """Objects that the standard library creates for the program are named after the program's line, and processes by name and
    pid."""
    _, out = recorded(spartito, tmp_path, MADE)
    done = run(spartito, "report", "waits", "--limit", "0", tmp_path / "x", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    objects = done.stdout.split("\n\n")[0]
    for what, mark in (("synchronize.Lock", "lock"), ("queues.Queue", "queue")):
        assert f"multiprocessing.{what} made at program.py:{line_of(MADE, mark)}" in objects
    assert f"context.ForkProcess holder (pid {out.strip()})" in objects
    assert "threading.py:" not in objects
    if sys.version_info < (3, 13):  # later versions wait for it in C, without a Python lock
        assert "the end of late" in objects
    assert not re.search(r"(Lock|Queue|Process|Executor) 0x", objects)
    executors = set(re.findall(r"ThreadPoolExecutor made at (\S+)", objects))
    assert executors - {f"program.py:{line_of(MADE, 'thread of asyncio')}"} == {f"program.py:{line_of(MADE, 'pool')}"}


POOL = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
def many():
    for _ in range(9):
        threading.Event().wait(0.001)  # made here
def sleeps():
    for _ in range(4): time.sleep(0.2)
with ThreadPoolExecutor(2) as pool:  # pool
    for n in (1, 2): pool.submit(until_asleep, threading.main_thread())  # each of both threads begins
    many()
    sleeps()
"""


def test_a_pool_waits_for_work(spartito, tmp_path):
    """Idle workers wait for their executor, and do not count in the summary. Many alike objects are one row. Functions that are not
    in the list of kinds wait for what was recorded."""
    text = "from asleep import until_asleep" + POOL
    recorded(spartito, tmp_path, text)
    done = run(spartito, "report", "waits", "--limit", "0", tmp_path / "x", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    objects, places, *_ = done.stdout.split("\n\n")
    assert f"Event made at program.py:{line_of(text, 'made here')} (9 objects)" in objects and " #9" not in objects
    idle = [line for line in places.splitlines() if line.endswith("concurrent.futures.thread:_worker") and " GIL " not in line]
    made = f"ThreadPoolExecutor made at program.py:{line_of(text, 'pool')}"
    assert idle and all(made in line and "concurrent/futures/thread.py:" in line for line in idle)

    model = Model(str(tmp_path / "x"))
    found = {(row["name"], row["kind"]): row["waiting"] for row in waiting.rows(model)}
    locks = model.locks()
    slept = sum(w["time"] for w in locks["waits"] if w["kind"] == "sleep" and w["stack"][-1] == "__main__:sleeps")
    assert slept >= 0.8 and found["__main__:sleeps", "sleep"] == pytest.approx(slept, rel=0.05)
    assert locktable.longest(locks, model.info()).startswith("threads waited ")
    idle = [w["stack"] for w in locks["waits"] if locktable._is_idle(w) and w["kind"] != "sleep"]
    assert any(stack[-1] == "concurrent.futures.thread:_worker" for stack in idle)
    assert not any(function.startswith("__main__:") for stack in idle for function in stack)


RUNS = """
import queue, threading
from asleep import until_asleep, when_asleep
from concurrent.futures import ThreadPoolExecutor
q = queue.Queue()  # queue
lock = threading.Lock()  # lock
with ThreadPoolExecutor(1) as pool:
    with lock:
        got = pool.submit(lock.acquire)
        until_asleep(*pool._threads)
    got.result()
    lock.release()
    when_asleep(q.put, 1)
    pool.submit(q.get).result()
"""


def test_what_a_worker_runs_waits_for_its_own_object(spartito, tmp_path):
    """A wait of a work item is for the program's object, not for the executor, and does not count as that of an idle thread."""
    recorded(spartito, tmp_path, RUNS)
    model = Model(str(tmp_path / "x"))
    found, names = model.locks(), locktable.Names(model.locks(), model.info())
    waits = [w for w in found["waits"] if "concurrent.futures.thread:_WorkItem.run" in w["stack"] and w["kind"] != "gil"]
    titles = {names.of_lock(w["lock"], w["kind"]): w["kind"] for w in waits}
    for title, kind in (("Lock", "lock"), ("queue.Queue", "queue")):
        mark = title.rpartition(".")[2].lower()
        assert titles[f"{title} made at {tmp_path / 'program.py'}:{line_of(RUNS, mark)}"] == kind, titles
    assert not any(locktable._is_idle(w) for w in waits)


def test_files_of_libraries_are_shown_by_their_tails():
    for path, shown in (
        ("/usr/lib/python3.11/asyncio/base_events.py", "asyncio/base_events.py:829"),
        ("/opt/x/lib64/python3.13t/site-packages/numpy/core/a.py", "numpy/core/a.py:829"),
        ("/usr/lib/python3/dist-packages/yaml/a.py", "yaml/a.py:829"),
        ("/elsewhere/lib/python/a.py", "/elsewhere/lib/python/a.py:829"),
    ):
        assert locktable.made({"made_file": path, "made_line": 829}) == shown


def test_threads_of_c_are_called_in_the_same_words():
    """Names of C threads: the thread id if it is known; otherwise a number, not an address."""
    known = {"process": 0, "kind": "thread", "type": "pthread_t", "user": None, "made_file": None, "made_line": 0}
    locks = [{**known, "holder": h, "holder_stack": [], "address": 0x7F00 + i} for i, h in enumerate((0, None, None))]
    info = {"locations": [{"name": "", "tid": 7, "process": 0}], "processes": [{"pid": 1}]}
    names = locktable.Names({"locks": locks, "waits": []}, info)
    assert names.titles == ["the end of thread 7", "the end of a thread of C #1", "the end of a thread of C #2"]


def test_a_method_that_a_thread_runs(spartito, tmp_path):
    """All open frames belong to threading: the thread waits for the object, not for itself."""
    model, _ = recorded(spartito, tmp_path, """
        import threading, queue
        from asleep import until_asleep
        event, q, semaphore = threading.Event(), queue.Queue(), threading.Semaphore(0)  # made
        threads = [threading.Thread(target=f, name="it") for f in (event.wait, q.get, semaphore.acquire)]
        for t in threads:
            t.start()
        until_asleep(*threads)
        event.set()
        q.put(1)
        semaphore.release()
        for t in threads:
            t.join()
        """)
    found, info = model.locks(), model.info()
    names = [location["name"] for location in info["locations"]]
    waits = [w for w in found["waits"] if names[w["location"]] == "it" and w["news"] and w["kind"] != "gil"]
    users = [found["locks"][found["locks"][w["lock"]]["user"] or w["lock"]] for w in waits]
    assert sorted(user["kind"] for user in users) == ["event", "queue", "semaphore"]
    assert {user["made_line"] for user in users} == {4}
