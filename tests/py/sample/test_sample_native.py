# SPDX-License-Identifier: BSD-3-Clause
"""Compiled frames and Python frames of another process in one stack, and the states of its threads, under every Python version."""

import collections
import contextlib
import os
import shlex
import subprocess
import sys
import textwrap
import time

import pytest
from programs import WITHOUT_GIL
from spartito import _sample

NATIVE = os.uname().machine == "x86_64"  # the processor on which compiled frames are found
NO_NATIVE = "compiled functions are seen on x86-64"
pytestmark = pytest.mark.skipif(not NATIVE, reason=NO_NATIVE)

LIBRARY = r"""
#include <pthread.h>
#include <stddef.h>
typedef void callback(void);
#define APART __attribute__((noinline, visibility("default")))
volatile int sink;
APART void sp_t_spin(void) { for (;;) sink++; }
APART void sp_t_inner(callback *f) { f(); sink++; }
APART void sp_t_outer(callback *f) { sp_t_inner(f); sink++; }
static void *begin(void *f) { ((callback *)f)(); return NULL; }
APART void sp_t_thread(void) { pthread_t t; pthread_create(&t, NULL, begin, sp_t_spin); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    d = tmp_path_factory.mktemp("library")
    (d / "a.c").write_text(LIBRARY, encoding="utf-8")

    def build(name, *flags):
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O2", "-fPIC", "-shared", "-fomit-frame-pointer",
                        "-fno-optimize-sibling-calls", *flags, "-o", str(d / name), str(d / "a.c"), "-pthread"], check=True)
        return d / name

    build("libplain.so")
    build("libstripped.so", "-s", "-fvisibility=hidden", "-Wl,--version-script=" + str(script(d)))
    return d


def script(d):
    """A linker script: of all functions only sp_t_thread, sp_t_outer and sp_t_spin have a dynamic symbol."""
    path = d / "names"
    path.write_text("{ global: sp_t_outer; sp_t_thread; sp_t_spin; local: *; };\n", encoding="utf-8")
    return path


@contextlib.contextmanager
def running(source, *arguments):
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as p:
        try:
            assert p.stdout.readline() == "ready\n"
            yield p
        finally:
            p.kill()


@contextlib.contextmanager
def opened(pid, **options):
    p = _sample.Process(pid, native=True, **options)
    try:
        yield p
    finally:
        p.close()


def samples_of(p, **options):
    """Samples the process repeatedly. Yields {thread: (complete, state, frames)}, without threads whose stack changed while it was
    read."""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        yield {tid: (complete, state, frames) for tid, complete, state, frames in p.mixed(**options) if frames is not None}
    pytest.fail("not seen in 100 s")


def wait_for_stack(process, wanted, **options):
    """Samples until a thread has a stack whose names satisfy `wanted`; returns (complete, state, frames)."""
    for sample in samples_of(process, **options):
        for found in sample.values():
            if found[2] and wanted(names(found[2])):
                return found


def name(frame):
    """The name of a compiled or a Python frame."""
    return frame[1].rpartition(".")[2] if frame[1] else "?"


def names(frames):
    return [name(f) for f in frames]


def follow(wanted, found):
    """Whether `found` contains the elements of `wanted` in this order."""
    rest = iter(found)
    return all(w in rest for w in wanted)


CALLS = """
    import ctypes, sys
    c = ctypes.CDLL(sys.argv[1])
    kind = ctypes.CFUNCTYPE(None)
    def python_inner():
        print("ready", flush=True)
        c.sp_t_spin()
    inner = kind(python_inner)
    def python_middle():
        c.sp_t_outer(inner)
    middle = kind(python_middle)
    def python_outer():
        c.sp_t_outer(middle)
    python_outer()
    """


def test_python_and_c_call_each_other(library):
    wanted = ["sp_t_spin", "python_inner", "sp_t_inner", "sp_t_outer", "python_middle", "sp_t_inner", "sp_t_outer", "python_outer",
              "<module>"]
    with running(CALLS, library / "libplain.so") as p, opened(p.pid) as process:
        complete, state, frames = wait_for_stack(process, lambda frames: frames[0] == "sp_t_spin")
        assert complete == 1 and state == "running"
        assert [n for n in names(frames) if n in wanted] == wanted
        # frames of the interpreter and those below the script are removed
        assert names(frames)[-1] == "<module>"
        assert not [f for f in frames if len(f) == 4 and os.path.basename(f[0]).startswith(("libpython", "python", "libc."))]
        spin = frames[0]
        assert spin[0] == str(library / "libplain.so") and 0 < spin[2] <= spin[3]
        everything = wait_for_stack(process, lambda frames: "_PyEval_EvalFrameDefault" in frames, interpreter=True)[2]
        assert follow(wanted, names(everything))


def test_a_stripped_object_has_addresses(library):
    with running(CALLS, library / "libstripped.so") as p, opened(p.pid) as process:
        complete, _, frames = wait_for_stack(process, lambda frames: frames[0] == "sp_t_spin")
        mine = [f for f in frames if f[0] == str(library / "libstripped.so")]
        assert complete == 1 and [f[1] for f in mine] == ["sp_t_spin", None, "sp_t_outer", None, "sp_t_outer"]
        # frames of a function without a symbol have the same begin address
        assert mine[1][2] == mine[3][2] != 0
        assert mine[1][2] <= mine[1][3]


def test_a_thread_without_python(library):
    source = """
        import ctypes, sys, time
        ctypes.CDLL(sys.argv[1]).sp_t_thread()
        print("ready", flush=True)
        time.sleep(1000)
        """
    with running(source, library / "libplain.so") as p, opened(p.pid) as process:
        for sample in samples_of(process):
            others = [x for tid, x in sample.items() if tid != p.pid]
            # the threads need some time to get there
            if [names(x[2])[:1] for x in others] == [["sp_t_spin"]] and sample.get(p.pid, (0, ""))[1] == "idle":
                break
        complete, state, frames = others[0]
        assert complete == 1 and state == "running" and names(frames)[:2] == ["sp_t_spin", "begin"]
        assert names(sample[p.pid][2])[-1] == "<module>"


def test_an_object_that_comes_again_elsewhere(library):
    source = """
        import ctypes, sys, _ctypes, threading
        kind = ctypes.CFUNCTYPE(None)
        first = True
        while True:
            for path in sys.argv[1:]:
                c = ctypes.CDLL(path)
                def work():
                    for _ in range(30_000):
                        pass
                f = kind(work)
                c.sp_t_outer(f)
                _ctypes.dlclose(c._handle)
            if first:
                print("ready", flush=True)
            first = False
        """
    seen = collections.Counter()
    with running(source, library / "libplain.so", library / "libstripped.so") as p, opened(p.pid) as process:
        for sample in samples_of(process):
            for _, _, frames in sample.values():
                outer = [f for f in frames if name(f) == "sp_t_outer"]
                if names(frames)[:1] == ["work"] and outer:
                    seen[os.path.basename(outer[0][0])] += 1
            if min(seen["libplain.so"], seen["libstripped.so"]) > 5:
                break


STATES = {
    "idle": ["time.sleep(1000)", "lock.acquire()", "select.select([r], [], [])", "threading.Event().wait()",
             "subprocess.Popen(['cat'], stdin=subprocess.PIPE).wait()", "lock.acquire(timeout=1000)", "os.read(r, 1)",
             "(lambda pair: pair[0].recv(1))(socket.socketpair())"],
    "system call": ["os.write(w, bytes(1 << 20))"],
    "running": ["while_true()", "ctypes.CDLL(None).usleep and c.sp_t_spin()"],
}


@pytest.mark.parametrize(("state", "statement"), [(s, x) for s, all_of in STATES.items() for x in all_of])
@pytest.mark.parametrize("native", [True, False])
def test_states(library, state, statement, native):
    source = """
        import ctypes, os, select, socket, subprocess, sys, threading, time
        c = ctypes.CDLL(sys.argv[1])
        r, w = os.pipe()
        lock = threading.Lock()
        lock.acquire()
        def while_true():
            while True:
                pass
        def waits():
            print("ready", flush=True)
            exec(sys.argv[2])
        waits()
        """
    with running(source, library / "libplain.so", statement) as p, opened(p.pid, stop=native) as process:
        seen = 0
        # the thread that printed "ready" needs some time to get there
        for sample in samples_of(process):
            # without compiled frames no thread is stopped, so running threads have no complete stack
            wanted = state if native or state != "running" else None
            seen = seen + 1 if sample.get(p.pid, (0, None))[1] == wanted else 0
            if seen == 20:
                break


@pytest.mark.skipif(WITHOUT_GIL, reason="this Python has no GIL")
def test_waiting_for_the_interpreters_lock():
    source = """
        import threading
        def spins():
            while True:
                pass
        for _ in range(3):
            threading.Thread(target=spins, daemon=True).start()
        print("ready", flush=True)
        spins()
        """
    states = collections.Counter()
    with running(source) as p, opened(p.pid) as process:
        for sample in samples_of(process):
            if len(sample) < 4:
                continue
            states.update(state for _, state, _ in sample.values())
            if sum(states.values()) >= 400:
                break
        # one of the four threads runs; a thread that releases the GIL or just acquired it runs, too
        assert states["gil"] > states["running"] > 0 and set(states) == {"gil", "running"}, states
    states.clear()
    with running(source) as p, opened(p.pid, stop=False) as process:
        for sample in samples_of(process):
            states.update(state for _, state, _ in sample.values())
            if sum(states.values()) >= 100:
                break
        assert set(states) == {"gil"}


def test_nothing_of_the_program_changes(library):
    """The program's output and end are unchanged while it is sampled without pauses."""
    source = """
        import os, signal, subprocess, sys, threading, time
        print("ready", flush=True)
        sys.stdin.readline()
        got = []
        signal.signal(signal.SIGALRM, lambda *_: got.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        r, w = os.pipe()
        def drain():
            while os.read(r, 5000):
                pass
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        t = threading.Thread(target=drain)
        t.start()
        assert all(os.write(w, bytes(300000)) == 300000 for _ in range(200))
        os.close(w)
        t.join()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        for i in range(20):
            assert subprocess.run([sys.executable, "-S", "-c", f"raise SystemExit({i})"]).returncode == i
        while len(got) < 20:
            time.sleep(0.001)
        print("all is well", flush=True)
        os._exit(77)
        """
    with running(source) as p, opened(p.pid) as process:
        p.stdin.write("\n")
        p.stdin.flush()
        with contextlib.suppress(OSError):
            while process.alive():
                process.mixed()
        assert process.counts()["stops"]
        assert p.stdout.readline() == "all is well\n"
        assert p.wait() == 77


def test_a_process_that_becomes_another_program():
    source = """
        import os, sys
        print("ready", flush=True)
        sys.stdin.readline()
        os.execv(sys.executable, [sys.executable, "-c", "print('again', flush=True); import time; time.sleep(1000)"])
        """
    with running(source) as p, opened(p.pid) as process:
        assert process.mixed()
        p.stdin.write("\n")
        p.stdin.flush()
        assert p.stdout.readline() == "again\n"
        # cached data of the previous program must be ignored
        for _ in range(100):
            process.mixed()
        with opened(p.pid) as again:
            for sample in samples_of(again):
                _, state, frames = sample.get(p.pid, (0, "", []))
                if state == "idle" and names(frames)[-1:] == ["<module>"]:
                    break
