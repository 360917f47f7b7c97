# SPDX-License-Identifier: BSD-3-Clause
"""`spartito doctor PID` for a process that is not measured: the stacks of its threads."""

import re
import subprocess
import sys

from commandline import run
from test_sample_stacks import running

HANGS = """
    import threading
    def holds():
        lock.acquire()
        print("ready", flush=True)
        held.set() or never.wait()
    lock, held, never = threading.Lock(), threading.Event(), threading.Event()
    threading.Thread(target=holds).start()
    def main():
        held.wait() and lock.acquire()
    main()
    """


def test_threads_that_wait(spartito):
    with running(HANGS) as p:
        waits = r"  threading:\S*wait at .*threading.py:\d+\n"
        holds = re.compile(rf" waits, .*\n{waits}{waits}  __main__:holds at <string>:6\n")
        main = re.compile(rf"^thread {p.pid} \(main\) waits, .*\n  __main__:main at <string>:10\n", re.MULTILINE)
        shown = ""
        while not (holds.search(shown) and main.search(shown)):  # the threads may not have reached these lines yet
            done = run(spartito, "doctor", p.pid)
            assert (done.returncode, done.stderr) == (0, "")
            shown = done.stdout
        lines = shown.split("\n")
        assert lines[0] == f"process {p.pid} is not measured by Spartito, so nothing is known of its locks"
        assert lines[2] == "process {} runs Python {}.{} with 2 threads".format(p.pid, *sys.version_info[:2])
        assert lines[lines.index("  __main__:main at <string>:10") + 1] == "  __main__:<module> at <string>:11"


def test_a_process_without_python(spartito):
    with subprocess.Popen(["sleep", "1000"]) as p:
        message = ""
        while "sleep)" not in message:  # until the child has executed sleep
            done = run(spartito, "doctor", p.pid)
            message = done.stderr
        p.kill()
    assert (done.returncode, done.stdout, message.count("\n")) == (1, "", 1)
    assert message.startswith(f"spartito: process {p.pid} runs no Python (/")
