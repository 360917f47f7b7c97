# SPDX-License-Identifier: BSD-3-Clause
"""Locks and waits (run --waits): each wait's count, time, object and call path, the lock's holder, and deadlocks."""

import os
import re
import subprocess
import sys

import pytest
from commandline import run
from programs import HOOKS
from spartito._analyse import Model
from waiting import HELD, PROCESSES, Waits, line_of, recorded, write


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_a_lock_that_is_held(spartito, tmp_path, kind, hook):
    text = HELD.replace("KIND", kind)
    model, out = recorded(spartito, tmp_path, text, "--hook", hook)
    waits = Waits(model)
    found = waits.at(line_of(text, "wait"))
    assert sum(w["count"] for w in found) == 3
    took = [float(line) for line in out.split()]
    total = sum(w["time"] for w in found)
    assert 3 * 0.199 < total <= sum(took)  # the holder sleeps that long when the other thread waits
    assert max(w["longest"] for w in found) <= max(took)
    assert {w["kind"] for w in found} == {kind.lower()}
    assert {waits.name(w["holder"]) for w in found} == {"holder"}
    assert {w["holder_stack"][-1] for w in found} == {"__main__:hold"}
    assert {w["stack"][-1] for w in found} == {"__main__:want"}
    lock = waits.lock(found[0])
    assert (os.path.basename(lock["made_file"]), lock["made_line"]) == ("program.py", line_of(text, "made"))
    assert lock["type"] == f"_thread.{kind}" if kind == "RLock" else lock["type"] == "_thread.lock"
    assert lock["contended"] == 3
    assert lock["count"] == 1006
    assert abs(lock["waited"] - total) < 1e-6
    assert lock["held"] >= 0.55


@pytest.mark.parametrize("hook", HOOKS)
def test_the_metric(spartito, tmp_path, hook):
    """Waits are metrics of the call tree, at the functions that waited."""
    model, _ = recorded(spartito, tmp_path, HELD.replace("KIND", "Lock"), "--hook", hook)
    rows = {row["name"]: row["metrics"] for row in model.flat()}
    assert rows["__main__:hold"]["waits"]["excl"] >= 3  # its sleeps, and possibly waits for the GIL
    assert rows["__main__:hold"]["wait_time"]["excl"] >= 3 * 0.19e9
    assert rows["__main__:want"]["waits"]["excl"] >= 3
    assert rows["__main__:want"]["wait_time"]["excl"] > 0
    found = Waits(model).found["waits"]
    assert sum(m["total"] for m in model.info()["metrics"] if m["name"] == "waits") == sum(w["count"] for w in found)


