# SPDX-License-Identifier: BSD-3-Clause
"""Recording waits must not harm a program: waits left by longjmp, threads that are cancelled, allocators with locks, and locks held
during fork."""

import errno
import os
import subprocess
import sys
import textwrap

import pytest
from commandline import run
from conftest import ROOT
from spartito._analyse import Model
from waiting import HELD, Waits, command, measures_itself, recorded, write


def built(directory, name, *options):
    out = directory / f"{name}.so"
    subprocess.run(
        ["cc", "-O2", "-g", "-shared", "-fPIC", "-pthread", *options, ROOT / "tests" / "native" / f"{name}.c", "-o", out],
        check=True,
    )
    return str(out)


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    return built(tmp_path_factory.mktemp("left"), "waits_left")


@pytest.fixture(scope="module")
def contend(tmp_path_factory):
    return built(tmp_path_factory.mktemp("contend"), "waits")


@pytest.fixture(scope="module")
def allocator(tmp_path_factory):
    return built(tmp_path_factory.mktemp("allocator"), "waits_preload", "-fno-builtin")


def test_waits_that_longjmp_leaves(spartito, tmp_path, left):
    """longjmp leaves waits, also of Python functions, and their stack frames are overwritten before the next wait."""
    text = f"""
    import ctypes, signal, time
    c = ctypes.PyDLL({left!r})
    for _ in range(3):
        print(c.left_by_longjmp(4))
        time.sleep(0.01)
    """
    model, out = recorded(spartito, tmp_path, text)
    assert out == "4\n" * 3
    waits = Waits(model)
    # the 12 left waits have no end, but none is reported as still outstanding
    assert not [w for w in waits.found["waits"] if w["open"]]
    short = [w for w in waits.found["waits"] if w["kind"] == "select"]
    assert sum(w["count"] for w in short) == 12
    assert sum(w["count"] for w in waits.found["waits"] if w["kind"] == "sleep") == 3


def test_a_thread_that_is_to_be_cancelled(spartito, tmp_path, left):
    """The thread is cancelled while the recorder opens its file: it must not hold locks of the recorder at that point."""
    text = f"""
    import ctypes, threading
    c = ctypes.CDLL({left!r})
    print(c.cancelled_late())
    threading.Thread(target=print, args=("still here",)).start()
    """
    model, out = recorded(spartito, tmp_path, text)
    assert out == "3000\nstill here\n"
    waits = Waits(model)
    assert sum(w["count"] for w in waits.found["waits"] if w["kind"] == "mutex") == 3000


