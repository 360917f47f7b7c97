# SPDX-License-Identifier: BSD-3-Clause
"""Many threads that first call, raise, label and end functions at the same time. With the GIL one of them runs at a time; in a
build of Python without it all do."""

import json
import re
import subprocess
import sys
from collections import Counter

import pytest
from commandline import run
from programs import WITHOUT_GIL
from spartito.analysis import Model

THREADS, FUNCTIONS, CALLS = 4, 150, 7

# Each thread calls all functions for the first time in the same order as the others, right after a barrier.
PROGRAM = f"""
import sys, threading
source = "".join(
    f"def f{{i}}(n, items=()):\\n    return n + len(items)\\n"
    f"def g{{i}}(n):\\n    yield n\\n    yield f{{i}}(n)\\n"
    f"def h{{i}}(n):\\n    raise ValueError(n)\\n"
    for i in range({FUNCTIONS}))
names = {{"__name__": "many"}}
exec(compile(source, "many.py", "exec"), names)
together = threading.Barrier({THREADS})
shared = list(range(100))

def work():
    together.wait()
    for i in range({FUNCTIONS}):
        for n in range({CALLS}):
            names[f"f{{i}}"](n, shared)
            list(names[f"g{{i}}"](n))
            try:
                names[f"h{{i}}"](n)
            except ValueError:
                pass
            shared.append(n); shared.pop()

threads = [threading.Thread(target=work) for _ in range({THREADS})]
for t in threads: t.start()
for t in threads: t.join()
"""


@pytest.fixture
def measure(spartito, tmp_path):
    def measure(*options, program=PROGRAM):
        file, directory = tmp_path / "program.py", tmp_path / "experiment"
        file.write_text(program)
        done = run(spartito, "run", "-q", *options, "-o", directory, "--", sys.executable, file)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        model = Model(str(directory))
        lost = {name: n for name, n in model.info().items() if name.startswith("lost") and n}
        assert not lost
        return model

    return measure


def expected():
    calls = THREADS * CALLS
    return {f"{kind}{i}": calls * (2 if kind == "f" else 1) for kind in "fgh" for i in range(FUNCTIONS)}


@pytest.mark.parametrize("options", [[], ["--trace", "--c-calls"], ["--memory-profile"], ["--lines=many:f*"], ["--io", "--waits"]])
def test_counts_are_exact(measure, options):
    rows = [row for row in measure(*options).flat() if row["file"].endswith("many.py")]
    assert {row["qualname"]: row["visits"] for row in rows if row["qualname"] != "<module>"} == expected()
    assert max(Counter(row["qualname"] for row in rows).values()) == 1  # each function has one region


def test_lines_of_a_first_call_are_counted_in_each_thread(measure):
    """The line events of a function are enabled at its first call, which several threads may make at once."""
    program = f"""
import threading
body = "(n):\\n    t = 0\\n    for i in range(n):\\n        t += i\\n    return t\\n"
source = "".join(f"def f{{i}}" + body for i in range({FUNCTIONS}))
names = {{"__name__": "many"}}
exec(compile(source, "many.py", "exec"), names)
together = threading.Barrier({THREADS})
def work():
    for i in range({FUNCTIONS}):
        together.wait()
        names[f"f{{i}}"](5)
threads = [threading.Thread(target=work) for _ in range({THREADS})]
for t in threads: t.start()
for t in threads: t.join()
"""
    functions = measure("--lines-only", "--lines=many:f*", program=program).lines()
    hits = [tuple(line[1] for line in function["lines"]) for function in functions if function["module"] == "many"]
    assert hits == [(THREADS, 6 * THREADS, 5 * THREADS, THREADS)] * FUNCTIONS


def test_labels_are_those_of_the_calls(measure):
    rows = [row for row in measure("--label=args").flat() if re.match(r"g\d", row["qualname"])]
    labels = [f"g{i}(n={n})" for i in range(FUNCTIONS) for n in range(CALLS)]
    assert {row["qualname"]: row["visits"] for row in rows} == dict.fromkeys(labels, THREADS)


def test_a_measurement_begins_and_ends_while_others_call(tmp_path):
    program = """
import os, sys, threading
from spartito import _measure as measure
stop = False
def leaf(n): return n
def calls():
    while not stop:
        for n in range(50):
            leaf(n)
threads = [threading.Thread(target=calls) for _ in range(3)]
for t in threads: t.start()
for i in range(12):
    os.makedirs(f"{i}/raw")
    measure.start(os.path.abspath(str(i)), {"trace": "1"} if i % 2 else {})
    for _ in range(40):
        measure.pause()
        measure.resume()
        leaf(0)
    measure.stop()
stop = True
for t in threads: t.join()
"""
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for i in range(12):
        model = Model(str(tmp_path / str(i)))
        main = [row for row in model.flat() if row["qualname"] == "leaf"]
        assert main and sum(row["visits"] for row in main) >= 40


def test_the_gil_stays_off(spartito, tmp_path):
    """Loading Spartito's modules does not switch it on again."""
    if not WITHOUT_GIL:
        pytest.skip("this Python has no free threads")
    ask = "import sys, json, spartito, spartito._analyse, spartito._sample; print(json.dumps(sys._is_gil_enabled()))"
    done = run(spartito, "run", "-q", "-o", tmp_path / "e", "--", sys.executable, "-c", ask)
    assert (json.loads(done.stdout), done.stderr) == (False, "")
