# SPDX-License-Identifier: BSD-3-Clause
"""The same program under Score-P 8.4 with the bindings 4.5.1 and under Spartito has the same call tree, visits, parameters and
trace records. The expected numbers below come from an experiment of Score-P with Python 3.11."""

import subprocess
import sys
from collections import Counter

import pytest
from foreign import OTF2_PRINT
from pycubexr import CubexParser
from scorep_helpers import measured

# A new thread gets the GIL when the first one waits for it, and not before: otherwise the first thread would not wait.
PROGRAM = """\
import sys
import threading
import scorep.user
import scorep.instrumenter

sys.setswitchinterval(100)


class Grid:
    def __init__(self, n):
        self.cells = list(range(n))

    def smooth(self):
        self.cells = [step(c) for c in self.cells]


def step(c):
    return c + 1


def worker(n):
    g = Grid(n)
    with scorep.user.region("sweep"):
        g.smooth()


@scorep.user.region()
def decorated():
    return step(0)


with scorep.instrumenter.enable("measured"):
    scorep.user.parameter_int("order", -3)
    scorep.user.parameter_string("case", "small")
    t = threading.Thread(target=worker, args=(3,), name="second")
    t.start()
    t.join()
    worker(2)
    decorated()
    scorep.user.rewind_begin("thrown away")
    step(1)
    scorep.user.rewind_end("thrown away", True)
    with scorep.instrumenter.disable("quiet"):
        worker(5)
    scorep.user.disable_recording()
    step(2)
    scorep.user.enable_recording()
    step(3)
"""
MEASURED = "user_instrumenter:measured"
# calls of the program, the same in all versions of Python: path below the program, visits in the first and in the second thread
OWN = """\
user_instrumenter:measured 1 0
user_instrumenter:measured/__main__:worker 1 0
user_instrumenter:measured/__main__:worker/__main__.Grid:__init__ 1 0
user_instrumenter:measured/__main__:worker/user:sweep 1 0
user_instrumenter:measured/__main__:worker/user:sweep/__main__.Grid:smooth 1 0
user_instrumenter:measured/__main__:worker/user:sweep/__main__.Grid:smooth/__main__:<listcomp> 1 0
user_instrumenter:measured/__main__:worker/user:sweep/__main__.Grid:smooth/__main__:<listcomp>/__main__:step 2 0
user_instrumenter:measured/__main__:decorated 1 0
user_instrumenter:measured/__main__:decorated/__main__:step 1 0
user_instrumenter:measured/__main__:step 2 0
user_instrumenter:measured/user_instrumenter:quiet 1 0
user_instrumenter:measured/user_instrumenter:quiet/user:sweep 1 0
user_instrumenter:measured/MEASUREMENT OFF 1 0
THREADS/threading.Thread:run 0 1
THREADS/threading.Thread:run/__main__:worker 0 1
THREADS/threading.Thread:run/__main__:worker/__main__.Grid:__init__ 0 1
THREADS/threading.Thread:run/__main__:worker/user:sweep 0 1
THREADS/threading.Thread:run/__main__:worker/user:sweep/__main__.Grid:smooth 0 1
THREADS/threading.Thread:run/__main__:worker/user:sweep/__main__.Grid:smooth/__main__:<listcomp> 0 1
THREADS/threading.Thread:run/__main__:worker/user:sweep/__main__.Grid:smooth/__main__:<listcomp>/__main__:step 0 3
"""
# calls in threads of Python 3.11 between those
LIBRARY = """\
threading.Thread:__init__ 1 0
threading.Thread:__init__/threading:current_thread 1 0
threading.Thread:__init__/threading._MainThread:daemon 1 0
threading.Thread:__init__/threading.Event:__init__ 1 0
threading.Thread:__init__/threading.Event:__init__/threading.Condition:__init__ 1 0
threading.Thread:__init__/threading:_make_invoke_excepthook 1 0
threading.Thread:__init__/_weakrefset.WeakSet:add 1 0
threading.Thread:start 1 0
threading.Thread:start/threading.Event:is_set 1 0
threading.Thread:start/threading.Event:wait 1 0
threading.Thread:join 1 0
threading.Thread:join/threading.Event:is_set 1 0
threading.Thread:join/threading:current_thread 1 0
threading.Thread:join/threading.Thread:_wait_for_tstate_lock 1 0
"""


def rows(text, above=""):
    out = {}
    for line in text.splitlines():
        path, first, second = line.rsplit(" ", 2)
        out[above + path] = (int(first), int(second))
    if sys.version_info >= (3, 12):  # PEP 709: list comprehensions are no functions
        listcomp = "/__main__:<listcomp>"
        out = {p.replace(listcomp, ""): v for p, v in out.items() if not p.endswith(listcomp)}
    return out


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    path = tmp_path_factory.mktemp("same")
    variables = {"SCOREP_ENABLE_TRACING": "true", "SCOREP_METRIC_RUSAGE": "ru_utime,ru_maxrss"}
    return measured(path, PROGRAM, "--thread=pthread", "--noinstrumenter", env=variables)


