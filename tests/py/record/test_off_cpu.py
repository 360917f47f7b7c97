# SPDX-License-Identifier: BSD-3-Clause
"""Off-CPU time: running and waiting of each call path, compared with the threads' own processor clocks."""

import json
import re
import signal
import subprocess
import sys

import pytest
from chrometrace import slices
from programs import WITHOUT_GIL
from spartito._analyse import Model
from spartito.view import payload

PROGRAM = """
import json, os, queue, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
def nap():
    time.sleep(0.4)
def both():
    burn(0.1)
    nap()
idle = queue.Queue()
threading.Thread(target=idle.get, daemon=True).start()
both()
nap()
pid = os.fork()
if not pid:
    nap()
    sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)
"""


def measured(tmp_path, *options, program=PROGRAM):
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "run", *options, "--", sys.executable]
    done = subprocess.run([*command, tmp_path / "program.py"], capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    return Model(str(tmp_path / "run"))


MODES = [(), ("--trace",), ("--metric", "rusage:ru_utime"), ("--waits", "--trace")]


@pytest.mark.parametrize("options", MODES, ids="".join)
def test_running_and_waiting(tmp_path, options):
    m = measured(tmp_path, *options)
    rows = {row["name"]: row for row in m.flat()}
    nap, burn = rows["__main__:nap"], rows["__main__:burn"]

    def off(row):  # on a busy machine a thread may also be preempted where it waits
        return row["waiting"] + row["metrics"]["preempted"]["excl"] * 1e-9

    assert nap["visits"] == 3 and off(nap) > 3 * 0.4 * 0.95 and nap["running"] < 0.1
    assert 0.1 * 0.95 < burn["running"] < 0.2 and burn["waiting"] < nap["waiting"] / 2
    for row in rows.values():
        assert row["running"] >= 0 and row["running"] + row["waiting"] <= row["excl"] * (1 + 1e-9) + 1e-9
    # a thread that waits to the end has no event after its wait
    idle = [row for row in m.tree() if row["name"] == "threading:Condition.wait"]
    assert sum(map(off, idle)) > 0.95 * sum(row["excl"] for row in idle) > 0.5
    # callers have the waits of their callees in the metric
    both = next(row for row in m.tree() if row["name"] == "__main__:both")
    assert both["metrics"]["waiting"]["incl"] * 1e-9 > 0.4 * 0.95 and both["waiting"] < 0.2
    # the sum of running time is what the threads' clocks say
    for loc in m.info()["locations"]:
        # the interpreter's own end is in no function; a build without the GIL is built without optimizations for the tests
        assert loc["running"] == pytest.approx(loc["cpu"], rel=0.1, abs=0.08 if WITHOUT_GIL else 0.02)
    assert rows == {row["name"]: row for row in m.flat(sort="running")}
    assert [row["name"] for row in m.flat(sort="waiting", limit=2)][0] in ("__main__:nap", "threading:Condition.wait")


KILLED = """
import os, queue, signal, threading, time
def spin():
    while True: pass
threading.Thread(target=queue.Queue().get, daemon=True).start()
threading.Thread(target=spin, daemon=True).start()
time.sleep(0.5)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_last_function_of_a_killed_process(tmp_path):
    """Nobody reads the processor clocks of its threads: the names of the functions decide."""
    (tmp_path / "program.py").write_text(KILLED)
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "run", tmp_path / "program.py"]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == -signal.SIGKILL
    rows = {row["name"]: row for row in Model(str(tmp_path / "run")).flat()}
    waits, spin = rows["threading:Condition.wait"], rows["__main__:spin"]
    assert waits["waiting"] > 0.45 and waits["running"] < 0.05
    assert spin["excl"] > 0.3 and spin["waiting"] == 0


PAUSED = """
import spartito, threading, time
def burn():
    end = time.thread_time() + 0.3
    while time.thread_time() < end: pass
    spartito.pause()
    time.sleep(0.5)
    spartito.resume()
def work():
    time.sleep(0.9)
burn()
thread = threading.Thread(target=work)
thread.start()
time.sleep(0.3)
spartito.pause()
time.sleep(0.2)
spartito.resume()
thread.join()
"""


@pytest.mark.parametrize("options", MODES, ids="".join)
def test_a_pause_is_not_waiting(tmp_path, options):
    rows = {row["name"]: row for row in measured(tmp_path, *options, program=PAUSED).flat()}
    burn, work = rows["__main__:burn"], rows["__main__:work"]
    assert burn["waiting"] < 0.1 and burn["running"] > 0.3 * 0.95
    # the pause of another thread is in the middle of this wait
    assert work["running"] < 0.1 and work["waiting"] + work["metrics"]["preempted"]["excl"] * 1e-9 > 0.5


def test_reports(tmp_path):
    measured(tmp_path)
    for word in "waits", "flat", "tree":
        command = [sys.executable, "-m", "spartito", "report", word, "--json", tmp_path / "run"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        if word == "waits":
            kinds = {(row["name"], row["kind"]) for row in found["off_cpu"]}
            assert ("threading:Condition.wait", "queue") in kinds and ("__main__:nap", "other") in kinds
        else:
            assert found["running"] <= found["busy"]


def test_kinds_of_the_user(tmp_path, monkeypatch):
    measured(tmp_path)
    kinds = tmp_path / "kinds.txt"
    monkeypatch.setenv("SPARTITO_WAIT_KINDS", str(kinds))
    command = [sys.executable, "-m", "spartito", "report", "waits", tmp_path / "run"]
    kinds.write_text("# mine\ncoffee  __main__:nap __main__:b*\n")
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
    assert "coffee" in done.stdout and done.returncode == 0, done.stderr
    kinds.write_text("coffee\n")
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 1 and f"{kinds}:1: a line is a kind" in done.stderr and done.stderr.count("\n") == 1
    # the program has ended: its status is its own
    command = [sys.executable, "-m", "spartito", "run", "-o", tmp_path / "again", "--", sys.executable, tmp_path / "program.py"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0 and f"{kinds}:1: a line is a kind" in done.stderr and "next: " in done.stderr


def summary(tmp_path, program):
    """What `run` and `report waits` print."""
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-m", "spartito", "run", "-o", tmp_path / "run", "--", sys.executable, tmp_path / "program.py"]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
    shown = [sys.executable, "-m", "spartito", "report", "waits", tmp_path / "run"]
    report = subprocess.run(shown, capture_output=True, encoding="utf-8", timeout=60)
    assert (run.returncode, report.returncode, report.stderr) == (0, 0, ""), run.stderr + report.stderr
    return run.stderr, report.stdout


def test_preemption_is_named(tmp_path):
    """Three processes compute for 1 s each, on one processor."""
    program = PROGRAM.partition("def nap")[0] + """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
if os.fork(): os.fork()
burn(1)
"""
    for text in summary(tmp_path, program):
        assert re.search("^preempted: .* s of 3 threads ", text, re.MULTILINE), text


def test_a_run_that_waited_names_the_report(tmp_path):
    run, report = summary(tmp_path, "import time\ndef f(): time.sleep(2)\nf()\n")
    assert re.search("next: spartito report waits \\S+\n$", run)
    assert "`spartito run --waits` records for what" in report


def waited(m):
    """Seconds in which each location waited, in the profile."""
    return [
        sum(row["metrics"]["waiting"]["excl"] for row in m.flat(location=i)) * 1e-9 for i in range(len(m.info()["locations"]))
    ]


def selected(m, **span):
    """Nanoseconds by metric and region, of a range of time."""
    meta, columns = payload.unpack(m.view("flat", **span))
    assert not meta.get("unranged")
    metrics = [name for name in columns if name.startswith("metric:") and name.endswith(":excl")]
    return {(name, region): ns for name in metrics for region, ns in zip(columns["region"], columns[name])}


@pytest.mark.parametrize("merged", [False, True], ids=["raw", "merged"])
def test_waiting_over_time(tmp_path, merged):
    m = measured(tmp_path, "--trace")
    if merged:
        subprocess.run([sys.executable, "-m", "spartito", "finalize", tmp_path / "run"], check=True, capture_output=True)
        m = Model(str(tmp_path / "run"))
    meta, drawn = payload.unpack(m.view("overview"))
    whole, width = waited(m), (meta["end"] - meta["begin"]) / meta["pixels"]
    pixels = [0.0] * len(whole)
    for location, share in zip(drawn["location"], drawn["waiting"]):
        pixels[location] += share * width
    assert pixels == pytest.approx(whole, abs=0.005) and max(whole) > 0.5
    # a range: two halves are the whole, and a wait that is in both is divided
    middle = (meta["begin"] + meta["end"]) / 2
    halves = [selected(m, begin=meta["begin"], end=middle), selected(m, begin=middle, end=meta["end"])]
    for key, ns in selected(m).items():
        assert sum(half.get(key, 0) for half in halves) == pytest.approx(ns, rel=0.01, abs=1e5), key
    assert all(sum(ns for (name, _), ns in half.items() if name == "metric:waiting:excl") > 0.2e9 for half in halves)


def test_waiting_in_exports(tmp_path):
    m = measured(tmp_path, "--trace")
    whole = sum(waited(m))
    waits = [(names[-2], end - begin) for _, names, begin, end in slices(m, tmp_path / "chrome.json") if names[-1] == "waiting"]
    assert sum(time for _, time in waits) == pytest.approx(whole, rel=0.01)
    assert sum(time for name, time in waits if "nap" in name) > 0.9
    m.convert("otf2", str(tmp_path / "otf2"))
    command = ["otf2-print", "--warnings-as-errors", tmp_path / "otf2" / "traces.otf2"]
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    values = re.findall(r'^METRIC .*\("waiting" <\d+>; [^;]*; (\d+)\)', text, re.MULTILINE)
    assert sum(map(int, values)) * 1e-9 == pytest.approx(whole, rel=0.01)


def test_the_processor_time_of_a_pause_is_not_that_of_the_measurement(tmp_path):
    """The process computes 0.3 s during a pause, and forks then; the child computes as long, too, before it resumes."""
    program = """
import os, time, spartito
def compute():
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
spartito.pause()
compute()
child = os.fork()
if not child: compute()
spartito.resume()
if child: os.waitpid(child, 0)
"""
    processes = measured(tmp_path, program=program).info()["processes"]
    used = [int(p["meta"]["cpu_time"]) * 1e-9 for p in processes]
    assert len(used) == 2 and max(used) < 0.25, used
