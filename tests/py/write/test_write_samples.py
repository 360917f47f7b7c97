# SPDX-License-Identifier: BSD-3-Clause
"""Samples in OTF2 archives, as calling contexts, and in formats that show counts of calls."""

import json
import shutil
import subprocess
import sys
from collections import Counter

import otf2file
import pytest
from conftest import ROOT
from spartito._analyse import Model
from spartito._sample import check
from test_sample_run import WORK, model, rows, run

from mpi import mpi  # noqa: F401 - a fixture

pytestmark = pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")

PROGRAM = """
import threading
def deep(n):
    return deep(n - 1) if n else work(0.05, 2)
def steps():
    for i in range(3):
        deep(i)
        time.sleep(0.02)
def child():
    work(0.2)
def sleeper():
    rest(0.6, 40)
def worker():
    work(0.3, 150)
threads = [threading.Thread(target=f) for f in (sleeper, worker)]
for t in threads: t.start()
steps()
pid = os.fork()
if not pid:
    child()
    os._exit(0)
os.waitpid(pid, 0)
for t in threads: t.join()
"""

PROGRAM_LINES = (WORK + PROGRAM).splitlines()


def convert(directory, path, *options, to="otf2"):
    command = [sys.executable, "-m", "spartito", "convert", directory, "--to", to, "-o", path, *options]
    return subprocess.run([str(c) for c in command], capture_output=True, encoding="utf-8", timeout=120)