def profile_of(experiment):
    """({path below the program: (visits in each thread…)}, {path: parameters})."""
    visits, parameters = {}, {}
    with CubexParser(str(experiment / "profile.cubex")) as cube:
        values = cube.get_metric_values(cube.get_metric_by_name("visits"))

        def walk(node, above):
            path = above + [cube.get_region(node).name]
            visits["/".join(path[1:])] = tuple(int(v) for v in values.cnode_values(node, convert_to_exclusive=False))
            if node.parameters:
                parameters["/".join(path[1:])] = node.parameters
            for child in node.get_children():
                walk(child, path)

        for root in cube.get_root_cnodes():
            walk(root, [])
        threads = [location.name for location in cube.get_locations()]
    return visits, parameters, threads


def test_call_tree_visits_and_parameters(experiment):
    visits, parameters, threads = profile_of(experiment)
    assert threads == ["Master thread", "second"]
    want = rows(OWN)
    if sys.version_info[:2] == (3, 11):
        want.update(rows(LIBRARY, MEASURED + "/"))
    assert {path: visits.get(path) for path in want} == want
    own = {p for p in visits if p.split("/")[-1].startswith(("__main__", "user", "MEASUREMENT"))}
    assert own == set(rows(OWN)) - {p for p in rows(OWN) if p.endswith(":run")}
    assert list(parameters) == [MEASURED]
    assert "order" in str(parameters) and "-3" in str(parameters) and "small" in str(parameters)


def records(experiment):
    done = subprocess.run([OTF2_PRINT, experiment / "traces.otf2"], capture_output=True, text=True, check=True)
    return [line.split(None, 1)[0] for line in done.stdout.splitlines() if line[:1].isupper() and " " in line], done.stdout


def test_records_of_the_trace(experiment):
    kinds, text = records(experiment)
    counts = Counter(kinds)
    assert counts["MEASUREMENT_ON_OFF"] == 4 and counts["PARAMETER_INT64"] + counts["PARAMETER_INT"] == 1
    assert counts["PARAMETER_STRING"] == counts["PROGRAM_BEGIN"] == counts["PROGRAM_END"] == 1
    assert counts["THREAD_BEGIN"] == counts["THREAD_END"] == 1
    assert counts["ENTER"] == counts["LEAVE"] and counts["METRIC"] == counts["ENTER"] + counts["LEAVE"]
    if sys.version_info[:2] == (3, 11):
        assert counts["ENTER"] == 47
    # the rewound part is not in the trace: the second call of step() at the top level follows enable_recording()
    assert "thrown away" not in text
    assert text.count('Region: "user:sweep"') == 6


def test_counts_and_levels(experiment):
    done = subprocess.run([OTF2_PRINT, "-G", experiment / "traces.otf2"], capture_output=True, text=True, check=True)
    modes = {name: next(line for line in done.stdout.splitlines() if line.startswith("METRIC_MEMBER") and f'"{name}"' in line)
             for name in ("ru_utime", "ru_maxrss")}
    assert "Mode: ACCUMULATED_START" in modes["ru_utime"] and "Exponent: -6" in modes["ru_utime"]
    assert "Mode: ABSOLUTE_POINT" in modes["ru_maxrss"]


def test_one_metric_value_before_each_enter_and_leave(experiment):
    lines = records(experiment)[1].splitlines()
    events = [line.split() for line in lines if line.startswith(("METRIC", "ENTER", "LEAVE"))]
    for metric, event in zip(events[::2], events[1::2]):
        assert metric[0] == "METRIC" and event[0] in ("ENTER", "LEAVE") and metric[1:3] == event[1:3]


# modules that the launcher of the bindings imported before the program, and modules that the program imports first
IMPORTS = """\
import importlib, threading, tempfile, subprocess, random, scorep
import decimal_of_mine

@scorep.user.region("marked")
def decorated(): pass

decorated()
"""


def test_what_the_launcher_has_imported_is_not_recorded(tmp_path):
    """Under the bindings 4.5.1 the same program has only the imports below."""
    (tmp_path / "decimal_of_mine.py").write_text("def late(): pass\nimport atexit\natexit.register(late)\nlate()\n")
    # a module of the program with the name of a standard module is recorded
    (tmp_path / "random.py").write_text("mine = True\n")
    visits, _, _ = profile_of(measured(tmp_path, IMPORTS))
    found = "__main__:<module>/importlib._bootstrap:_find_and_load"
    assert visits[found] == (2,), "random and decimal_of_mine"
    modules = {path.split("/")[-1] for path in visits if path.endswith(":<module>")}
    assert modules == {"__main__:<module>", "random:<module>", "decimal_of_mine:<module>"}
    assert not [path for path in visits if "_frozen_importlib" in path]
    # neither the code of a decorator of scorep nor calls after the program's last line
    # from 3.15 on the import system forgets the lock of a module after its call
    forgets = {"__main__:<module>/importlib._bootstrap:cb"} if sys.version_info >= (3, 15) else set()
    assert {path for path in visits if path.count("/") < 2} - {"", *forgets} == {
        "__main__:<module>", found, "__main__:<module>/user:marked",
    }  # fmt: skip
    assert [n for path, n in visits.items() if path.endswith("decimal_of_mine:late")] == [(1,)]
