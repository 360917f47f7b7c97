# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report balance` on measured processes and threads."""

import json
import subprocess
import sys

import pytest
from commandline import run
from spartito import _analyse
from spartito.report.balance import Units
from spartito.report.mpitable import Ranks

# A parent and three children: child i works i times as long as the first one, and only the last one writes.
PROGRAM = """
import os, time
def work(n): time.sleep(0.05 * n)
def write(): time.sleep(0.1)
def child(n):
    work(n)
    if n == 3: write()
children = []
for n in (1, 2, 3):
    pid = os.fork()
    if pid == 0:
        child(n)
        raise SystemExit
    children.append(pid)
for pid in children: os.waitpid(pid, 0)
"""

THREADS = """
import threading
def work(): return sum(range(1000))
for _ in range(40):
    t = threading.Thread(target=work)
    t.start()
    t.join()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made")
    (path / "program.py").write_text(PROGRAM)
    (path / "alone.py").write_text("pass\n")
    (path / "threads.py").write_text(THREADS)
    for name in ("program", "alone", "threads"):
        command = [sys.executable, "-m", "spartito", "run", "-q", "-o", name, "--", sys.executable, name + ".py"]
        subprocess.run(command, cwd=path, check=True)
    return path


def test_balance_over_processes(spartito, made):
    done = run(spartito, "report", "balance", "--json", "--limit", "0", made / "program")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["report"], found["over"], found["single"], found["helpers"]) == ("balance", "processes", [], [])
    (found,) = found["groups"]  # processes without a known role, of the same program
    assert (found["role"], len(found["units"])) == ("program.py", 4)
    rows = {row["name"]: row for row in found["rows"]}
    work = rows["__main__:work"]
    assert work["units"] == 3
    parts = json.loads(run(spartito, "report", "--processes", "--json", "--limit", "0", made / "program").stdout)["parts"]
    # the tables of single processes contain no other process
    words = "3 processes were forked: the total time of a function that was open then contains theirs"
    assert words in run(spartito, "report", made / "program").stdout
    assert "were forked" not in run(spartito, "report", "--processes", made / "program").stdout
    times = {part["process"]: sum(row["incl"] for row in part["rows"] if row["name"] == "__main__:work") for part in parts}
    assert [part["running"] for part in parts] == sorted((part["running"] for part in parts), reverse=True)
    assert all(time >= 0.05 * n for n, time in enumerate(sorted(times.values())))
    assert work["incl"]["max"] == pytest.approx(max(times.values())) and work["incl"]["min"] == 0.0
    assert work["incl"]["mean"] == pytest.approx(sum(times.values()) / 4)
    assert work["incl"]["imbalance"] == pytest.approx(work["incl"]["max"] - work["incl"]["mean"])
    assert work["incl"]["percent"] == pytest.approx(100 * (work["incl"]["max"] / work["incl"]["mean"] - 1))
    assert found["rows"] == sorted(found["rows"], key=lambda row: -row["running"]["imbalance"])
    assert work["incl"]["max_unit"] == max(times, key=times.get)  # on a busy machine any child may have taken longest
    assert rows["__main__:write"]["units"] == 1
    (writes,) = [part["process"] for part in parts if any(row["name"] == "__main__:write" for row in part["rows"])]
    assert rows["__main__:write"]["incl"]["max_unit"] == writes != 0
    idle = {row["name"]: row["idle"] for row in found["idle"]}
    assert idle["__main__:child"] == [work["incl"]["min_unit"]]


def test_units_are_of_what_is_compared(made):
    """With "auto" and one process, units are threads."""
    model = _analyse.Model(str(made / "threads"))
    threads = len(model.info()["locations"])
    assert threads == 41
    found = model.balance(over="auto", units=range(1, threads))
    assert (found["over"], found["units"]) == ("threads", list(range(1, threads)))
    with pytest.raises(ValueError, match="there is no unit 41; the last is 40"):
        model.balance(over="auto", units=(threads,))


def test_balance_as_tables(spartito, made):
    done = run(spartito, "report", "balance", made / "program")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["imbalance", "%", "mean"]
    assert any(line.endswith("__main__:work") for line in lines)
    assert "1 of 4 processes (0) did no work in __main__:child, which took up to " in done.stdout
    done = run(spartito, "report", "balance", "--by", "path", "--match", "*:write", made / "program")
    assert any(line.endswith("> __main__:child > __main__:write") for line in done.stdout.splitlines())


def test_ranks_have_the_numbers_that_rank_takes():
    places = [(0, 1), (1, 0), (None, None), (0, 1), (0, 0)]
    info = {"processes": [{"world": world, "rank": rank} for world, rank in places], "worlds": [2, 1]}
    assert Units(info, "ranks", [0, 1, 3, 4]).cells == ["1", "2", "process 3", "0"]
    assert Ranks(info).names == ["1", "2", "process 2", "process 3", "0"]


@pytest.mark.parametrize(
    ("options", "experiment", "message"),
    [
        ([], "alone", "balance compares ranks, processes or threads, and this experiment has only one thread"),
        (["--sort", "incl"], "program", "--sort is not for the report balance; it is for flat or tree"),
        (["--process", "0"], "program", "--process is not for the report balance"),
        (["--match", "nothing"], "program", "--match: no recorded function matches 'nothing'"),
        (["--depth", "3"], "program", "--depth is not for the report balance"),
    ],
)
def test_what_does_not_go(spartito, made, options, experiment, message):
    done = run(spartito, "report", "balance", *options, made / experiment)
    assert done.returncode != 0 and message in done.stderr and len(done.stderr.splitlines()) == 1
