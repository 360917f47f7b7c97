# SPDX-License-Identifier: BSD-3-Clause
"""What a stop of a thread does to the system call that it is in, and looking to the process that looks: neither is seen."""

import contextlib
import gc
import os
import signal
import subprocess
import sys

import pytest
from spartito import _sample
from test_sample_native import looking, running

pytestmark = pytest.mark.skipif(_sample.check() is not None, reason=f"nothing can be looked into here: {_sample.check()}")

# moves bytes with one call after the other until it is told to end; each call moves all that it was asked for, and the right bytes
MOVES = """
    import os, select, socket, sys, tempfile, threading
    whole = os.urandom(300007)
    parts = [whole[:1], b"", whole[1:100000], whole[100000:100001], whole[100001:]]
    def written(name):
        r, w = os.pipe()
        return w, lambda n: os.read(r, n), getattr(os, name), lambda: (os.close(r), os.close(w))
    def moved(call, drain):
        got = bytearray()
        def take():
            while len(got) < len(whole):
                got.extend(drain(5000))
        t = threading.Thread(target=take)
        t.start()
        n = call()
        t.join()
        assert n == len(whole), (n, sys.argv[1])
        assert got == whole, sys.argv[1]
    def fed(call):
        t = threading.Thread(target=lambda: [here.sendall(whole[i:i + 5000]) for i in range(0, len(whole), 5000)])
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
    print("ready", flush=True)
    n = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        move()
        n += 1
    print("all is well", flush=True)
    os._exit(77)
    """


@pytest.mark.parametrize("call", ["write", "writev", "send", "sendmsg", "sendfile", "recv", "recvmsg"])
def test_calls_move_all_that_they_move_otherwise(call):
    with running(MOVES, call) as p, looking(p.pid) as process:
        while process.counts()["continued"] < 10 and process.alive():  # to wait for it here would take its stops from those looks
            process.mixed()
        p.stdin.write("\n")
        p.stdin.flush()
        with contextlib.suppress(OSError):
            while process.alive():  # one that is in such a call is let go by the next look
                process.mixed()
        assert p.stdout.readline() == "all is well\n"
        assert p.wait() == 77


SPIN = "print('ready', flush=True)\nwhile True: pass\n"


@pytest.mark.parametrize("blocked", [False, True])
def test_the_mask_of_signals_is_given_back(blocked):
    """SIGCHLD is blocked while there is somebody to be stopped: what is started afterwards would inherit that."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK if blocked else signal.SIG_UNBLOCK, [signal.SIGCHLD])
    try:
        with running(SPIN) as p:
            with looking(p.pid) as process:
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
    """Nothing stays open of what was looked at."""
    with running(SPIN) as p:

        def look():
            with looking(p.pid) as process:
                for _ in range(20):
                    process.mixed()

        look()
        gc.collect()  # what other tests have left is closed when it is collected
        before = os.listdir("/proc/self/fd")
        for _ in range(20):
            look()
        assert set(os.listdir("/proc/self/fd")) <= set(before)
