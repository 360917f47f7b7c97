# SPDX-License-Identifier: BSD-3-Clause
"""`spartito.load()`: contents of the tables for programs with known numbers, and messages for damaged and missing data."""

import datetime
import os
import shutil
import signal
import subprocess
import sys
import warnings

import pytest
import spartito
from commandline import run
from conftest import ROOT
from spartito._sample import check
from spartito.analysis import Error, Model
from spartito.results.results import TABLES
from test_sample_run import run as run_sampled

pandas = pytest.importorskip("pandas")

PROGRAM = """
import asyncio, threading, time
import spartito

def leaf(n):
    return bytearray(n)

def branch():
    kept = []
    for i in range(3):
        kept.append(leaf(1 << 20))
    return kept[0]

def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

def worker():
    leaf(10)

async def rest():
    await asyncio.sleep(0.001)
    await asyncio.sleep(0.001)

def main():
    kept = branch()
    other = branch()
    factorial(5)
    for case in ("a", "b", "b"):
        with spartito.region("step"):
            spartito.parameter("case", case)
    thread = threading.Thread(target=worker, name="worker")
    thread.start()
    thread.join()
    time.sleep(0.001)
    time.sleep(0.001)
    asyncio.run(rest())

main()
"""
SPARTITO = [sys.executable, "-m", "spartito"]
VISITS = {"leaf": 7, "branch": 2, "factorial": 5, "worker": 1, "main": 1, "step": 3, "rest": 1}
OPTIONS = ("--lines", "branch", "--memory-profile", "--waits", "--metric", "rusage:ru_minflt")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    place = tmp_path_factory.mktemp("load")
    (place / "program.py").write_text(PROGRAM)
    command = [*SPARTITO, "run", "-q", *OPTIONS, "-o", place / "run", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=place, check=True)
    return place / "run"


