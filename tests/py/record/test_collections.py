# SPDX-License-Identifier: BSD-3-Clause
"""Garbage collections by call path, compared with what a callback of the program counts."""

import json
import subprocess
import sys

import pytest
from commandline import run
from programs import HOOKS
from spartito._analyse import Model

PROGRAM = """
import gc, json, os, sys, threading
gc.disable()
gc.collect()
theirs = {}
def count(phase, info):
    if phase == "stop":
        key = f"{where[threading.get_ident()]} {info['generation']}"
        number, objects = theirs.get(key, (0, 0))
        theirs[key] = number + 1, objects + info["collected"]
where = {threading.get_ident(): "build"}
gc.callbacks.append(count)
class Ring:
    def __init__(self): self.ring = self
    def __del__(self): finalize()
def finalize(): pass
def build(n):
    where[threading.get_ident()] = "build"
    for i in range(n): Ring()
    for generation in (0, 1, 1, 2): gc.collect(generation)
def automatic():
    where[threading.get_ident()] = "automatic"
    gc.enable()
    kept = []
    for i in range(20_000): kept.append([i])
    gc.disable()
def thread():
    where[threading.get_ident()] = "thread"
    gc.collect(0)
def child():
    where[threading.get_ident()] = "child"
    gc.collect(2)
for n in range(3): build(n)
automatic()
t = threading.Thread(target=thread)
t.start()
t.join()
del t
pid = os.fork()
if not pid:
    theirs.clear()
    child()
    with open(sys.argv[1], "w") as f: json.dump(theirs, f)
    os._exit(0)
os.waitpid(pid, 0)
gc.callbacks.remove(count)
json.dump(theirs, sys.stdout)
"""


