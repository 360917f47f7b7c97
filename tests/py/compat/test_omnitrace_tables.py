# SPDX-License-Identifier: BSD-3-Clause
"""The programs of Omnitrace's manual give the tables shown there, byte for byte; labels; C functions."""

import json
import os
import re
import textwrap

import pytest
from conftest import ROOT
from omnitrace_helpers import COUNTS, output, program, rows, run, started

GOLDEN = ROOT / "tests" / "golden"
FUNCTIONS = """\
def fib(n):
   return n if n < 2 else (fib(n - 1) + fib(n - 2))


{inefficient}def inefficient(n):
   a = 0
   for i in range(n):
      a += i
      for j in range(n):
            a += j
   return a


{run}def run(n):
   return fib(n) + inefficient(n)


if __name__ == "__main__":
"""
HEAD = "import sys\n\n"
OURS = "import sys\nimport omnitrace  # import omnitrace\n\n"
CALL = "   run(20)\n"


def source(head=HEAD, call=CALL, inefficient="", run=""):
    return head + FUNCTIONS.format(inefficient=inefficient, run=run) + call


ARGUMENTS = source(call="""\
   from omnitrace.profiler import config
   from omnitrace import profile

   config.include_args = True
   config.include_filename = False
   config.include_line = False
   config.restrict_functions += ["fib", "run"]

   with profile():
      run(5)
""")


def text(path):
    return (output(path) / "trip_count.txt").read_text()


def golden(name):
    """Without indentation and the end of the last line."""
    return textwrap.dedent((GOLDEN / f"{name}.txt").read_text()).rstrip("\n")


def test_a_script(tmp_path):
    program(tmp_path, source(), "example.py")
    done = run(tmp_path, "./example.py")
    assert (done.returncode, done.stdout) == (0, "")
    assert text(tmp_path).rstrip("\n") == golden("trip_count")


def test_a_decorated_function(tmp_path):
    program(tmp_path, source(inefficient="@profile\n"), "example.py")
    assert run(tmp_path, "-b", "--", "./example.py").returncode == 0
    assert text(tmp_path).rstrip("\n") == golden("trip_count_builtin")


@pytest.mark.parametrize(
    "code",
    [
        source(OURS, run="@omnitrace.profile()\n"),
        source(OURS, call="   with omnitrace.profile():\n      run(20)\n"),
        source(OURS, call="   p = omnitrace.profile()\n   p.start()\n   run(20)\n   p.stop()\n"),
        source(OURS, call="   omnitrace.profile().run('run(20)')\n"),
        source(OURS, call="   omnitrace.profile().runctx('f(20)', {'f': run}, {})\n"),
        source(OURS, call="   omnitrace.profile().runcall(run, 20)\n"),
    ],
    ids=["decorator", "context", "start", "run", "runctx", "runcall"],
)
def test_instrumented_sources(tmp_path, code):
    program(tmp_path, code, "example.py")
    done = started(tmp_path, "example.py", env=COUNTS)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert text(tmp_path).rstrip("\n") == golden("trip_count")
    assert output(tmp_path).parent.name == "omnitrace-example-output"


def test_arguments_and_restricted_functions(tmp_path):
    program(tmp_path, ARGUMENTS, "example.py")
    done = started(tmp_path, "example.py", env=COUNTS)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert text(tmp_path).rstrip("\n") == golden("trip_count_args")


def test_the_same_from_the_command_line(tmp_path):
    program(tmp_path, source(call="   run(5)\n"), "example.py")
    assert run(tmp_path, "--label", "args", "-R", "fib", "run", "--", "example.py").returncode == 0
    assert text(tmp_path).rstrip("\n") == golden("trip_count_args")


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ("", "f"),
        ("args", "f(a=1, b='x')"),
        ("line", "f:2"),
        ("args line", "f(a=1, b='x'):2"),
        ("file", "[f][program.py]"),
        ("args file", "[f(a=1, b='x')][program.py]"),
        ("file line", "[f][program.py:2]"),
        ("line file args", "[f(a=1, b='x')][program.py:2]"),
    ],
)
def test_labels(tmp_path, options, label):
    program(tmp_path, "# f\ndef f(a, b): pass\nf(1, b='x')\n")
    words = ["--label", *options.split()] if options else ["-v", "0"]
    assert run(tmp_path, *words, "--", "program.py").returncode == 0
    assert rows(tmp_path) == [(label, 1, 0)]


def test_whole_names_of_files(tmp_path):
    program(tmp_path, "def f(): pass\nf()\n")
    assert run(tmp_path, "-F", "--label", "file", "--", "program.py").returncode == 0
    path = os.path.join(os.path.realpath(tmp_path), "program.py")
    assert [label.replace(str(tmp_path), os.path.realpath(tmp_path)) for label, _, _ in rows(tmp_path)] == [f"[f][{path}]"]


def test_functions_of_c_under_their_own_names(tmp_path):
    code = """\
        import math
        def f():
            try:
                return math.sqrt(4.0), math.sqrt(9.0), math.sqrt(-1.0)
            except ValueError:
                return "a".upper()
        def g(): return math.sqrt(1.0)
        f()
        g()
    """
    program(tmp_path, code)
    assert run(tmp_path, "--trace-c", "-MR", r"program\.py$", "--", "program.py").returncode == 0
    found = rows(tmp_path)
    # a C function that raises has an end, too: g is not below f
    names = [(label.strip().removeprefix("|_"), count, depth) for label, count, depth in found]
    assert ("f", 1, 0) in names and ("g", 1, 0) in names
    assert ("sqrt", 3, 1) in names and ("sqrt", 1, 1) in names and ("upper", 1, 1) in names


def test_times_have_all_columns_and_a_true_self(tmp_path):
    code = """\
        import time
        def wait(): time.sleep(0.02)
        def outer():
            time.sleep(0.02)
            wait()
        outer()
    """
    program(tmp_path, code)
    done = run(tmp_path, "program.py", env={"OMNITRACE_TIMEMORY_COMPONENTS": "wall_clock"})
    assert done.returncode == 0
    lines = (output(tmp_path) / "wall_clock.txt").read_text().splitlines()
    assert "REAL-CLOCK TIMER (I.E. WALL-CLOCK TIMER)" in lines[1]
    assert lines[3].replace("|", " ").split() == (
        ["LABEL", "COUNT", "DEPTH", "METRIC", "UNITS", "SUM", "MEAN", "MIN", "MAX", "VAR", "STDDEV", "%", "SELF"]
    )
    table = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[5:-1]]
    (outer,) = [row for row in table if row[0].endswith(">>> outer")]
    (wait,) = [row for row in table if row[0].endswith("|_wait")]
    assert outer[1:5] == ["1", "0", "wall_clock", "sec"] and wait[1:5] == ["1", "1", "wall_clock", "sec"]
    whole, part = float(outer[5]), float(wait[5])
    assert all(re.fullmatch(r"\d+\.\d{6}", cell) for cell in outer[5:11])
    assert float(outer[-1].rstrip("|")) == pytest.approx(100 * (whole - part) / whole, abs=0.1)
    assert wait[-1].rstrip("| ") == "100.0"
    graph = json.loads((output(tmp_path) / "wall_clock.json").read_text())["timemory"]["wall_clock"]["ranks"][0]["graph"]
    assert [(node["depth"], node["entry"]["laps"]) for node in graph][:2] == [(0, 1), (1, 1)]
