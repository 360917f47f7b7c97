# SPDX-License-Identifier: BSD-3-Clause
"""Waits in the C library (run --waits): mutexes, condition variables and others in compiled code, sleeps and descriptors, in Python
threads and in threads that never run Python. The waits of tests/native/waits.c are known exactly."""

import ctypes
import os
import subprocess
import sys
import textwrap

import pytest
from commandline import run
from programs import HOOKS
from spartito._analyse import Model
from waiting import Waits, compiled, line_of, measures_itself, recorded, write

BEGIN = """
import ctypes, os, sys, threading, time
from asleep import until_asleep
c = ctypes.CDLL({library!r})
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("waits"))


def program(library, text):
    return BEGIN.format(library=library) + textwrap.dedent(text)


def kinds_at(waits, line):
    found = {}
    for w in waits.at(line):
        found[w["kind"]] = found.get(w["kind"], 0) + w["count"]
    return found


@pytest.mark.parametrize("hook", HOOKS)
def test_a_mutex_that_is_held(spartito, tmp_path, library, hook):
    text = program(library, """
    def want():
        return c.wait_for_global(5, 40)  # wait
    print(want())
    """)
    model, out = recorded(spartito, tmp_path, text, "--hook", hook)
    waits = Waits(model)
    found = waits.at(line_of(text, "wait"), "mutex")
    assert sum(w["count"] for w in found) == 5
    # each holder keeps the mutex for 40 ms from the time when want() sleeps; the program measures a longer interval
    took = int(out) * 1e-6
    assert 5 * 0.04 * 0.99 < sum(w["time"] for w in found) < took * 1.001
    assert {w["stack"][-1] for w in found} == {"__main__:want"}
    assert {os.path.basename(w["file"]) for w in found} == {"program.py"}
    (lock,) = {w["lock"] for w in found}
    lock = waits.locks[lock]
    assert (lock["kind"], lock["type"], lock["contended"]) == ("mutex", "pthread_mutex_t global_lock in contend.so", 5)
    # each time another thread held it, and slept meanwhile
    holders = {w["holder"] for w in found}
    assert len(holders) >= 4 and 0 not in holders
    slept = [w for w in waits.found["waits"] if w["kind"] == "sleep"]
    assert sum(w["count"] for w in slept) == 5
    assert all(w["time"] > 0.0399 * w["count"] for w in slept)
    assert {w["location"] for w in slept} >= {h for h in holders if h is not None}
    assert {w["file"] for w in slept} == {next(w["file"] for w in slept)} and "contend.so" in slept[0]["file"]


def test_where_a_mutex_was_made(spartito, tmp_path, library):
    text = program(library, """
    def want():
        return c.wait_for_made(3, 30)  # wait
    want()
    want()
    """)
    model, _ = recorded(spartito, tmp_path, text)
    waits = Waits(model)
    locks = [lock for lock in waits.locks if lock["kind"] == "mutex"]
    assert [(lock["contended"], lock["freed"], lock["made_line"]) for lock in locks] == [(3, True, line_of(text, "wait"))] * 2
    assert {(lock["type"], waits.name(lock["made_by"])) for lock in locks} == {("pthread_mutex_t", "MainThread")}


# Function, kind of its waits, their count, and how many last at least 100 ms. Those with an absolute deadline may be shorter.
EACH = (
    ("cond_wait", "cond", 1, 1),
    ("cond_timedwait", "cond", 1, 0),
    ("semaphore_wait", "sem", 2, 1),
    ("rwlock_wait", "rwlock", 1, 1),
    ("barrier_wait", "pthread_barrier", 1, 1),
    ("join", "thread", 1, 1),
    ("sleep_of_each_kind", "sleep", 3, 3),
    ("descriptors", "select", 3, 3),
)


def test_every_kind(spartito, tmp_path, library):
    calls = "\n".join(f"assert c.{name}(100) == 0  # {name}" for name, *_ in EACH)
    text = program(library, f"{calls}\nassert c.file_locks(b'locked') == 0  # file_locks\n")
    model, _ = recorded(spartito, tmp_path, text)
    waits = Waits(model)
    for name, kind, count, long in EACH:
        found = kinds_at(waits, line_of(text, name))
        for other in ("thread", "sem", "mutex"):  # waits for the end of helper threads, which may have ended before
            if other != kind:
                found.pop(other, None)
        assert found == {kind: count}, name
        assert sum(w["time"] for w in waits.at(line_of(text, name), kind)) > 0.099 * long, name
    locked = waits.at(line_of(text, "file_locks"), "file_lock")
    assert sum(w["count"] for w in locked) == 3
    assert {waits.lock(w)["type"] for w in locked} == {str(tmp_path / "locked")}
    (joined,) = waits.at(line_of(text, "join"), "thread")
    assert joined["holder"] is None or joined["holder"] != 0


def test_nothing_is_different(spartito, tmp_path, library):
    text = program(library, "print(c.semantics())")
    assert ctypes.CDLL(library).semantics() == 0
    _, out = recorded(spartito, tmp_path, text)
    assert out == "0\n"


def test_what_python_waits_for_is_counted_once(spartito, tmp_path):
    """The interpreter and its modules use the same C library functions for the GIL and for locks: each wait is counted once."""
    text = """
    import fcntl, multiprocessing, queue, select, socket, subprocess, sys, threading, time
    sys.setswitchinterval(1e-4)
    lock = threading.Lock()
    def work():
        for _ in range(300):
            with lock:
                sum(range(200))
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    time.sleep(0.01)
    select.select([], [], [], 0.01)
    select.poll().poll(10)
    semaphore = multiprocessing.Semaphore(0)
    semaphore.acquire(timeout=0.01)
    a, b = socket.socketpair()
    a.settimeout(0.01)
    try:
        a.recv(1)
    except TimeoutError:
        pass
    except socket.timeout:
        pass
    f = open("locked", "w")
    fcntl.flock(f, fcntl.LOCK_EX)
    fcntl.lockf(f, fcntl.LOCK_EX)
    subprocess.run(["true"])
    """
    model, _ = recorded(spartito, tmp_path, text)
    waits = Waits(model)
    found = {}
    for w in waits.found["waits"]:
        found[w["kind"]] = found.get(w["kind"], 0) + w["count"]
    assert not {"mutex", "cond", "sem", "rwlock"} & set(found), found
    assert (found["sleep"], found["process_lock"], found["file_lock"], found["socket"]) == (1, 1, 2, 1)
    assert found["select"] == 2


@pytest.mark.parametrize("n", [2, 8])
def test_threads_that_never_see_python(spartito, tmp_path, library, n):
    text = program(library, f"""
    print(c.threads({n}, 2000))  # run
    """)
    model, out = recorded(spartito, tmp_path, text)
    assert int(out) == n * 2000
    waits = Waits(model)
    (lock,) = [i for i, lock in enumerate(waits.locks) if lock["kind"] == "mutex"]
    found = [w for w in waits.found["waits"] if w["lock"] == lock]
    assert sum(w["count"] for w in found) == waits.locks[lock]["contended"] > 0
    assert {w["stack"][-1] if w["stack"] else "" for w in found} == {""}
    assert all("work in contend.so" in w["file"] or "contend.so+" in w["file"] for w in found)
    assert waits.locks[lock]["holder"] is None
    assert waits.locks[lock]["count"] <= n * 2000
    assert sum(w["count"] for w in waits.found["waits"] if w["kind"] == "sleep") == n * 20
    # holders are some of these threads
    holders = {w["holder"] for w in found if w["holder"] is not None}
    assert holders and 0 not in holders


def test_threads_that_begin_while_others_wait(spartito, tmp_path, library):
    """A waiter may need its holder's name while the recorder is only registering this thread."""
    text = program(library, """
    for _ in range(150):
        c.wait_for_made(2, 0)
    """)
    for i in range(3):
        (tmp_path / str(i)).mkdir()
        model, _ = recorded(spartito, tmp_path / str(i), text)
        waits = Waits(model)
        locks = [lock for lock in waits.locks if lock["kind"] == "mutex"]
        found = [w for w in waits.found["waits"] if w["kind"] == "mutex"]
        assert sum(w["count"] for w in found) == sum(lock["contended"] for lock in locks) > 0


