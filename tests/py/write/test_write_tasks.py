# SPDX-License-Identifier: BSD-3-Clause
"""Threads and tasks in OTF2, read by otf2-print."""

import re
import subprocess
import sys
from collections import Counter

import pytest
from chrometrace import slices
from commandline import run
from spartito._analyse import Model

PROGRAM = """
import asyncio, threading

async def child():
    await asyncio.sleep(0)

async def failing():
    raise ValueError

async def main():
    await asyncio.gather(asyncio.create_task(child(), name="first child"), failing(), return_exceptions=True)

def spin():
    barrier.wait()
    running.append(1)
    while len(running) < 2:  # the other one has to ask for the GIL
        pass

asyncio.run(main())
barrier, running = threading.Barrier(2), []
threads = [threading.Thread(target=spin) for _ in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """(model, {kind of record: (locations, texts)} of otf2-print, experiment)"""
    cwd = tmp_path_factory.mktemp("tasks")
    spartito = [sys.executable, "-m", "spartito"]
    (cwd / "program.py").write_text(PROGRAM)
    words = ("run", "-q", "--trace", "--gil", "--to", "otf2", "-o", cwd / "x", "--", sys.executable, "program.py")
    done = run(spartito, *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    (anchor,) = cwd.rglob("traces.otf2")
    check = subprocess.run(["otf2-print", "--warnings-as-errors", anchor], capture_output=True, text=True, check=True)
    records = {}
    for line in re.sub(r"\n +ADDITIONAL ATTRIBUTES:", " ADDITIONAL ATTRIBUTES:", check.stdout).splitlines():
        match = re.match(r"([A-Z_]+) +(\d+) +\d+ +(.*)", line)
        if match:
            records.setdefault(match[1], []).append((int(match[2]), match[3]))
    return Model(str(cwd / "x")), records, cwd / "x"


def test_threads(trace):
    _, records, _ = trace
    created = [text for _, text in records["THREAD_CREATE"]]
    waited = [text for _, text in records["THREAD_WAIT"]]
    assert len(created) == 2 and sorted(created) == sorted(waited)
    assert len(records["THREAD_BEGIN"]) == len(records["THREAD_END"]) == 2


def test_tasks(trace):
    model, records, _ = trace
    tasks = model.tasks()["tasks"]
    (child,) = [t for t in tasks if t["name"] == "first child"]
    created, ended, switched = (records[f"THREAD_TASK_{what}"] for what in ("CREATE", "COMPLETE", "SWITCH"))
    assert len(created) == len(ended) == len(tasks)
    assert len(switched) == 2 * sum(t["steps"] for t in tasks)

    def number(text):
        return int(re.search(r"Generation Number: (\d+)", text)[1])

    assert [number(text) for _, text in created] == [*range(1, len(tasks) + 1)]
    (first,) = [text for _, text in created if "first child" in text]
    assert "__main__:child" in first and number(first) == child["number"]
    assert Counter(re.search(r"returned|raised", text)[0] for _, text in ended) == Counter(t["state"] for t in tasks)
    steps = Counter(number(text) for _, text in switched)
    assert {t["number"]: t["steps"] for t in tasks} == {n: k for n, k in steps.items() if n}
    waits = [text for _, text in switched if "__sleep0" in text]
    assert len(waits) == 1 and number(waits[0]) == 0


def test_waits_for_the_gil(trace):
    _, records, _ = trace
    waits = [(where, text) for where, text in records["ENTER"] if "waiting for the GIL" in text]
    assert waits
    assert Counter(where for where, _ in waits) == Counter(
        where for where, text in records["LEAVE"] if "waiting for the GIL" in text
    )


def test_waits_for_the_gil_have_their_length(trace):
    """Not only their number: the record of the off-CPU time has the same time as that of the wait."""
    model, _, directory = trace
    sums = Counter()
    for _, names, begin, end in slices(model, directory.parent / "trace.json"):
        sums[names[-1]] += end - begin
    (metric,) = [m for m in model.info()["metrics"] if m["name"] == "gil_wait"]
    assert metric["total"] > 0
    assert sums["waiting for the GIL"] == pytest.approx(metric["total"] * 1e-9, rel=0.05, abs=1e-4)
    assert sums["waiting"] > 0  # of the main thread, for the others


def test_merged(trace):
    """The merged experiment has the same tasks."""
    model, _, directory = trace
    done = run([sys.executable, "-m", "spartito"], "finalize", "--force", directory)
    assert done.returncode == 0, done.stderr
    assert (directory / "merged").exists()
    assert Model(str(directory)).tasks() == model.tasks()
