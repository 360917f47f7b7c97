# SPDX-License-Identifier: BSD-3-Clause
"""Stopping a thread does not affect the system call it is in, and sampling does not affect the sampling process."""

import contextlib
import gc
import os
import signal
import subprocess
import sys

import pytest
from spartito import _sample
from test_sample_native import NATIVE, NO_NATIVE, opened, running

pytestmark = [
    pytest.mark.skipif(_sample.check() is not None, reason=f"other processes cannot be sampled here: {_sample.check()}"),
    pytest.mark.skipif(not NATIVE, reason=NO_NATIVE),
]

# Moves bytes with one system call after the other until it is asked to end. Each call must move all of its bytes, and the right
# ones.
MOVES = """
    import os, select, socket, subprocess, sys, tempfile, threading
    whole = os.urandom(300007)
    parts = [whole[:1], b"", whole[1:100000], whole[100000:100001], whole[100001:]]
    def written(name):
        r, w = os.pipe()
        return w, lambda n: os.read(r, n), getattr(os, name), lambda: (os.close(r), os.close(w))
    everywhere = os.sched_getaffinity(0)
    def moved(call, drain):
        got = bytearray()
        def take():
            os.sched_setaffinity(0, everywhere)
            while len(got) < len(whole):
                got.extend(drain(5000))
        t = threading.Thread(target=take)
        t.start()
        n = call()
        t.join()
        assert n == len(whole), (n, sys.argv[1])
        assert got == whole, sys.argv[1]
    def fed(call):
        def give():
            os.sched_setaffinity(0, everywhere)
            for i in range(0, len(whole), 5000):
                here.sendall(whole[i:i + 5000])
        t = threading.Thread(target=give)
        t.start()
        assert call() == whole, sys.argv[1]
        t.join()
    r, w = os.pipe()
    here, there = socket.socketpair()
    file = tempfile.TemporaryFile()
    file.write(whole)
    file.flush()
    def into_vector(flags):
        rooms = [bytearray(len(part)) for part in parts]
        n = there.recvmsg_into(rooms, 0, flags)[0]
        assert n == len(whole), n
        return b"".join(rooms)
    def sends(f):
        return lambda: moved(f, there.recv)
    moves = {
        "write": lambda: moved(lambda: os.write(w, whole), lambda n: os.read(r, n)),
        "writev": lambda: moved(lambda: os.writev(w, parts), lambda n: os.read(r, n)),
        "send": sends(lambda: here.send(whole)),
        "sendmsg": sends(lambda: here.sendmsg(parts)),
        "sendfile": sends(lambda: os.sendfile(here.fileno(), file.fileno(), 0, len(whole))),
        "recv": lambda: fed(lambda: there.recv(len(whole), socket.MSG_WAITALL)),
        "recvmsg": lambda: fed(lambda: into_vector(socket.MSG_WAITALL)),
    }
    move = moves[sys.argv[1]]
    if sys.argv[2:]:  # who moves gets the processor seldom
        os.sched_setaffinity(0, {min(everywhere)})
        subprocess.Popen([sys.executable, "-c", sys.argv[2], str(os.getpid())])
    print("ready", flush=True)
    n = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        move()
        n += 1
    print("all is well", flush=True)
    os._exit(77)
    """


# Runs at a real-time priority for longer than the sampler waits for a thread to stop, again and again, until its parent has ended.
BUSY = """
import os, sys, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
while os.getppid() == int(sys.argv[1]):
    end = time.monotonic() + 0.15
    while time.monotonic() < end: pass
    time.sleep(0.02)
"""


def _comes_first():
    return subprocess.run([sys.executable, "-c", BUSY, "0"], capture_output=True).returncode == 0


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("call", ["write", "writev", "send", "sendmsg", "sendfile", "recv", "recvmsg"])
def test_calls_move_all_that_they_move_otherwise(call, late):
    """late: the thread stops after the sampler gave up waiting for it."""
    if late and not _comes_first():
        pytest.skip("no process may come before all others here")
    with running(MOVES, call, *[BUSY] * late) as p, opened(p.pid) as process:
        few = {"late": 12, "continued": 4} if late else {"continued": 10}
        # p.wait() here would receive the stop notifications that the sampler waits for
        while any(process.counts()[what] < n for what, n in few.items()) and process.alive():
            process.mixed()
        p.stdin.write("\n")
        p.stdin.flush()
        with contextlib.suppress(OSError):
            while process.alive():  # a thread in such a call continues at the next sample
                process.mixed()
        assert p.stdout.readline() == "all is well\n"
        assert p.wait() == 77


SPIN = "print('ready', flush=True)\nwhile True: pass\n"


@pytest.mark.parametrize("blocked", [False, True])
def test_the_mask_of_signals_is_given_back(blocked):
    """SIGCHLD is blocked while a thread may stop. It must be unblocked afterwards: a process started then would inherit the
    mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK if blocked else signal.SIG_UNBLOCK, [signal.SIGCHLD])
    try:
        with running(SPIN) as p:
            with opened(p.pid) as process:
                while not process.counts()["stops"]:
                    process.mixed()
                assert signal.SIGCHLD in signal.pthread_sigmask(signal.SIG_BLOCK, [])
            assert (signal.SIGCHLD in signal.pthread_sigmask(signal.SIG_BLOCK, [])) == blocked
            show = "import signal; print(signal.SIGCHLD in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
            out = subprocess.run([sys.executable, "-c", show], capture_output=True, encoding="utf-8", check=True).stdout
            assert out == f"{blocked}\n"
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_descriptors_are_given_back():
    """No descriptor stays open after sampling."""
    with running(SPIN) as p:

        def take_samples():
            with opened(p.pid) as process:
                for _ in range(20):
                    process.mixed()

        take_samples()
        gc.collect()  # descriptors left by other tests are closed when their objects are collected
        before = os.listdir("/proc/self/fd")
        for _ in range(20):
            take_samples()
        assert set(os.listdir("/proc/self/fd")) <= set(before)