def measured(spartito, tmp_path, program, *options, arguments=()):
    (tmp_path / "program.py").write_text(program)
    # Python 3.12 and later warn of fork() if a thread has not quite ended after join()
    python = [sys.executable, "-W", "ignore::DeprecationWarning"]
    done = run(spartito, "run", "-q", "-o", tmp_path / "run", *options, "--", *python, tmp_path / "program.py", *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return Model(str(tmp_path / "run")), done.stdout


def rows_of(model):
    return [row for row in model.tallies()["rows"] if row["what"] == "collection"]


def by_function(model, process):
    """{"function generation": [count, objects]} of a process, without what happened outside of the program's functions."""
    found = {}
    for row in rows_of(model):
        assert row["time"] > 0
        of_program = row["file"].endswith("program.py") and row["name"] != "__main__:<module>"
        if of_program and model.info()["locations"][row["location"]]["process"] == process:
            key = f"{row['name'].partition(':')[2]} {row['generation']}"
            assert key not in found
            found[key] = [row["count"], row["objects"]]
    return found


@pytest.mark.parametrize("hook", HOOKS)
def test_numbers_are_those_of_a_callback(spartito, tmp_path, hook):
    model, out = measured(spartito, tmp_path, PROGRAM, "--hook", hook, arguments=[tmp_path / "child.json"])
    theirs = json.loads(out)
    assert theirs["build 1"][0] == 6 and theirs["automatic 0"][0] > 0
    assert theirs["build 0"][1] >= 3  # 1 + 2 rings; before 3.11 their dictionaries count, too
    assert by_function(model, 0) == theirs
    assert by_function(model, 1) == json.loads((tmp_path / "child.json").read_text())
    tallies = model.tallies()
    rows = rows_of(model)
    (row,) = [row for row in rows if row["name"] == "__main__:thread"]
    assert tallies["stacks"][row["path"]][-1] == "__main__:thread" and row["line"] == PROGRAM.split("\n").index("def thread():") + 1
    times = {row["name"]: 0.0 for row in rows}
    for row in rows:
        times[row["name"]] += row["time"]
    for row in model.flat():
        assert times.get(row["name"], 0.0) <= row["incl"]  # finalizers are calls in it
    sums = model.info()["collections"]
    for row in sums:
        those = [one for one in rows if one["generation"] == row["generation"]]
        assert [sum(one[key] for one in those) for key in ("count", "objects")] == [row["count"], row["objects"]]
        assert sum(one["time"] for one in those) == pytest.approx(row["time"])
    shown = run(spartito, "info", tmp_path / "run").stdout
    number = sum(row["count"] for row in sums)
    assert f"\ngarbage     {number:,} collections ({sums[0]['count']:,} of generation {sums[0]['generation']}, " in shown
    assert json.loads(run(spartito, "info", "--json", tmp_path / "run").stdout)["collections"] == sums


def test_merged_and_packed(spartito, tmp_path):
    model, _ = measured(spartito, tmp_path, PROGRAM, arguments=[tmp_path / "child.json"])
    before = model.tallies()
    assert run(spartito, "finalize", "--force", tmp_path / "run").returncode == 0 and (tmp_path / "run" / "merged").exists()
    assert Model(str(tmp_path / "run")).tallies() == before
    assert run(spartito, "pack", tmp_path / "run").returncode == 0
    assert run(spartito, "unpack", "-o", tmp_path / "again", tmp_path / "run.spartito").returncode == 0
    assert Model(str(tmp_path / "again")).tallies() == before


@pytest.mark.skipif("_posixsubprocess" in sys.builtin_module_names, reason="a built-in module cannot be replaced")
def test_they_are_recorded_if_child_processes_cannot_be_watched(spartito, tmp_path):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "_posixsubprocess.py").write_text("raise ValueError('broken')\n")
    (tmp_path / "program.py").write_text("import gc\ndef collect(): gc.collect(1)\ncollect()\n")
    program = ["env", f"PYTHONPATH={tmp_path / 'modules'}", sys.executable, tmp_path / "program.py"]
    done = run(spartito, "run", "-q", "-o", tmp_path / "run", "--", *program)
    assert done.returncode == 0
    (collected,) = by_function(Model(str(tmp_path / "run")), 0).items()
    assert collected[0] == "collect 1" and collected[1][0] == 1
    shown = run(spartito, "info", tmp_path / "run")
    assert "how child processes begin and end, because a module for that cannot be imported" in shown.stdout + shown.stderr


CURIOUS = """
import gc
gc.disable()
def first(): gc.collect()
def second(): gc.collect()
first()
(ours,) = [f for f in gc.callbacks if "spartito" in repr(f)] or [None]
print(type(gc.callbacks).__name__, [f for f in gc.callbacks if f is not ours])
if ours:
    for arguments in ((), (1, 2), ("stop", {}), ("stop", {"generation": "x", 2: 3}), ("start", {}), ("start",)):
        assert ours(*arguments) is None
gc.callbacks.clear()
second()
"""


def test_a_program_that_looks_at_the_callbacks(spartito, tmp_path):
    model, out = measured(spartito, tmp_path, CURIOUS)
    assert out == subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, check=True).stdout
    assert by_function(model, 0) == {"first 2": [1, by_function(model, 0)["first 2"][1]]}


PART = """
import gc, sys
import spartito
gc.disable()
def f(n):
    for i in range(n): gc.collect()
f(1)
before = list(gc.callbacks)
for run in range(2):
    with spartito.measure(f"{sys.argv[1]}-{run}"):
        f(2)
        spartito.pause()
        f(4)
        spartito.resume()
        f(8)
        assert len(gc.callbacks) == len(before) + 1
    f(16)
assert gc.callbacks == before
"""


def test_a_measurement_of_a_part_with_a_pause(tmp_path):
    (tmp_path / "program.py").write_text(PART)
    subprocess.run([sys.executable, tmp_path / "program.py", tmp_path / "part"], check=True)
    for number in range(2):
        assert by_function(Model(str(tmp_path / f"part-{number}")), 0)["f 2"][0] == 10