def test_a_deadlock(spartito, tmp_path, library):
    """Mutexes of C that two threads lock in different order, and a cycle with a Python lock in it."""
    text = program(library, """
    c.mutex_new.restype = ctypes.c_void_p
    c.mutex_lock.argtypes = [ctypes.c_void_p]
    a, b = c.mutex_new(), c.mutex_new()
    lock, ready = threading.Lock(), threading.Barrier(4)
    def one():
        c.mutex_lock(a)
        ready.wait()
        c.mutex_lock(b)  # one
    def two():
        c.mutex_lock(b)
        ready.wait()
        lock.acquire()  # two
    def three():
        lock.acquire()
        ready.wait()
        c.mutex_lock(a)  # three
    threads = [threading.Thread(target=f, name=f.__name__, daemon=True) for f in (one, two, three)]
    [t.start() for t in threads]
    ready.wait()
    until_asleep(*threads)
    os._exit(3)
    """)
    model, _ = recorded(spartito, tmp_path, text, status=3)
    waits = Waits(model)
    (cycle,) = waits.found["deadlocks"]
    assert {waits.name(link["location"]) for link in cycle["links"]} == {"one", "two", "three"}
    assert {waits.locks[link["lock"]]["kind"] for link in cycle["links"]} == {"mutex", "lock"}
    for mark in ("one", "two", "three"):
        (wait,) = waits.at(line_of(text, mark))
        assert wait["open"] and wait["holder"] is not None
    shown = run(spartito, "report", "waits", tmp_path / "x").stdout
    assert "deadlock at the end: 3 threads wait for each other" in shown