def with_allocator(spartito, tmp_path, allocator, text):
    done = run(
        spartito, *command(tmp_path, textwrap.dedent(text)), cwd=tmp_path, env={**os.environ, "LD_PRELOAD": allocator}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return Waits(Model(str(tmp_path / "x"))), done.stdout


def test_an_allocator_with_a_lock(spartito, tmp_path, left, allocator):
    """The recorder allocates with its locks held: a wait in the allocator must not call the recorder again."""
    text = f"""
    import ctypes, threading
    c = ctypes.CDLL({left!r})
    def allocate():
        for i in range(20000):
            str(i) * 600
    threads = [threading.Thread(target=allocate) for _ in range(2)]
    threads.append(threading.Thread(target=lambda: print(c.cancelled_late())))
    [t.start() for t in threads]
    [t.join() for t in threads]
    """
    waits, out = with_allocator(spartito, tmp_path, allocator, text)
    assert out == "3000\n"
    mutexes = [lock for lock in waits.locks if lock["kind"] == "mutex"]
    assert len(mutexes) == 3000 and {lock["type"] for lock in mutexes} == {"pthread_mutex_t mutexes in waits_left.so"}


def test_a_lock_that_is_taken_for_fork(spartito, tmp_path, contend, allocator):
    """A fork handler that was registered before the recorder's runs while the recorder holds its locks, and waits for a lock."""
    text = f"""
    import ctypes, os, threading
    c, a = ctypes.CDLL({contend!r}), ctypes.CDLL({allocator!r})
    a.taken_for_fork.restype = ctypes.c_void_p
    c.wait_for.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    c.wait_for(a.taken_for_fork(), 2, 20)
    for _ in range(3):
        pid = os.fork()
        if not pid:
            c.wait_for(a.taken_for_fork(), 1, 20)
            os._exit(0)
        print(os.waitpid(pid, 0)[1])
    """
    waits, out = with_allocator(spartito, tmp_path, allocator, text)
    assert out == "0\n" * 3
    assert sorted(lock["contended"] for lock in waits.locks if lock["kind"] == "mutex") == [1, 1, 1, 2]


def test_a_library_that_names_no_versions(spartito, tmp_path):
    """A library without symbol versions uses the condition variables of before glibc 2.3.2, which have another size."""
    old = built(tmp_path, "waits_old", "-nostdlib")
    text = f"""
    import ctypes
    c = ctypes.CDLL({old!r})
    print([c.wait_for_news() for _ in range(3)])
    """
    model, out = recorded(spartito, tmp_path, text)
    assert out == f"{[errno.ETIMEDOUT] * 3}\n"
    slept = [w for w in Waits(model).found["waits"] if w["kind"] == "sleep"]
    assert sum(w["count"] for w in slept) == 3


def test_a_handler_of_a_crash(spartito, tmp_path, left):
    """The handler waits while its thread holds the lock of malloc()."""
    text = f"""
    import ctypes
    ctypes.CDLL({left!r}).abort_in_malloc()
    """
    done = run(spartito, *command(tmp_path, text), cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    assert "malloc()" in done.stderr
    assert not [w for w in Waits(Model(str(tmp_path / "x"))).found["waits"] if w["kind"] == "select"]


@pytest.mark.parametrize("jumps", [False, True], ids=["alone", "after a longjmp"])
def test_a_handler_in_malloc(spartito, tmp_path, left, jumps):
    """A signal handler waits at call sites without an entry in the recorder's tables, while its thread is in malloc(): the recorder
    must not allocate."""
    text = f"""
    import ctypes
    c = ctypes.CDLL({left!r})
    for i in range(100):
        exec(f"def f{{i}}(): return c.alarm_in_malloc({jumps})")
    print([globals()[f"f{{i}}"]() for i in range(100)] == list(range(1, 101)))
    """
    model, out = recorded(spartito, tmp_path, text)
    assert out == "True\n"
    assert not [w for w in Waits(model).found["waits"] if w["kind"] == "sleep"]
    assert "what handlers of signals may have waited for" in model.info()["processes"][0]["meta"]["missing_handlers"]


def test_children_that_load_a_library(spartito, tmp_path, left, contend):
    """Other threads hold the lock of the dynamic linker's tables at the time of the fork."""
    text = f"""
    import ctypes
    c = ctypes.CDLL({left!r})
    c.workers_begin()
    print(c.children_that_load({contend!r}.encode(), 100))
    c.workers_end()
    """
    _, out = recorded(spartito, tmp_path, text)
    assert out == "0\n"


def test_quick_turns(spartito, tmp_path, left):
    """Measurements begin and end while C threads wait, create mutexes and are registered by the recorder."""
    measures_itself(tmp_path, f"""
    import ctypes, time
    import spartito
    c = ctypes.CDLL({left!r})
    c.workers_begin()
    for i in range(40):
        spartito.start(f"x{{i}}", waits=True, trace=i % 2 == 0)
        time.sleep(0.002 * (i % 3))
        spartito.stop()
        if i % 8 == 7:
            c.workers_end()
            c.workers_begin()
    spartito.start("last", waits=True)
    c.workers_turn()
    spartito.stop()
    c.workers_end()
    """)
    for i in range(40):
        assert Model(str(tmp_path / f"x{i}")).info()["problems"] == []
    assert "mutex" in {w["kind"] for w in Waits(Model(str(tmp_path / "last"))).found["waits"]}


def test_threads_that_end_after_the_measurement(spartito, tmp_path):
    """More threads end than the C library caches stacks: the next start() must not read memory of an ended thread."""
    measures_itself(tmp_path, """
    import threading
    import spartito
    for i in range(3):
        begin, end = threading.Barrier(17), threading.Event()
        def work():
            begin.wait()
            end.wait()
        spartito.start(f"x{i}", waits=True)
        threads = [threading.Thread(target=work) for _ in range(16)]
        [t.start() for t in threads]
        begin.wait()
        spartito.stop()
        end.set()
        [t.join() for t in threads]
    """)
    for i in range(3):
        assert len(Model(str(tmp_path / f"x{i}")).info()["locations"]) == 17


def test_without_the_option_nothing_is_taken(spartito, tmp_path):
    write(tmp_path, HELD.replace("KIND", "Lock"))
    done = run(spartito, "run", "-q", "-o", tmp_path / "x", "--", sys.executable, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    model = Model(str(tmp_path / "x"))
    assert model.locks() == {"locks": [], "waits": [], "deadlocks": [], "awaits": []}
    assert "wait_time" not in [m["name"] for m in model.info()["metrics"]]


def test_types_of_locks_that_are_not_known(tmp_path):
    """Lock types of an unknown layout are not wrapped, and the result reports it."""
    measures_itself(tmp_path, """
    import _thread
    import spartito
    class Larger(_thread.RLock):
        __slots__ = ("more",)
    _thread.RLock = Larger
    spartito.start("x", waits=True)
    with _thread.RLock(), _thread.allocate_lock():
        pass
    spartito.stop()
    """)
    meta = Model(str(tmp_path / "x")).info()["processes"][0]["meta"]
    assert "has them in a way not known" in meta["missing_waits"]


def test_another_wrapper_on_top(tmp_path):
    """Another wrapper above Spartito's is kept when the measurement ends. It is called once for each call during and after it, and
    can be removed."""
    measures_itself(tmp_path, """
    import ctypes, time
    import spartito
    class Definition(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p)]
    class Function(ctypes.Structure):
        _fields_ = [("head", ctypes.c_byte * object.__basicsize__), ("definition", ctypes.POINTER(Definition))]
    sleep = Function.from_address(id(time.sleep)).definition.contents
    TYPE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object)
    plain, calls = sleep.function, []
    spartito.start("first", waits=True)
    below = sleep.function
    assert below != plain
    def wrapper(module, seconds):
        calls.append(seconds)
        return TYPE(below)(module, seconds)
    on_top = TYPE(wrapper)
    sleep.function = ctypes.cast(on_top, ctypes.c_void_p).value
    time.sleep(0.001)
    spartito.stop()
    assert sleep.function == ctypes.cast(on_top, ctypes.c_void_p).value
    time.sleep(0.001)
    spartito.start("second", waits=True)
    time.sleep(0.001)
    sleep.function = below
    time.sleep(0.001)
    spartito.stop()
    assert sleep.function == plain
    spartito.start("third", waits=True)
    time.sleep(0.001)
    spartito.stop()
    assert sleep.function == plain and calls == [0.001] * 3
    """)
    for name, count in ("first", 1), ("second", 2), ("third", 1):
        found = Waits(Model(str(tmp_path / name))).found["waits"]
        assert sum(w["count"] for w in found if w["kind"] == "sleep") == count


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), 9)"], ids=["in order", "killed"])
def test_waits_that_do_not_end_are_in_the_columns(spartito, tmp_path, end):
    text = f"""
    import os, threading, time
    from asleep import until_asleep
    def waiting():
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()  # waits
    t = threading.Thread(target=waiting, daemon=True)
    t.start()
    until_asleep(t)
    time.sleep(1)
    {end}
    """
    model, _ = recorded(spartito, tmp_path, text, status=0 if end == "pass" else -9)
    (row,) = (row for row in model.flat() if row["name"] == "__main__:waiting")
    (wait,) = (w for w in model.locks()["waits"] if w["open"])
    assert row["metrics"]["waits"]["excl"] == 1
    assert row["metrics"]["wait_time"]["excl"] / 1e9 == pytest.approx(wait["time"]) and wait["time"] >= 1
    # the metric's sum equals the sum of all waits
    whole = sum(w["time"] for w in model.locks()["waits"])
    assert sum(row["metrics"]["wait_time"]["excl"] for row in model.flat()) / 1e9 == pytest.approx(whole, rel=0.05)