@pytest.fixture(scope="module")
def results(directory):
    return spartito.load(directory)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Results of four MPI ranks with a trace."""
    place = tmp_path_factory.mktemp("ranks")
    (place / "raw").mkdir()
    for rank in range(4):
        shutil.copy(ROOT / f"tests/old-raw/v3-mpi-{rank}.raw", place / "raw")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return spartito.load(place)


def of_program(table, column="visits"):
    own = table[table.file.str.endswith("program.py") & (table.qualname != "<module>")]
    return dict(zip(own.qualname, own[column]))


def test_regions(results, directory):
    table = results.regions()
    assert of_program(table) == VISITS
    rows = {row["name"]: row for row in Model(str(directory)).flat()}
    assert {r: (e, i) for r, e, i in zip(table.region, table.exclusive_time, table.inclusive_time)} == {
        name: (row["excl"], row["incl"]) for name, row in rows.items()
    }
    faults = {name: row["metrics"]["ru_minflt"]["excl"] for name, row in rows.items()}
    assert dict(zip(table.region, table.exclusive_ru_minflt)) == faults
    # the model has nanoseconds
    waited = {name: row["metrics"]["wait_time"]["incl"] for name, row in rows.items()}
    assert dict(zip(table.region, (table.inclusive_wait_time * 1e9).round())) == waited
    step = [r for r, name in enumerate(table.region) if name == "step"]
    assert list(table.kind[step]) == ["user"]
    units = table.attrs["units"]
    assert (units["exclusive_time"], units["visits"], units["inclusive_wait_time"]) == ("s", "visits", "s")
    assert table.exclusive_time.sum() == pytest.approx(results.info["inclusive_time"])
    assert list(table.exclusive_time) == sorted(table.exclusive_time, reverse=True)


def test_regions_of_a_location(results):
    names = list(results.locations().name)
    assert of_program(results.regions(location=names.index("worker"))) == {"leaf": 1, "worker": 1}
    assert of_program(results.regions(process=0)) == VISITS
    with pytest.raises(ValueError, match=r"run: there is no location 2; there are 2, from 0 on"):
        results.call_paths(location=2)


def test_call_paths(results):
    table = results.call_paths()

    def path(row):
        name = f"{table.qualname[row]} {table.parameters[row]}".strip()
        return (*(path(table.parent[row]) if table.parent[row] >= 0 else ()), name)

    paths = {path(row): table.visits[row] for row in table.index if table.file[row].endswith("program.py")}
    main = ("<module>", "main")
    assert paths == {
        main[:1]: 1,
        main: 1,
        (*main, "branch"): 2,
        (*main, "branch", "leaf"): 6,
        **{(*main, *["factorial"] * n): 1 for n in range(1, 6)},
        (*main, "step"): 0,
        (*main, "step case=a"): 1,
        (*main, "step case=b"): 2,
        next(p for p in paths if p[-1] == "worker"): 1,
        next(p for p in paths if p[-1] == "rest"): 1,
        next(p for p in paths if p[-2:] == ("worker", "leaf")): 1,
    }
    inner = table[table.parent >= 0]
    assert (inner.parent < inner.index).all()
    assert (table.depth[inner.parent].to_numpy() + 1 == inner.depth).all()
    assert table.exclusive_time.sum() == pytest.approx(results.regions().exclusive_time.sum())


def test_lines(results):
    table = results.lines()
    first = PROGRAM.splitlines().index("def branch():") + 1
    assert set(table.region) == {"__main__:branch"} and set(table.first_line) == {first}
    assert dict(zip(table.line - first, table.hits)) == {1: 2, 2: 8, 3: 6, 4: 2}
    assert (table.inclusive_time >= table.exclusive_time).all()


def test_waits(results, directory):
    table = results.waits()
    tasks = table[table.waiter == "task"]
    assert list(zip(tasks.kind, tasks.region, tasks["count"])) == [("sleep", "__main__:rest", 2)]
    table = table[table.waiter == "thread"]
    recorded = Model(str(directory)).locks()["waits"]
    assert table["count"].sum() == sum(wait["count"] for wait in recorded)
    assert table.time.sum() == pytest.approx(sum(wait["time"] for wait in recorded))
    sleeps = table[table.kind == "sleep"]
    assert sleeps["count"].sum() == 2 and set(sleeps.region) == {"__main__:main"} and sleeps.time.sum() >= 0.002
    assert set(sleeps.call_path) == {"__main__:<module> > __main__:main"}
    assert sleeps.waited_for.isna().all() and not sleeps.unfinished.any()


def test_memory(results):
    table = results.memory()
    blocks = table[(table.region == "__main__:leaf") & (table.allocated_bytes >= 1 << 20)]
    assert 6 << 20 <= blocks.allocated_bytes.sum() < (6 << 20) + 4096
    assert set(blocks.line) == {PROGRAM.splitlines().index("    return bytearray(n)") + 1}
    heap = results.heap()
    assert heap.time.is_monotonic_increasing and (heap.resident_bytes > 0).all()
    # branch() releases 2 of 3 blocks when it returns
    assert blocks.peak_bytes.sum() >= 4 << 20


def test_info(results, directory):
    info = results.info
    assert info["command"] == [sys.executable, "program.py"] and info["python"] == sys.version.split()[0]
    assert (info["processes"], info["threads"], info["ranks"]) == (1, 2, 0)
    assert info["recorded"] == ["calls", "lines", "memory", "waits", "tasks"]
    assert (info["complete"], info["running"], info["compensated"]) == (True, False, False)
    assert info["begin"].tzinfo is datetime.timezone.utc and info["duration"] > 0.002
    assert results.warnings == [] and "measuring calls" in results.notes[0]
    assert results.directory == str(directory) and "1 process, 2 threads" in repr(results)
    without = spartito.load(directory, compensate=True)
    taken = info["inclusive_time"] - without.info["inclusive_time"]
    assert 0 < taken <= info["measuring_cost"] * 1.001 and without.info["compensated"]
    assert without.regions().exclusive_time.sum() == pytest.approx(without.info["inclusive_time"])


def test_ranks(ranks):
    assert ranks.info["ranks"] == 4 and {"mpi", "trace"} <= set(ranks.info["recorded"])
    locations = ranks.locations()
    assert sorted(locations["rank"]) == [0, 1, 2, 3] and (locations.mpi_time > 0).all()
    found = ranks.model.messages()
    messages = ranks.messages()
    assert messages.messages.sum() == found["messages"] and messages.bytes.sum() == found["bytes"]
    number = dict(enumerate(ranks.processes()["rank"]))
    assert (messages.from_process.map(number) == messages.from_rank).all()
    assert messages.attrs["units"]["bytes"] == "B"
    waits = ranks.waits()
    assert len(waits) == 0 and "longest_time" in waits.columns  # this program has no waits: see tests/py/mpi/test_mpi_waits.py


@pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")
def test_samples_are_call_paths(tmp_path):
    run_sampled(tmp_path, "work(0.3)\n")
    results = spartito.load(tmp_path / "run")
    assert "samples" in results.info["recorded"] and "calls" not in results.info["recorded"]
    paths = results.call_paths()
    assert "__main__:work" in set(paths.region)
    assert paths.visits.isna().all() and paths.mean_time.isna().all()  # the number of calls is unknown
    assert paths.exclusive_time.sum() == pytest.approx(results.info["inclusive_time"])
    assert paths.exclusive_samples.sum() == sum(m["total"] for m in results.model.info()["metrics"] if m["name"] == "samples")
    assert "times are those of samples" in results.notes[0]
    assert results.lines().hits.isna().all() and results.locations().visits.isna().all()


def test_tables_without_pandas(results, monkeypatch):
    expected = {name: getattr(results, name)() for name in ("regions", "waits", "locations")}
    monkeypatch.setitem(sys.modules, "pandas", None)
    for name, table in expected.items():
        columns = results.as_dict(name)
        assert list(columns) == list(table.columns) and columns.units == table.attrs["units"]
        assert {len(values) for values in columns.values()} == {len(table)}
    with pytest.raises(ImportError, match="pip install pandas"):
        results.regions()
    with pytest.raises(ValueError, match=f"there is no table 'region'; there are {', '.join(TABLES)}"):
        results.as_dict("region")
    with pytest.raises(ValueError, match="the table 'waits' has no argument process"):
        results.as_dict("waits", process=0)


def test_what_was_not_recorded_is_an_error(ranks, tmp_path):
    with pytest.raises(Error, match=f"{ranks.directory}: no lines were recorded; "):
        ranks.lines()
    for table in (ranks.memory, ranks.heap):
        with pytest.raises(Error, match=f"{ranks.directory}: no memory was recorded; "):
            table()
    assert run(SPARTITO, "run", "-q", "-o", tmp_path / "x", "--", sys.executable, "-c", "").returncode == 0
    other = spartito.load(tmp_path / "x")
    for table, why in ((other.waits, "no waits were recorded; "), (other.messages, "no MPI was recorded")):
        with pytest.raises(Error, match=f"{tmp_path}/x: {why}"):
            table()


def test_packs_and_the_newest_experiment(results, directory, tmp_path, monkeypatch):
    assert run(SPARTITO, "pack", directory, "-o", tmp_path / "a.spartito").returncode == 0
    packed = spartito.load(str(tmp_path / "a.spartito"))
    pandas.testing.assert_frame_equal(packed.regions(), results.regions())
    assert packed.directory == str(tmp_path / "a.spartito") and packed.directory in repr(packed)
    monkeypatch.chdir(directory.parent)
    assert spartito.load().directory == str(directory)


def test_what_is_no_experiment(directory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"there is no experiment in the current directory {tmp_path}"):
        spartito.load()
    with pytest.raises(FileNotFoundError, match="gone: there is no such experiment"):
        spartito.load("gone")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Error, match="empty"):
        spartito.load("empty")
    with pytest.raises(Error, match="test_load.py is not the directory of an experiment"):
        spartito.load(__file__)
    (tmp_path / "x.spartito").write_bytes(b"no pack")
    with pytest.raises(Error, match=r"x\.spartito: not a packed"):
        spartito.load("x.spartito")


def test_damage_is_a_warning(directory, tmp_path):
    shutil.copytree(directory, tmp_path / "x")
    (raw,) = (tmp_path / "x" / "raw").glob("*.raw")
    os.truncate(raw, raw.stat().st_size * 3 // 4)
    reported = run(SPARTITO, "report", tmp_path / "x")
    with pytest.warns(UserWarning, match=f"{tmp_path}/x: damaged: ") as caught:
        damaged = spartito.load(tmp_path / "x")
    assert caught[0].filename == __file__
    assert not damaged.info["complete"]
    assert [f"spartito: {line}" for line in damaged.warnings] == reported.stderr.splitlines()


def test_killed_and_running_programs(tmp_path):
    program = "def f(): pass\nfor i in range(100): f()\nprint(flush=True)\ninput()\n"
    (tmp_path / "program.py").write_text(program)
    command = [*SPARTITO, "run", "-q", "-o", tmp_path / "x", "--", sys.executable, "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as launcher:
        launcher.stdout.readline()
        with pytest.warns(UserWarning, match="still runs"):
            running = spartito.load(tmp_path / "x")
        assert running.info["running"]
        assert of_program(running.regions()) == {"f": 100}
        os.kill(running.processes().pid[0], signal.SIGKILL)
        launcher.stdin.close()
    with pytest.warns(UserWarning, match="ended abruptly"):
        killed = spartito.load(tmp_path / "x")
    assert of_program(killed.regions()) == {"f": 100} and not killed.info["running"]
    assert killed.processes().ended[0] == "abrupt"


def test_a_measured_program_does_not_load_the_analysis(tmp_path):
    program = (
        "import sys, spartito; from spartito import *; help; spartito.Results; "
        "sys.exit(any(name in sys.modules for name in ('spartito._analyse', 'pandas', 'spartito.experiments')))"
    )
    command = [*SPARTITO, "run", "-q", "-o", tmp_path / "x", "--", sys.executable, "-c", program]
    assert subprocess.run(command).returncode == 0
