# SPDX-License-Identifier: BSD-3-Clause
"""An experiment with known counts, for tests of the writers, and functions that read it."""

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = """\
import threading

import spartito


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def pulse(n):
    for i in range(n):
        yield i


def make():
    return lambda x: len(str(x))


class Grid:
    def smooth(self):
        return sum(leaf(i) for i in range(10))


def leaf(i):
    return i


def caught():
    try:
        thrown()
    except ValueError:
        return leaf(0)


def thrown():
    raise ValueError("expected")


def worker():
    with spartito.region("sweep; über"):
        for _ in range(5):
            Grid().smooth()


def quiet():
    return 0


def main():
    fib(6)
    even(7)
    list(pulse(2))
    shorten = make()
    for i in range(4):
        shorten(i)
    caught()
    spartito.parameter("order", -3)
    spartito.parameter("case", "small")
    spartito.counter("bytes", 2.5)
    spartito.marker("half way")
    thread = threading.Thread(target=worker, name="second")
    thread.start()
    thread.join()
    worker()
    spartito.pause()
    quiet()
    spartito.resume()


main()
"""

#: calls of each function of SOURCE
VISITS = {
    "fib": 25,
    "even": 4,
    "odd": 4,
    "pulse": 1,
    "make": 1,
    "make.<locals>.<lambda>": 4,
    "Grid.smooth": 10,
    "Grid.smooth.<locals>.<genexpr>": 10,
    "leaf": 101,
    "caught": 1,
    "thrown": 1,
    "worker": 2,
}
RESUMED = {"pulse": 2, "Grid.smooth.<locals>.<genexpr>": 100}
REGION = "sweep; über"


@functools.cache
def scratch():
    directory = Path(tempfile.mkdtemp(prefix="spartito-written-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


@functools.cache
def experiment(*options):
    """The experiment directory of SOURCE, measured with these options of `spartito run`."""
    program = scratch() / "known.py"
    program.write_text(SOURCE, encoding="utf-8")
    directory = scratch() / ("run" + "".join(options))
    command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", directory, "--", sys.executable, program]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=200)
    assert done.returncode == 0, done.stdout
    return directory


@functools.cache
def model(*options):
    from spartito._analyse import Model

    return Model(str(experiment(*options)))


def file():
    return str(scratch() / "known.py")


def rows(*options):
    """The rows of Model.flat() for the functions of SOURCE, by qualified name."""
    return {row["qualname"]: row for row in model(*options).flat() if row["file"] == file() and row["kind"] == "python"}


def tree(*options):
    """(row, parent's row or None) for each call path."""
    found, open_rows = [], []
    for row in model(*options).tree():
        del open_rows[row["depth"] :]
        found.append((row, open_rows[-1] if open_rows else None))
        open_rows.append(row)
    return found


@functools.cache
def written(format, *options):
    """The path of the experiment converted to this format."""
    path = scratch() / ("out-" + format + "".join(options))
    model(*options).convert(format, str(path))
    return path


def run(*command):
    """The output of another tool."""
    tool = shutil.which(command[0])
    assert tool, f"{command[0]} is needed for this test: see tools/system.sh"
    done = subprocess.run(
        [tool, *map(str, command[1:])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