OBJECTS = """
import os, queue, select, subprocess, threading, time, fcntl, socket
from concurrent.futures import ThreadPoolExecutor
from asleep import until_asleep, when_asleep as later

def main():
    condition = threading.Condition()  # condition
    def notify():
        with condition:
            condition.notify()
    with condition:
        later(notify)
        condition.wait()  # condition.wait
    semaphore = threading.Semaphore(0)  # semaphore
    later(semaphore.release)
    semaphore.acquire()  # semaphore.wait
    event = threading.Event()  # event
    later(event.set)
    event.wait()  # event.wait
    q = queue.Queue()  # queue
    later(lambda: q.put(1))
    q.get()  # queue.wait
    simple = queue.SimpleQueue()
    later(lambda: simple.put(1))
    simple.get()  # simple.wait
    simple.put(1)
    simple.get()  # simple.free
    barrier = threading.Barrier(2)  # barrier
    later(barrier.wait)
    barrier.wait()  # barrier.wait
    t = later(lambda: None)
    t.join()  # join.wait
    time.sleep(0.1)  # sleep.wait
    reads, writes = os.pipe()
    later(lambda: os.write(writes, b"x"))
    select.select([reads], [], [])  # select.wait
    select.select([], [], [], 0)  # select.free
    poll = select.poll()
    poll.register(reads, select.POLLIN)
    poll.poll()  # poll.wait
    child = subprocess.Popen(["sleep", "0.1"])
    child.wait()  # child.wait
    one, other = open("locked", "w"), open("locked", "w")
    fcntl.flock(one, fcntl.LOCK_EX)  # flock.free
    later(lambda: fcntl.flock(one, fcntl.LOCK_UN))
    fcntl.flock(other, fcntl.LOCK_EX)  # flock.wait
    a, b = socket.socketpair()
    later(lambda: a.send(b"x"))
    b.recv(1)  # socket.wait
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(until_asleep, threading.main_thread())
        future.result()  # future.wait
    timed = threading.Lock()
    timed.acquire()
    assert not timed.acquire(True, 0.1)  # timed.wait
    assert not timed.acquire(False)  # timed.free
    assert not timed.acquire(timeout=0)  # timed.zero

main()
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_every_kind_of_object(spartito, tmp_path, hook):
    model, _ = recorded(spartito, tmp_path, OBJECTS, "--hook", hook)
    waits = Waits(model)
    kinds = {
        "condition": "threading.Condition",
        "semaphore": "threading.Semaphore",
        "event": "threading.Event",
        "queue": "queue.Queue",
        "barrier": "threading.Barrier",
    }
    for kind, type_name in kinds.items():
        # the notifier may still hold the condition's lock when this thread acquires it again: a separate wait
        (wait,) = [w for w in waits.at(line_of(OBJECTS, f"{kind}.wait"), kind) if w["news"]]
        user = waits.user(wait)
        assert (wait["count"], user["kind"], user["type"]) == (1, kind, type_name)
        assert wait["time"] > 0
        assert user["made_line"] == line_of(OBJECTS, kind)
    for mark, kind, type_name in (
        ("simple", "queue", "_queue.SimpleQueue"),
        ("join", "thread", None),
        ("sleep", "sleep", None),
        ("select", "select", None),
        ("poll", "select", None),
        ("child", "process", "subprocess.Popen"),
        ("flock", "file_lock", str(tmp_path / "locked")),
        ("socket", "socket", "socket.socket"),
        ("future", "future", "concurrent.futures._base.Future"),
        ("timed", "lock", "_thread.lock"),
    ):
        found = waits.at(line_of(OBJECTS, f"{mark}.wait"), kind)
        if mark == "future":  # acquiring the lock of its condition may be a wait, too
            found = [w for w in found if w["news"]]
        assert sum(w["count"] for w in found) == 1, mark
        if mark in ("sleep", "timed"):
            assert found[0]["time"] > 0.09, mark
        if type_name:
            assert waits.user(found[0])["type"] == type_name
    for mark in ("simple.free", "select.free", "timed.free", "timed.zero"):
        assert waits.at(line_of(OBJECTS, mark)) == [], mark
    joined = waits.one(line_of(OBJECTS, "join.wait"), "thread")
    assert waits.name(joined["holder"]).startswith("Thread-")


def test_processes(spartito, tmp_path):
    model, _ = recorded(spartito, tmp_path, PROCESSES)
    waits = Waits(model)
    lock = waits.one(line_of(PROCESSES, "lock.wait"), "process_lock")
    assert lock["count"] == 1
    assert waits.user(lock)["type"] == "multiprocessing.synchronize.Lock"
    # there are two if the thread that sets the result still holds the lock of its condition
    assert sum(w["time"] for w in waits.at(line_of(PROCESSES, "pool.wait"), "future")) > 0
    own = (["__main__:hold"], ["__main__:wanted"])  # a pool may sleep at its end
    slept = [w for w in waits.found["waits"] if w["kind"] == "sleep" and w["stack"][-1:] in own]
    assert len(slept) == 2
    assert {waits.info["processes"][waits.info["locations"][w["location"]]["process"]]["forked"] for w in slept} == {True}


def test_another_thread_releases(spartito, tmp_path):
    text = """
    import threading
    from asleep import when_asleep
    lock = threading.Lock()
    def get():
        lock.acquire()
    t = threading.Thread(target=get, name="taker")
    t.start()
    t.join()
    lock.release()
    with lock:
        pass
    lock.acquire()
    when_asleep(lock.release)
    lock.acquire()  # wait
    print(lock.locked())
    """
    model, out = recorded(spartito, tmp_path, text)
    waits = Waits(model)
    wait = waits.one(line_of(text, "wait"))
    assert (wait["count"], out) == (1, "True\n")
    assert waits.name(wait["holder"]) == "MainThread"
    assert waits.found["deadlocks"] == []


def test_keyboard_interrupt(spartito, tmp_path):
    """Ctrl-C ends a wait as without Spartito. A deadlock cycle that the wait was part of is reported."""
    text = """
    import os, signal, threading
    from asleep import until_asleep
    a, b, held = threading.Lock(), threading.Lock(), threading.Event()
    def other():
        with b:
            held.set()
            a.acquire(timeout=3000)
    def interrupt():
        until_asleep(t, threading.main_thread())
        os.kill(os.getpid(), signal.SIGINT)
    t = threading.Thread(target=other, daemon=True, name="other")
    a.acquire()
    t.start()
    held.wait()
    try:
        threading.Thread(target=interrupt).start()
        b.acquire()  # wait
    except KeyboardInterrupt:
        print("interrupted", a.locked(), b.locked())
    a.release()
    t.join()
    """
    for timeout, expected in (("timeout=3000", 0), ("", 1)):
        (tmp_path / str(expected)).mkdir()
        changed = text.replace("timeout=3000", timeout)
        model, out = recorded(spartito, tmp_path / str(expected), changed)
        assert out == "interrupted True True\n"
        waits = Waits(model)
        assert waits.one(line_of(text, "wait"))["count"] == 1
        assert len(waits.found["deadlocks"]) == expected
    (cycle,) = waits.found["deadlocks"]
    assert cycle["interrupted"]
    assert [waits.name(link["location"]) for link in cycle["links"]] == ["MainThread", "other"]


def test_fork_while_a_lock_is_held(spartito, tmp_path):
    """The child inherits a held lock, whose holder does not exist in the child."""
    text = """
    import os, threading, warnings
    lock = threading.Lock()
    warnings.simplefilter("ignore")
    held, end = threading.Event(), threading.Event()
    def hold():
        with lock:
            held.set()
            end.wait()
    t = threading.Thread(target=hold)
    t.start()
    held.wait()
    mine = threading.Lock()
    mine.acquire()
    if os.fork() == 0:
        print(lock.acquire(True, 0.1), flush=True)  # child
        mine.release()
        with mine:
            pass
        os._exit(0)
    os.wait()
    end.set()
    t.join()
    with lock:
        pass
    mine.release()
    """
    model, out = recorded(spartito, tmp_path, text)
    assert out == "False\n"
    waits = Waits(model)
    wait = waits.one(line_of(text, "child"))
    assert (wait["count"], wait["timed"], wait["holder"]) == (1, True, None)
    assert waits.info["processes"][waits.info["locations"][wait["location"]]["process"]]["forked"]
    assert waits.lock(wait)["gone"]
    assert waits.lock(wait)["made_line"] == 3


@pytest.mark.parametrize(("wait", "status"), [("lock.acquire()", 9), ("lock.acquire(timeout=0.1)", 0)])
def test_the_report_of_a_lock_that_was_inherited(spartito, tmp_path, wait, status):
    text = """
    import os, signal, threading, warnings
    from asleep import until_asleep
    warnings.simplefilter("ignore")
    lock, held, end = threading.Lock(), threading.Event(), threading.Event()
    def hold():
        with lock:
            held.set()
            end.wait()
    threading.Thread(target=hold).start()
    held.wait()
    pid = os.fork()
    if pid == 0:
        WAIT
        os._exit(0)
    if STATUS:
        until_asleep(pid)
        os.kill(pid, STATUS)
    assert os.wait()[1] == STATUS
    end.set()
    """
    recorded(spartito, tmp_path, text.replace("WAIT", wait).replace("STATUS", str(status)))
    shown = run(spartito, "report", "waits", tmp_path / "x").stdout
    assert any("Lock made at" in line and line.endswith("a thread that is not in this process") for line in shown.splitlines())


UNCHANGED = """
import copy, inspect, pickle, queue, select, socket, sys, threading, time, _thread
def call(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except BaseException as e:
        return type(e).__name__, str(e)
lock, rlock = threading.Lock(), threading.RLock()
for one in (lock, rlock):
    print(type(one), type(one).__name__, one.acquire.__doc__, one.__enter__.__doc__, one.acquire.__name__, one.acquire.__qualname__)
    print(repr(one).split(" at ")[0], call(inspect.signature, one.acquire), call(inspect.signature, type(one).acquire))
    print(call(pickle.dumps, one), call(copy.copy, one))
    print(call(one.release), call(one.acquire, 1, 2, 3), call(one.acquire, timeout=-5), call(one.acquire, False, 1))
    print(call(one.acquire, True, "x"), call(one.acquire, blocking=True, nonsense=1))
    print(call(one.acquire, True, 1e300), call(one.acquire, True, float("nan")), call(one.acquire, timeout=2**80))
    print(call(one.acquire, True, 10**400), call(one.acquire, timeout=-(10**400)))
    print(one.acquire(), one.acquire(False), one.acquire(blocking=0), repr(one).split(" at ")[0])
    print(call(type(one).acquire), call(type(one).acquire, 1), one.release(), call(type(one).release, one))
    with one as entered:
        print(entered)
    print(one.__enter__(), one.__exit__(None, None, None), one.acquire(timeout=0.5), one.release())
    print(call(one.acquire, True, -1), call(one.__exit__), call(one.release))
class Mine(type(rlock)):
    pass
print(Mine().acquire(), Mine.acquire is type(rlock).acquire, call(time.sleep, -1), call(time.sleep, "x"), call(select.select, 1))
print(time.sleep.__module__, time.sleep.__text_signature__, time.sleep, call(queue.SimpleQueue().get, False))
print(call(queue.SimpleQueue().get, True, 0.01), call(queue.Queue().get, timeout=0.01), call(threading.Thread().join))
for _ in range(300):
    with lock, rlock:
        pass
class Asked:
    def __bool__(self):
        print("asked")
        return False
class Queue(queue.SimpleQueue):
    def empty(self):
        print("asked")
class Socket(socket.socket):
    def gettimeout(self):
        print("asked")
one, other = socket.socketpair()
other.send(b"x")
print(call(Queue().get, Asked()), call(queue.SimpleQueue().get, Asked()), Socket(fileno=one.detach()).recv(1))
condition = threading.Condition()
with condition, condition:
    print(condition.wait(0.01), condition._is_owned(), repr(condition).split(",")[0].split(" at ")[0])
print(condition._is_owned(), sys.getrefcount(lock) < 6)
"""


def addressless(text):
    return re.sub("0x[0-9a-f]+|owner=[0-9]+", "ADDRESS", text)


@pytest.mark.parametrize("hook", HOOKS)
def test_the_program_sees_no_difference(spartito, tmp_path, hook):
    (tmp_path / "program.py").write_text(UNCHANGED)
    command = [sys.executable, "program.py"]
    if hook == "setprofile":
        # in Python 3.12, any profile function changes the text of an error: a method called without its object
        command = [*spartito, "run", "-q", "--hook", hook, "-o", "without", "--", *command]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert plain.returncode == 0, plain.stderr
    _, out = recorded(spartito, tmp_path, UNCHANGED, "--hook", hook)
    assert addressless(out) == addressless(plain.stdout)


def test_many_threads_count_right(spartito, tmp_path):
    """Acquisitions are counted exactly, whichever thread had to wait."""
    text = """
    import threading, sys
    sys.setswitchinterval(1e-5)
    lock, rlock, condition = threading.Lock(), threading.RLock(), threading.Condition()
    total = 0
    def work():
        global total
        for i in range(2000):
            with lock:
                total += 1
            with rlock, rlock:
                pass
            with condition:
                condition.notify_all()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(total)
    """
    model, out = recorded(spartito, tmp_path, text)
    assert out == "16000\n"
    waits = Waits(model)
    locks = {lock["made_line"]: lock for lock in waits.locks if lock["kind"] in ("lock", "rlock") and lock["made_line"] == 4}
    for lock in locks.values():
        assert lock["count"] == 16000
        assert lock["holder"] is None
        assert lock["contended"] == sum(w["count"] for w in waits.found["waits"] if w["lock"] == waits.locks.index(lock))


def test_what_does_not_wait(spartito, tmp_path):
    """waitid() and waitpid() with WNOHANG or for an ended process do not block: no wait is recorded."""
    text = """
    import os
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)  # waitid
    os.waitpid(pid, os.WNOHANG)  # waitpid
    """
    model, _ = recorded(spartito, tmp_path, text)
    assert [w["kind"] for w in Waits(model).found["waits"] if w["file"]] == ["process"]
    assert not Waits(model).at(line_of(text, "waitid")) and not Waits(model).at(line_of(text, "waitpid"))


def test_arguments_by_name(spartito, tmp_path):
    text = """
    import _queue, multiprocessing, select, threading
    from asleep import when_asleep
    semaphore = multiprocessing.Semaphore(0)
    assert not semaphore.acquire(block=False)  # no semaphore
    assert not semaphore.acquire(block=True, timeout=0.01)  # semaphore
    simple = _queue.SimpleQueue()
    try:
        simple.get(block=False)  # no queue
    except _queue.Empty:
        pass
    select.epoll().poll(timeout=0)  # no epoll
    select.epoll().poll(timeout=0.01)  # epoll
    lock = threading.Lock()
    lock.acquire()
    when_asleep(lock.release)
    lock.acquire(timeout=2e9)  # long
    """
    model, _ = recorded(spartito, tmp_path, text)
    waits = Waits(model)
    for mark in ("no semaphore", "no queue", "no epoll"):
        assert waits.at(line_of(text, mark)) == [], mark
    for mark in ("semaphore", "epoll", "long"):
        assert waits.one(line_of(text, mark))["count"] == 1, mark
    assert waits.one(line_of(text, "long"))["timed"]


def test_signals_while_a_lock_is_waited_for(spartito, tmp_path):
    """A signal handler runs during a wait, which then continues for the rest of its timeout. An exception of the handler ends the
    wait."""
    text = """
    import signal, threading, time
    from asleep import when_asleep
    lock, rlock, seen = threading.Lock(), threading.RLock(), []
    lock.acquire()
    t = threading.Thread(target=rlock.acquire)
    t.start()
    t.join()
    signal.signal(signal.SIGALRM, lambda *a: seen.append(1))
    for one in lock, rlock:
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        got = one.acquire(True, 0.2)  # timed
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(got, time.monotonic() - begin >= 0.2, len(seen) > 0)
    def stop(*_):
        raise ValueError("over")
    signal.signal(signal.SIGALRM, stop)
    for one in lock, rlock:
        try:
            when_asleep(signal.pthread_kill, threading.get_ident(), signal.SIGALRM)
            one.acquire()  # ended
        except ValueError as e:
            print(e, lock.locked())
    """
    model, out = recorded(spartito, tmp_path, text)
    assert out == "False True True\n" * 2 + "over True\n" * 2
    for mark in ("timed", "ended"):
        found = Waits(model).at(line_of(text, mark))
        assert sorted((w["kind"], w["count"]) for w in found) == [("lock", 1), ("rlock", 1)], mark


def test_a_queue_in_the_middle_of_itself(spartito, tmp_path):
    """A signal handler puts into the queue whose put() it interrupted: the thread waits for its own lock, not for an item."""
    text = """
    import os, queue
    from asleep import when_asleep
    q = queue.Queue()
    when_asleep(os._exit, 3)
    with q.mutex:
        q.put(1)  # put
    """
    model, _ = recorded(spartito, tmp_path, text, status=3)
    waits = Waits(model)
    assert not waits.one(line_of(text, "put"))["news"]
    ((link,),) = [c["links"] for c in waits.found["deadlocks"]]
    assert link["location"] == waits.one(line_of(text, "put"))["holder"]


def test_more_places_than_are_kept(spartito, tmp_path):
    text = """
    from time import sleep
    for i in range(405):
        exec(f"def f{i}():" + " sleep(0);" * 500)
    for i in range(405):
        globals()[f"f{i}"]()
    """
    model, _ = recorded(spartito, tmp_path, text)
    assert "too many places" in model.info()["processes"][0]["meta"]["missing_places"]
    assert 190000 < len(model.locks()["waits"]) <= 200000


def test_join_with_a_timeout_is_no_deadlock(spartito, tmp_path):
    text = """
    import os, threading
    from asleep import until_asleep, when_asleep
    lock = threading.Lock()
    def want():
        with lock:
            pass
    with lock:
        t = threading.Thread(target=want)
        t.start()
        until_asleep(t)
        when_asleep(os._exit, 3)
        t.join(6000)  # join
    """
    model, _ = recorded(spartito, tmp_path, text, status=3)
    waits = Waits(model)
    assert waits.one(line_of(text, "join"))["timed"]
    assert waits.found["deadlocks"] == []


def test_where_functions_are_not_recorded(spartito, tmp_path):
    """Without recorded calls, the call path of a wait is read from the frames."""
    text = """
    import time
    def f():
        time.sleep(0.05)  # wait
    f()
    """
    model, _ = recorded(spartito, tmp_path, text, "--lines", "f", "--lines-only")
    wait = Waits(model).one(line_of(text, "wait"))
    assert (wait["count"], wait["stack"]) == (1, ["__main__:<module>", "__main__:f"])
    assert wait["time"] > 0.045


def test_start_and_stop(spartito, tmp_path):
    """A program that starts and stops the measurement itself: replaced functions are restored."""
    text = """
    import sys, threading
    import spartito
    from asleep import when_asleep
    lock = threading.Lock()
    lock.acquire()
    def waits():
        when_asleep(lock.release)
        lock.acquire()
    for i in range(3):
        waits()
        spartito.start(sys.argv[1] + str(i), waits=True)
        waits()
        spartito.stop()
        waits()
    """
    write(tmp_path, text)
    done = subprocess.run([sys.executable, "program.py", str(tmp_path / "x")], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for i in range(3):
        waits = Waits(Model(str(tmp_path / f"x{i}")))
        (wait,) = [w for w in waits.found["waits"] if w["kind"] == "lock"]
        assert wait["count"] == 1
        assert wait["time"] > 0
