# SPDX-License-Identifier: BSD-3-Clause
"""Samples of what threads wait for only without the GIL: the locks inside objects, and the pauses of all threads."""

import json
import subprocess
import sys

import pytest
from programs import WITHOUT_GIL
from spartito._analyse import Model
from spartito.experiments import waiting

pytestmark = pytest.mark.skipif(not WITHOUT_GIL, reason="this Python has a GIL")

PROGRAM = """
import gc, json, random, threading, time
gc.disable()
waited = {}
def append():  # waits for the lock of the list while another thread sorts it
    sorting.wait()
    time.sleep(0.05)
    begin = time.monotonic()
    big.append(0.5)
    waited["append"] = time.monotonic() - begin
def acquire():  # waits for a lock of the program in the meantime
    begin = time.monotonic()
    with lock:
        waited["acquire"] = time.monotonic() - begin
def spin():  # is stopped while another thread collects garbage
    longest, last = 0, time.monotonic()
    spinning.set()
    while not over:
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    waited["spin"] = max(longest, time.monotonic() - last)
def during(function, *targets):
    threads = [threading.Thread(target=t) for t in targets]
    for t in threads: t.start()
    function()
    return threads
def sort():
    sorting.set()
    big.sort()
big = [random.random() for _ in range(2_000_000)]
over, sorting, spinning, lock = False, threading.Event(), threading.Event(), threading.Lock()
with lock:
    started = during(sort, append, acquire)
for t in started: t.join()
garbage = [[i] for i in range(3_000_000)]
def collect():
    spinning.wait()
    gc.collect()
started = during(collect, spin)
over = True
for t in started: t.join()
print(json.dumps(waited))
"""


@pytest.mark.parametrize("options", [["--sample-native"], []])
def test_waits_are_named(tmp_path, options):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito", "run", "--sample", *options, "-o", tmp_path / "run", "--"]
    done = subprocess.run([*command, sys.executable, tmp_path / "program.py"], capture_output=True, text=True, check=True)
    waited, m = json.loads(done.stdout), Model(str(tmp_path / "run"))
    found = {row["qualname"]: row["metrics"] for row in m.flat() if row["module"] == "__main__"}
    for function, state in (("append", "object_lock"), ("spin", "stopped"), ("acquire", "idle")):
        times = {s: found[function][f"sampled_{s}"]["incl"] * 1e-9 for s in ("object_lock", "stopped", "idle", "gil")}
        # on a busy machine it may be without a processor before it waits or after that, which counts as running
        preempted = 0.0 if function == "spin" else found[function]["sampled_running"]["incl"] * 1e-9
        assert times[state] + preempted == pytest.approx(waited[function], rel=0.2, abs=0.1), (function, waited, found)
        assert times.pop(state) > 0.5 * waited[function]
        others = {"object_lock", "stopped", "gil"} - {state}  # before and after it is idle
        assert sum(times[s] for s in others) < 0.1 * waited[function]
    kinds = waiting.sums(waiting.rows(m))
    totals = {row["name"]: row["total"] * 1e-9 for row in m.info()["metrics"]}
    assert kinds["object lock"] == pytest.approx(totals["sampled_object_lock"])
    assert kinds["stopped"] == pytest.approx(totals["sampled_stopped"])
