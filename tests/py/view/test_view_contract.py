# SPDX-License-Identifier: BSD-3-Clause
"""Answers to every kind of question with every parameter, on experiments of every kind, follow src/view/contract.json. A fixture in
conftest.py validates each answer."""

import json
import re
import shutil
import subprocess
import sys

import contract
import jsonschema
import pytest
from commandline import run
from conftest import ROOT
from spartito.analysis import Error
from spartito.base.messages import Refused
from spartito.view import kinds, payload

PROGRAM = """
import asyncio, queue, sys, threading, time
import spartito
def leaf(n): return n + 1
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def worker(q, lock):
    for _ in range(5):
        with lock: time.sleep(.002)
        q.put(leaf(1))
async def nap(n): await asyncio.sleep(.001 * n)
async def main(): await asyncio.gather(*(nap(n) for n in range(4)))
def files():
    with open("written.txt", "w") as f: f.write("x" * int(sys.argv[1]))
    with open("written.txt") as f: return f.read()
def numbers():
    yield from range(3)
q, lock = queue.Queue(), threading.Lock()
threads = [threading.Thread(target=worker, args=(q, lock)) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
files(), fib(8), list(numbers())
asyncio.run(main())
spartito.counter("depth", 4); spartito.marker("here"); spartito.parameter("p", 3)
kept = [bytearray(5000) for _ in range(50)]
end = time.time() + .2
while time.time() < end: fib(9)
"""
OPTIONS = ("--trace", "--c-calls", "--io", "--waits", "--metric", "rusage:ru_minflt", "--lines", "__main__:*")
RUNS = {
    "calls": OPTIONS,
    "before": OPTIONS,
    "memory": ("--memory-profile",),
    "samples": ("--sample", "--sample-rate", "400"),
}
OLD = ("v1-trace", "v3-mpi", "v4-profile", "v5-memory", "v5-waits")
BASES = {"calls": "before", "before": "v1-trace"}  # the experiment with which each one is compared, "calls" by default
# a value of each parameter that is valid for each kind with that parameter
VALUES = {
    "process": "0", "location": "0", "begin": "0.001", "end": "0.05", "limit": "2", "pixels": "50", "rows": "0-0", "name": "depth",
    "share": "0.2", "file": "1", "metric": "ru_minflt", "levels": "3", "region": "1", "regions": "2", "over": "threads",
}  # fmt: skip
OTHERS = {("metrics", "over"): "sum", ("metrics", "name"): "ru_minflt"}


@pytest.fixture(scope="module")
def experiments(tmp_path_factory):
    """{name: directory} of the experiments of RUNS and of the old raw files."""
    place = tmp_path_factory.mktemp("contract")
    (place / "program.py").write_text(PROGRAM)
    made = {}
    for name, options in RUNS.items():
        measured = [sys.executable, "program.py", "5"]
        command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", place / name, "--", *measured]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        made[name] = place / name
    for name in OLD:
        made[name] = place / name
        (made[name] / "raw").mkdir(parents=True)
        for file in (ROOT / "tests/old-raw").glob(name + "*"):
            shutil.copy(file, made[name] / "raw")
    return made


def asked(experiment, kind, parameters):
    """The answer, or None if the experiment cannot answer a question of that kind."""
    try:
        return experiment.get(kind, parameters)
    except (Refused, Error):
        return None


SELECTIONS = ({}, {"process": "0"}, {"location": "0"}, {"begin": "0.001", "end": "0.05"}, {"metric": "ru_minflt"}, {"limit": "2"})


def answers(directory, base):
    """(kind, payload) of all questions that the experiment can answer, alone and compared with another one."""
    for compare in (None, base):
        experiment = kinds.open_experiment(str(directory), compare=compare and str(compare))
        files = payload.unpack(experiment.get("regions", {}))[0]["files"]
        of_files = [{"file": str(i)} for i, file in enumerate(files) if not file or "program.py" in file]
        for kind in contract.contract()["properties"]:
            for parameters in of_files if kind == "source" else SELECTIONS:
                if (data := asked(experiment, kind, parameters)) is not None:
                    yield kind, data


