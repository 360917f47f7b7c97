# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs that wait with --waits, and finds their waits by line. The programs can import asleep.py."""

import os
import shutil
import subprocess
import sys
import textwrap

import spartito._measure as measure
from commandline import run
from conftest import ROOT
from spartito._analyse import Model


def compiled(directory):
    """Compiles a library whose threads wait for each other (tests/native/waits.c)."""
    out = directory / "contend.so"
    source = ROOT / "tests" / "native" / "waits.c"
    subprocess.run(["cc", "-O2", "-g", "-shared", "-fPIC", "-pthread", source, "-o", out], check=True)
    return str(out)


def write(cwd, text):
    (cwd / "program.py").write_text(textwrap.dedent(text))
    shutil.copy(ROOT / "tests" / "py" / "helpers" / "asleep.py", cwd)


def command(cwd, text, *options):
    write(cwd, text)
    return ["run", "-q", "--waits", *options, "-o", cwd / "x", "--", sys.executable, "program.py"]


def recorded(spartito, cwd, text, *options, status=0):
    """Runs a program; returns its model and its output."""
    done = run(spartito, *command(cwd, text, *options), cwd=cwd)
    assert done.returncode == status, done.stderr
    assert not done.stderr or status, done.stderr
    return Model(str(cwd / "x")), done.stdout


def measures_itself(tmp_path, text):
    """Runs a program with the waits library preloaded; the program starts the measurement."""
    write(tmp_path, text)
    environment = {**os.environ, "LD_PRELOAD": os.path.join(os.path.dirname(measure.__file__), "spartito_waits.so")}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=200
    )
    assert (done.returncode, done.stderr) == (0, "")


class Waits:
    """The waits of a model, by the program's line that waits."""

    def __init__(self, model):
        self.found, self.info = model.locks(), model.info()
        self.locks = self.found["locks"]

    def at(self, line, kind=None):
        """All waits at that line, except those for the GIL and those of asleep.py."""
        there = [w for w in self.found["waits"] if w["line"] == line and os.path.basename(w["file"] or "") != "asleep.py"]
        return [w for w in there if w["kind"] != "gil" and kind in (None, w["kind"])]

    def one(self, line, kind=None):
        (wait,) = self.at(line, kind)
        return wait

    def lock(self, wait):
        return self.locks[wait["lock"]]

    def user(self, wait):
        lock = self.lock(wait)
        return self.locks[lock["user"]] if lock["user"] is not None else lock

    def name(self, location):
        return self.info["locations"][location]["name"]


def line_of(text, mark):
    """The number of the line that ends with this comment."""
    lines = textwrap.dedent(text).split("\n")
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith("# " + mark)]
    return number


HELD = """
import asleep, threading, time
lock = threading.KIND()  # made
def hold(ready):
    with lock:
        ready.release()
        asleep.until_asleep(threading.main_thread())
        time.sleep(0.2)
def want(times):
    for _ in range(times):
        begin = time.perf_counter()
        with lock:  # wait
            print(time.perf_counter() - begin)
ready = threading.Semaphore(0)
for _ in range(3):
    t = threading.Thread(target=hold, args=(ready,), name="holder")
    t.start()
    ready.acquire()
    want(1)
    t.join()
for _ in range(1000):
    with lock:
        pass
"""

PROCESSES = """
import multiprocessing, os, time, warnings
from asleep import until_asleep

warnings.simplefilter("ignore")

def hold(lock, ready):
    with lock:
        ready.send(1)
        until_asleep(os.getppid())
        time.sleep(0.2)

def wanted():
    until_asleep(os.getppid())
    time.sleep(0.1)

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    lock, (mine, theirs) = context.Lock(), context.Pipe()  # made
    p = context.Process(target=hold, args=(lock, theirs))
    p.start()
    mine.recv()
    with lock:  # lock.wait
        pass
    p.join()
    with context.Pool(1) as pool:
        pool.apply(wanted)  # pool.wait
"""
