# SPDX-License-Identifier: BSD-3-Clause
"""Stacks are read while everything changes: imports, forks, threads that start and end, generators, deep calls, and interpreters
that begin and end. Neither the reader nor the process may fail. SPARTITO_READS: the number of reads (default 100,000, which take 8
s)."""

import contextlib
import os
import subprocess
import sys

from spartito import _sample

READS = int(os.environ.get("SPARTITO_READS", "100000"))

RESTLESS = """
import importlib, os, sys, threading, time

def deep(n):
    return deep(n - 1) + 1 if n else 0

def numbers(n):
    for i in range(n):
        yield from (i + k for k in range(3))

class Made:
    def __init__(self, n):
        self.n = sum(numbers(n)) + deep(n)

def imports():
    for module in ("json", "json.decoder", "csv", "string", "textwrap", "colorsys"):
        sys.modules.pop(module, None)
        importlib.import_module(module)

def makes():
    for i in range(20):
        scope = {}
        exec(f"def f{i}(n):\\n return [g(n) for g in (lambda n: n + {i},)]", scope)
        scope[f"f{i}"](i)
        Made(i)

def forks():
    pid = os.fork()
    if not pid:
        makes()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7

def work(n):
    threads = [threading.Thread(target=f) for f in (imports, makes, makes)]
    for t in threads:
        t.start()
    forks()
    for t in threads:
        t.join()

for n in range(int(sys.argv[1])):
    work(n)
print("done", deep(900))
"""


def test_reads_of_restless_processes():
    reads = others = complete = torn = 0
    names = set()
    command = [sys.executable, "-Wignore", "-c", RESTLESS, "40"]
    while reads < READS:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            process, before = None, {}
            while p.poll() is None:
                if process is None:
                    with contextlib.suppress(OSError):
                        process = _sample.Process(p.pid)
                    continue
                with contextlib.suppress(ProcessLookupError, BlockingIOError):
                    for tid, _, frames, _ in process.stacks():
                        reads += 1
                        if before.get(tid, 0) == frames:
                            continue  # the thread may have had no processor for long
                        before[tid] = frames
                        others += 1
                        torn += frames is None
                        complete += bool(frames)
                        names.update(frame[1] for frame in frames or ())
            out, err = p.communicate()
            assert (p.returncode, out, err) == (0, "done 900\n", "")
    print(f"{reads} stacks, {torn} torn of {others} that were other than before")
    assert complete > others / 2
    # all names are functions of the program or the standard library: no memory was misread
    assert {"work", "imports", "makes", "forks"} <= {name.rpartition(".")[2] for name in names}
    assert all(name.isprintable() and len(name) < 200 for name in names)