@pytest.fixture(scope="module")
def seen(experiments):
    """({experiment: kinds with an answer}, {kind: members and columns of its answers})."""
    found, members = {}, {}
    for name, directory in experiments.items():
        for kind, data in answers(directory, experiments[BASES.get(name, "calls")]):
            wrong = contract.wrong(kind, data)
            assert not wrong, f"{name}: {wrong}"
            found.setdefault(name, set()).add(kind)
            meta, columns = payload.unpack(data)
            members.setdefault(kind, set()).update(meta, columns)
    return found, members


def test_every_answer_is_as_agreed(seen):
    found, _ = seen
    every = contract.contract()["properties"].keys()
    assert found["calls"] == every - {"critical", "matrix", "waits"}
    assert found["v3-mpi"] >= {"critical", "matrix", "messages", "waits", "facts", "tree", "flat"}


def test_every_optional_part_is_seen_somewhere(seen):
    _, members = seen
    rest = set()
    for kind, shape in contract.contract()["properties"].items():
        for which in ("meta", "columns"):
            rest |= {(kind, name) for name in shape["properties"][which].get("properties", {}).keys() - members[kind]}
    assert rest <= {("regions", "renamed"), ("regions", "renamed_modules")}, rest


def test_what_is_not_agreed_is_found(experiments):
    experiment = kinds.open_experiment(str(experiments["calls"]))
    meta, columns = payload.unpack(experiment.get("markers", {}))
    assert not contract.wrong("markers", payload.repack(meta, columns))
    assert "hidden" in contract.wrong("markers", payload.repack({**meta, "hidden": "two"}, columns))
    assert "more" in contract.wrong("markers", payload.repack({**meta, "more": 1}, columns))
    assert "time" in contract.wrong("markers", payload.repack(meta, {"location": columns["location"]}))
    assert "more" in contract.wrong("markers", payload.repack(meta, {**columns, "more": columns["time"]}))
    assert "time/type" in contract.wrong("markers", payload.repack(meta, {**columns, "time": columns["location"]}))


def test_every_kind_takes_the_parameters_that_it_names_and_no_others(experiments):
    whole = contract.contract()["properties"]
    parameters = {name for kind in whole.values() for name in kind["properties"]["parameters"].get("properties", ())}
    assert parameters == VALUES.keys()
    calls = kinds.open_experiment(str(experiments["calls"]), compare=str(experiments["before"]))
    ranks = kinds.open_experiment(str(experiments["v3-mpi"]))
    for kind, shape in whole.items():
        experiment = ranks if kind in ("critical", "messages", "matrix", "waits") else calls
        takes = shape["properties"]["parameters"]
        taken = takes.get("properties", {})
        base = {name: VALUES[name] for name in takes.get("required", ())}
        for name in parameters:
            try:
                experiment.get(kind, {**base, name: OTHERS.get((kind, name), VALUES[name])})
            except (Refused, Error) as e:
                assert name not in taken, f"{kind} does not take {name}: {e}"
            else:
                assert name in taken, f"{kind} takes {name}"


def test_the_schema_is_one_and_has_the_kinds_of_the_c_side():
    whole = contract.contract()
    jsonschema.Draft7Validator.check_schema(whole)
    table = (ROOT / "src/view/view.c").read_text(encoding="utf-8")
    rows = set(re.findall(r'^\s*\{"(\w+)", SP_VIEW_', table, re.M)) | {"regions"}
    assert rows < whole["properties"].keys()
    used = set(re.findall(r'"#/definitions/(\w+)"', json.dumps(whole)))
    assert used == whole["definitions"].keys()


def test_the_docstring_is_made_of_the_schema(tmp_path):
    """kinds.py was generated from the current schema. If this fails, run `make docs`."""
    for part in ("python", "src/view"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", "*.c"))
    copy = tmp_path / "python/spartito/view/kinds.py"
    done = run([sys.executable], tmp_path / "python/generate.py", "kinds")
    assert done.returncode == 0, done.stderr
    assert copy.read_text(encoding="utf-8") == (ROOT / "python/spartito/view/kinds.py").read_text(encoding="utf-8")