def archive(tmp_path, *options, name="archive", strict=True):
    done = convert(tmp_path / "run", tmp_path / name, *options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return otf2file.read(tmp_path / name / "traces.otf2", strict)


def paths(m, location):
    """{names from the outermost in: (samples, processor time)} of paths with samples of their innermost function."""
    found, stack = {}, []
    for row in m.tree(location=location):
        del stack[row["depth"] :]
        stack.append(row["name"])
        values = tuple(row["metrics"][name]["excl"] for name in ("samples", "sampled_cpu"))
        if any(values):
            found[tuple(stack)] = values
    return found


def sums_of(location):
    """[(samples, processor time)] so far at each sample, and possibly at the end. Several values may have the time of the end: that
    of samples of a thread after its end."""
    metrics = [(time, (v["samples"], v["sampled_cpu"])) for time, v in location["metrics"] if "samples" in v]
    times = [time for time, *_ in location["samples"]]
    assert [time for time, _ in metrics][: len(times)] == times and len(metrics) - len(times) in (0, 1)
    return [sums for _, sums in metrics]


def counted(location):
    """As paths(), from an archive. Samples that equal the one before them are not in the archive, and count for it."""
    found, before, sums, all_sums = {}, None, (0, 0), sums_of(location)
    for (_, steps, *_), now in zip(location["samples"], all_sums):
        path = tuple(name for name, _, _ in steps)
        for where, grown in ((before, (now[0] - sums[0] - 1, 0)), (path, (1, now[1] - sums[1]))):
            if any(grown):
                had = found.get(where, (0, 0))
                found[where] = (had[0] + grown[0], had[1] + grown[1])
        before, sums = path, now
    had, last = found[before], all_sums[-1]
    found[before] = (had[0] + last[0] - sums[0], had[1] + last[1] - sums[1])
    return found


def distances(location):
    """Distances that OTF2 defines: the number of new contexts, plus one for a function that continued, possibly in another line; 0
    without a change."""
    before, sums = [], 0
    for (_, steps, *_), (_, cpu) in zip(location["samples"], sums_of(location)):
        ran, sums = cpu > sums, cpu
        same = 0
        while same < min(len(steps), len(before)) and steps[same] == before[same]:
            same += 1
        if steps == before:
            yield 1 if ran else 0
        elif same < min(len(steps), len(before)) and steps[same][0] == before[same][0]:
            yield len(steps) - same
        else:
            yield len(steps) - same + 1
        before = steps


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    place = tmp_path_factory.mktemp("sampled")
    run(place, PROGRAM, "--sample-rate", "500")
    return place


@pytest.fixture(scope="module")
def found(sampled):
    return archive(sampled)


def test_every_sample_at_its_call_path(sampled, found):
    m = model(sampled)
    assert len(found["locations"]) == len(m.info()["locations"]) >= 4
    for i, location in enumerate(found["locations"]):
        assert not {"Enter", "Leave"} & set(location["kinds"])
        assert sum(location["kinds"].values()) == location["events"]
        assert location["kinds"].get("CallingContextSample", 0) == len(location["samples"]) > 0
        assert counted(location) == paths(m, i)
    stacks = [{name for name, _, _ in steps} for location in found["locations"] for _, steps, *_ in location["samples"]]
    assert sum("__main__:work" in names for names in stacks) > 50


def test_times_states_and_distances(sampled, found):
    assert found["generators"] == [["sampling at 500 Hz", "TIME", "DECIMAL", -9, 2000000]]
    assert found["members"]["sampled_cpu"] == ["ACCUMULATED_START", "s", -9]
    assert found["members"]["samples"] == ["ACCUMULATED_START", "#", 0]
    for location, known in zip(found["locations"], model(sampled).info()["locations"]):
        times, end = [time for time, *_ in location["samples"]], round(known["end"] * 1e9)
        assert all(a < b or a == b == end for a, b in zip(times, times[1:]))
        assert [distance for _, _, distance, *_ in location["samples"]] == list(distances(location))
        assert {len(state) for *_, state, _ in location["samples"]} == {1}
    states = Counter(state[0] for loc in found["locations"] for *_, state, _ in loc["samples"])
    assert set(states) <= {"running", "gil", "system call", "idle"} and states["running"] > 50 and states["idle"] > 0


def test_lines_that_ran(sampled, found):
    program = str(sampled / "program.py")
    lines = {line for loc in found["locations"] for _, steps, *_ in loc["samples"] for name, file, line in steps[-1:]
             if name == "__main__:work" and file == program}  # fmt: skip
    of = {f["name"]: f for f in model(sampled).lines()}["__main__:work"]
    assert lines == {line for line, _, own, _ in of["lines"] if own} and lines <= {4, 5, 6, 7, 8}
    # the caller's frame has the line of the call
    calls = {(name, line) for steps in found["contexts"] for name, file, line in steps[:-1] if file == program}
    of = {"__main__:deep": "return deep", "__main__:steps": "deep(i)", "__main__:child": "work", "__main__:worker": "work"}
    for name, line in calls:
        assert of.get(name, "") in PROGRAM_LINES[line - 1], (name, line)
    assert {"__main__:deep", "__main__:steps", "__main__:child", "__main__:worker"} <= {name for name, _ in calls}
    assert len({line for name, line in calls if name == "__main__:<module>"}) >= 2
    assert len({json.dumps(steps) for steps in found["contexts"]}) == len(found["contexts"])


def test_an_idle_thread_takes_no_room(sampled, found):
    m = model(sampled)
    (i,) = [i for i in range(len(found["locations"])) if any("__main__:sleeper" in path for path in paths(m, i))]
    assert len(found["locations"][i]["samples"]) < 30 < sum(looks for looks, _ in paths(m, i).values())


def test_samples_as_calls(sampled):
    found = archive(sampled, "--samples-as-calls", name="calls")
    assert not found["contexts"] and not found["generators"]
    for location in found["locations"]:
        kinds = location["kinds"]
        assert "CallingContextSample" not in kinds and kinds["Enter"] == kinds["Leave"] > 0
    done = convert(sampled / "run", sampled / "no", "--samples-as-calls", to="json")
    assert done.returncode == 2 and "--samples-as-calls is for OTF2 archives" in done.stderr
    assert not (sampled / "no").exists()


def test_one_process_and_a_merged_experiment(sampled, found):
    one = archive(sampled, "--process", "1", name="one", strict=False)  # numbers of processes do not change
    (child,) = one["locations"]
    same = [loc for loc in found["locations"] if loc["group"] == child["group"]]
    assert [loc["samples"] for loc in same] == [child["samples"]]
    subprocess.run([sys.executable, "-m", "spartito", "finalize", "--force", "-q", str(sampled / "run")], check=True, timeout=60)
    assert archive(sampled, name="merged") == found


def test_calls_that_were_traced_stay_exact(tmp_path):
    run(tmp_path, "for i in range(5): work(0.05)\n", "--trace")
    found = archive(tmp_path)
    (location,) = found["locations"]
    assert location["kinds"]["Enter"] == location["kinds"]["Leave"] >= 6 and not found["contexts"]


def test_calls_that_were_counted(tmp_path):
    run(tmp_path, "for i in range(5): work(0.05, 2)\n", "--calls")
    found = archive(tmp_path)
    (location,) = found["locations"]
    seen = counted(location)
    for region in "<no Python code>", "<no stack>":  # no calls were recorded there: not in the tree
        seen.pop((region,), None)
    assert seen == paths(model(tmp_path), 0) and ("__main__:<module>", "__main__:work") in {path[:2] for path in seen}


def test_counters_come_with_the_samples(tmp_path):
    program = (
        "import mmap\ndef touches():\n    m = mmap.mmap(-1, 4096 * 20000)\n    for i in range(20000): m[i * 4096] = 1\n"
        "rest(0), touches(), rest(0)\n"
    )
    done = run(tmp_path, program, "--metric", "perf:page-faults", "--sample-rate", "500")
    if "cannot be counted here" in done.stderr:
        pytest.skip("no perf events here")
    (name,) = [x["name"] for x in model(tmp_path).info()["metrics"] if "page-faults" in x["name"]]
    (location,) = archive(tmp_path)["locations"]
    sums = [v[name] for _, v in location["metrics"]]
    total = sum(row["metrics"][name]["excl"] for row in rows(model(tmp_path)).values())
    assert sums == sorted(sums) and sums[-1] == total > 10000


def test_ranks(tmp_path, mpi):  # noqa: F811
    program = """
import glob
from mpi4py import MPI
def busy():
    work(0.3)
    while not any(b"MPI_Barrier" in open(name, "rb").read() for name in glob.glob("run/raw/*.samples.raw")):
        work(0.1)  # until the other rank was seen there
if MPI.COMM_WORLD.Get_rank() == 0: busy()
MPI.COMM_WORLD.Barrier()
"""
    (tmp_path / "program.py").write_text(WORK + program)
    sampling = [sys.executable, "-m", "spartito", "run", "-q", "--sample", "-o", tmp_path / "run", "--"]
    command = [str(c) for c in [*sampling, f"mpiexec.{mpi.kind}", "-n", "2", sys.executable, "program.py"]]
    done = subprocess.run(command, cwd=tmp_path, env=mpi.environment, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    m, found = model(tmp_path), archive(tmp_path)
    assert {"MPI Rank 0", "MPI Rank 1"} <= {loc["group"] for loc in found["locations"]}
    for i, location in enumerate(found["locations"]):
        assert counted(location) == paths(m, i)
    of = {
        loc["group"]: {name for _, steps, *_ in loc["samples"] for name, _, _ in steps}
        for loc in found["locations"]
        if loc["name"] == "MainThread"
    }
    assert "__main__:work" in of["MPI Rank 0"] and "MPI_Barrier" in of["MPI Rank 1"]


def test_tables_count_samples(sampled, tmp_path):
    m = model(sampled)
    table = json.loads(m.table("wall_clock", json=True))["timemory"]["wall_clock"]["ranks"]
    work = sum(row["entry"]["laps"] for rank in table for row in rank["graph"] if row["prefix"].endswith("work"))
    assert work == sum(
        looks for i in range(len(m.info()["locations"])) for path, (looks, _) in paths(m, i).items() if "__main__:work" in path
    )
    assert convert(sampled / "run", tmp_path / "tables", to="timemory").returncode == 0
    assert sorted(f.name for f in (tmp_path / "tables").iterdir()) == ["wall_clock.json", "wall_clock.txt"]


def test_json_marks_unknown_numbers(sampled, tmp_path):
    assert convert(sampled / "run", tmp_path / "x.json", to="json").returncode == 0
    found = json.loads((tmp_path / "x.json").read_text())
    units = dict(zip(found["value_columns"], found["value_units"]))
    assert units["incl"] == units["excl"] == units["sampled_cpu"] == units["sampled_idle"] == "ns" and units["samples"] == "#"
    rows = [dict(zip(found["value_columns"], row)) for of in found["values"] for row in of]
    assert {row[key] for row in rows for key in ("visits", "resumed", "min", "max", "sumsq")} == {None}
    assert sum(row["samples"] for row in rows) == sum(
        n for i in range(len(found["locations"])) for n, _ in paths(model(sampled), i).values()
    )


def test_archives_of_no_samples_have_none(tmp_path):
    """An archive without samples has no definitions of contexts."""
    (tmp_path / "program.py").write_text("def f(): pass\nf()\n")
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "run", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    Model(str(tmp_path / "run")).convert("otf2", str(tmp_path / "archive"))
    found = otf2file.read(tmp_path / "archive" / "traces.otf2")
    assert not found["contexts"] and not found["generators"] and not found["instances"]


def test_samples_of_format_9(tmp_path):
    """They have no columns for the states that came later: 50 ms of sleep and 100 ms of work, sampled 100 times a second."""
    (tmp_path / "run" / "raw").mkdir(parents=True)
    shutil.copy(ROOT / "tests/old-raw/v9-samples.raw", tmp_path / "run" / "raw")
    m = Model(str(tmp_path / "run"))
    found = rows(m)
    assert not m.info()["problems"]
    assert 0.02e9 < found["__main__:rest"]["metrics"]["sampled_idle"]["incl"] < 0.07e9
    assert 0.05e9 < found["__main__:work"]["metrics"]["sampled_running"]["incl"] < 0.13e9
    assert "sampled_object_lock" not in found["__main__:work"]["metrics"]
