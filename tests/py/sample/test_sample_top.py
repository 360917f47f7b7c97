# SPDX-License-Identifier: BSD-3-Clause
"""`spartito top`: the table of a running process."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from commandline import run
from test_sample_stacks import running

SHARES = """
    import threading, time
    def much():
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            pass
    def little():
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
    def sleeps():
        time.sleep(1000)
    threading.Thread(target=sleeps, daemon=True).start()
    print("ready", flush=True)
    while True:
        much()
        little()
    """


class Row(NamedTuple):
    running: float
    waiting: float
    total_running: float
    total_waiting: float


def functions(text):
    """{function: its row} of the first table, in its order."""
    found = re.findall(r"^ *([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +[\d.]+  (\S+)", text, re.MULTILINE)
    return {name: Row(*map(float, numbers)) for *numbers, name in found}


def test_running_and_waiting_time_of_functions(spartito):
    with running(SHARES) as p:
        done = run(spartito, "top", "--duration", "5", "--sample-rate", "500", p.pid)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("process {}, Python {}.{}: ".format(p.pid, *sys.version_info[:2]))
        found = functions(done.stdout)
        much, little, sleeps = (found["__main__:" + name] for name in ("much", "little", "sleeps"))
        # the share of each other: a main thread that waits for the GIL neither runs nor changes it
        assert 65 < 100 * much.running / (much.running + little.running) < 85
        assert found["__main__:<module>"].total_running > 80 and found["__main__:<module>"].running < 10
        assert sleeps.waiting > 90 > 10 > sleeps.running and sleeps.total_waiting == sleeps.waiting
        assert list(found).index("__main__:sleeps") > list(found).index("__main__:little")
        threads = re.findall(r"^ *(\d+) +([\d.]+) +([\d.]+) +\S+ \S+ +(.*)", done.stdout.partition("processor")[2], re.MULTILINE)
        assert [int(tid) for tid, *_ in threads][0] == p.pid and len(threads) == 2
        assert float(threads[1][1]) < 10 and float(threads[1][2]) > 80
        assert re.search(r"idle  +__main__:sleeps line 12  +__main__:sleeps$", threads[1][3])
        done = run(spartito, "top", "--once", "--waiting", "--duration", "1", "--limit", "3", p.pid)
        assert len(functions(done.stdout)) == 3 and next(iter(functions(done.stdout))) == "__main__:sleeps"


HELPED = """
    import threading, time
    def helps():
        while True:
            time.sleep(0.05)
    def waits():
        input()
    threading.Thread(target=helps, daemon=True).start()
    print("ready", flush=True)
    waits()
    """


def test_a_helper_that_wakes_up_is_below_a_program_that_waits(spartito):
    with running(HELPED) as p:
        done = run(spartito, "top", "--once", "--duration", "3", p.pid)
        p.stdin.close()
    found = list(functions(done.stdout))
    assert found.index("__main__:waits") < found.index("__main__:helps")
    assert re.search(rf"processor +state.*\n *{p.pid} ", done.stdout)


FAMILY = """
    import subprocess, sys, time
    child = "import time\\ndef {0}():\\n end = time.thread_time() + 0.01\\n while time.thread_time() < end: pass\\nwhile 1: {0}()"
    def start(name):
        return subprocess.Popen([sys.executable, "-c", child.format(name)])
    children = [start("early")]
    print("ready", flush=True)
    if sys.stdin.readline():
        children.append(start("late"))
        sys.stdin.readline()
    for p in children:
        p.kill()
    """


def test_children_are_sampled_too(spartito):
    with running(FAMILY) as p:
        done = run(spartito, "top", "--once", "--duration", "1", p.pid)
        assert "early" not in done.stdout and "process " + str(p.pid) + ", " in done.stdout
        top = subprocess.Popen([*spartito, "top", "--children", "--duration", "6", str(p.pid)], stdout=subprocess.PIPE, text=True)
        p.stdin.write("\n")
        p.stdin.flush()
        out = top.communicate()[0]
        p.stdin.close()
        p.wait()
    assert top.returncode == 0 and re.match(rf"process {p.pid} and 2 children, ", out)
    found = functions(out)
    # shares of a processor: other programs may use it most of the time
    assert found["__main__:early"].running > 2 and found["__main__:late"].running > 2
    processes, _, threads = out.partition("process  threads")[2].partition("process ")
    rows = re.findall(r"^ *(\d+) +(\d+) +[\d.]+ ", threads, re.MULTILINE)
    assert len({process for process, _ in rows}) == 3 and all(process == thread for process, thread in rows)
    rows = re.findall(r"^ *(\d+) +1 +[\d.]+ +[\d.]+$", processes, re.MULTILINE)
    assert rows == sorted({process for process, _ in re.findall(r"^ *(\d+) +(\d+) +[\d.]+ ", threads, re.MULTILINE)}, key=int)


def slept(pid):
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])


def test_the_process_ends_meanwhile(spartito):
    with running("print('ready', flush=True); input()") as p:
        command = [*spartito, "top", "--duration", "100", "--sample-rate", "1000", str(p.pid)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as top:
            # it sleeps between two samples, and seldom before the first one
            while top.poll() is None and slept(top.pid) < 500:
                time.sleep(0.01)
            p.stdin.close()
            out = top.communicate()[0]
    assert top.returncode == 0 and ", it has ended\n" in out


@pytest.mark.parametrize("words, error", [
    ((), "no process given: spartito top PID"),
    (("1", "2"), "one process at a time, not also '2'"),
    (("a",), "'a' is no process id"),
    (("--sample-rate", "1001", "1"), "--sample-rate: '1001' is no whole number of samples a second from 1 to 1000"),
    (("--duration", "0", "1"), "--duration 0: must be more than 0 seconds"),
])
def test_command_lines_that_cannot_be(spartito, words, error):
    done = run(spartito, "top", *words)
    assert done.returncode == 2 and done.stdout == "" and error in done.stderr


def test_a_process_that_is_not_there(spartito):
    for pid in (10**9 - 1, 10**99):
        done = run(spartito, "top", pid)
        assert (done.returncode, done.stderr) == (1, f"spartito: there is no process {pid}\n")


def test_keys_in_a_terminal(spartito):
    pytest.importorskip("rich")
    with running(SHARES) as p:
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm"}
        with subprocess.Popen([*spartito, "top", str(p.pid)], stdin=theirs, stdout=theirs, env=environment) as top:
            os.close(theirs)
            shown = b""
            for until, key in ((b"__main__:much", b"w"), (b", by waiting time", b"p"), (b", paused", b"t"), (b", paused", b"q")):
                at = len(shown)
                while until not in shown[at:]:
                    shown += os.read(ours, 65536)
                os.write(ours, key)
            with contextlib.suppress(OSError):
                while data := os.read(ours, 65536):
                    shown += data
            assert top.wait() == 0
        os.close(ours)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM])
def test_a_signal_leaves_the_terminal_as_it_was(spartito, number):
    pytest.importorskip("rich")
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("it is ignored here, and so is it in what starts here")
    with running(SHARES) as p:
        ours, theirs = pty.openpty()
        before = termios.tcgetattr(theirs)
        command = ["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", *spartito, "top", str(p.pid)]
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, env={**os.environ, "TERM": "xterm"}) as top:
            shown = b""
            while b"q quit" not in shown:
                shown += os.read(ours, 65536)
            assert termios.tcgetattr(theirs) != before
            top.send_signal(number)
            while top.poll() is None:
                if select.select([ours], [], [], 0.1)[0]:
                    shown += os.read(ours, 65536)
        assert top.returncode == -number
        while select.select([ours], [], [], 0)[0]:
            shown += os.read(ours, 65536)
        assert termios.tcgetattr(theirs) == before
        os.close(theirs)
        os.close(ours)
    # alternate screen, hidden cursor: both are reset at the end
    for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h")):
        assert 0 <= shown.rfind(on) < shown.rfind(off)