def test_fork(spartito, tmp_path, library):
    """A forked child has separate waits, and those that it inherited."""
    text = program(library, """
    c.wait_for_global(2, 20)
    if os.fork() == 0:
        c.wait_for_global(3, 20)  # child
        os._exit(0)
    os.wait()
    c.wait_for_global(1, 20)
    """)
    model, _ = recorded(spartito, tmp_path, text)
    waits = Waits(model)
    counts = sorted(lock["contended"] for lock in waits.locks if lock["kind"] == "mutex")
    assert counts == [3, 3]
    (child,) = {w["location"] for w in waits.at(line_of(text, "child"), "mutex")}
    assert waits.info["processes"][waits.info["locations"][child]["process"]]["forked"]


def test_where_functions_are_not_recorded(spartito, tmp_path, library):
    text = program(library, """
    def f():
        c.wait_for_global(2, 30)  # wait
    f()
    """)
    model, _ = recorded(spartito, tmp_path, text, "--lines", "f", "--lines-only")
    found = Waits(model).at(line_of(text, "wait"), "mutex")
    assert sum(w["count"] for w in found) == 2
    assert {tuple(w["stack"]) for w in found} == {("__main__:<module>", "__main__:f")}


def test_numpy(spartito, tmp_path):
    """The worker threads of BLAS wait for work."""
    pytest.importorskip("numpy")
    text = """
    import os
    os.environ["OPENBLAS_NUM_THREADS"] = "2"
    import numpy, time
    a = numpy.ones((300, 300))
    time.sleep(0.5)
    print(float((a @ a).sum()))
    """
    model, out = recorded(spartito, tmp_path, text)
    assert float(out) == 300.0**3
    assert model.info()["processes"][0]["meta"].get("missing_clib") is None


def test_without_the_library(spartito, tmp_path, library):
    """A program starts the measurement itself without the preloaded library: a message reports which waits are missing."""
    text = program(library, """
    import spartito
    spartito.start("x", waits=True)
    c.wait_for_global(1, 20)
    time.sleep(0.01)
    spartito.stop()
    """)
    write(tmp_path, text)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    model = Model(str(tmp_path / "x"))
    assert "LD_PRELOAD" in model.info()["processes"][0]["meta"]["missing_clib"]
    assert {w["kind"] for w in model.locks()["waits"]} == {"sleep"}


def test_start_and_stop(spartito, tmp_path, library):
    measures_itself(tmp_path, program(library, """
    import spartito
    for i in range(3):
        c.wait_for_global(1, 20)
        spartito.start("x%d" % i, waits=True)
        c.wait_for_global(2, 20)
        spartito.stop()
    """))
    for i in range(3):
        found = Model(str(tmp_path / f"x{i}")).locks()["waits"]
        assert sum(w["count"] for w in found if w["kind"] == "mutex") == 2


def test_a_library_that_locks_before_a_fork(spartito, tmp_path, library):
    """The library's fork handlers run after the recorder's, and lock a mutex for which a thread has waited."""
    text = program(library, """
    import spartito
    assert c.prepare_for_forks() == 0
    spartito.start("x", waits=True)
    c.wait_for_global(2, 20)
    for _ in range(3):
        if os.fork() == 0:
            c.wait_for_global(1, 20)
            os._exit(0)
        os.wait()
    c.wait_for_global(1, 20)
    spartito.stop()
    """)
    measures_itself(tmp_path, text)
    locks = Model(str(tmp_path / "x")).locks()["locks"]
    assert sorted(lock["contended"] for lock in locks if lock["kind"] == "mutex") == [1, 1, 1, 3]
