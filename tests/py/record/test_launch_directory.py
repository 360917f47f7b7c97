# SPDX-License-Identifier: BSD-3-Clause
"""The experiment directory: its name, when it is refused, and what remains after a failure."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import pytest
from commandline import run

from mpi import KINDS, launcher_environment

PYTHON = sys.executable
PROGRAM = "def f(): pass\nfor i in range(10): f()\n"


@pytest.fixture
def script(tmp_path):
    (tmp_path / "solver.py").write_text(PROGRAM)
    return tmp_path


def experiments(path):
    return sorted(p.name for p in path.iterdir() if p.is_dir() and p.name.startswith("spartito-"))


def test_default_name(spartito, script):
    assert run(spartito, "run", "-q", "--", "solver.py", cwd=script).returncode == 0
    (name,) = experiments(script)
    assert re.fullmatch(r"spartito-solver-\d{8}-\d{6}", name)


def test_default_name_with_job_and_twice_in_a_second(spartito, script):
    environment = {**os.environ, "SLURM_JOB_ID": "4711"}
    for _ in range(3):
        assert run(spartito, "run", "-q", "--", "solver.py", cwd=script, env=environment).returncode == 0
    names = experiments(script)
    assert len(names) == 3
    assert all(re.fullmatch(r"spartito-solver-\d{8}-\d{6}-4711(-\d+)?", n) for n in names)


@pytest.mark.parametrize("options", [[], ["-o", "made/by/{n}"]])
def test_runs_that_begin_together(spartito, script, options):
    begun = [subprocess.Popen([*spartito, "run", "-q", *(word.format(n=n) for word in options), "--", "solver.py"], cwd=script,
                              stderr=subprocess.PIPE, text=True) for n in range(6)]
    assert [(p.communicate(timeout=200)[1], p.returncode) for p in begun] == [("", 0)] * 6
    assert len(list(script.glob("made/by/*/raw/*.raw" if options else "spartito-*/raw/*.raw"))) == 6


@pytest.mark.parametrize(
    ("command", "label"),
    [
        (["python3", "-X", "dev", "a/b.py"], "b"),
        (["python3", "-m", "pytest", "-x"], "pytest"),
        (["python3", "-um", "pytest"], "pytest"),
        (["python3", "-uXdev", "a.py"], "a"),
        (["python", "-Bc", "1"], "command"),
        (["/usr/bin/mpiexec", "-n", "2"], "mpiexec"),
        (["python", "\u00e4/\u00f6 x.py"], "x"),
        (["python"], "python"),
    ],
)
def test_label(command, label):
    from spartito.experiments.rundir import label as found

    assert found(command) == label


def test_description(spartito, script):
    word, begin = 'q"\\\n\u00e4\U0001f600\udcff', time.time()
    done = run(spartito, "run", "-q", "-o", "x", "--", PYTHON, "-c", "raise SystemExit(3)", word, cwd=script)
    assert done.returncode == 3
    known = json.loads((script / "x/experiment.json").read_text())
    assert known["command"] == [PYTHON, "-c", "raise SystemExit(3)", word]
    assert known["cwd"] == str(script)
    assert (known["status"], known["signal"]) == (3, None)
    assert begin - 0.01 <= known["start"] < known["end"] <= time.time() + 0.01  # both times are rounded


def test_description_of_a_killed_program(spartito, script):
    code = "import os; os.kill(os.getpid(), 9)"
    assert run(spartito, "run", "-q", "-o", "x", "--", PYTHON, "-c", code, cwd=script).returncode == -9
    known = json.loads((script / "x/experiment.json").read_text())
    assert (known["status"], known["signal"]) == (None, 9)


def test_missing_parents_and_empty_directories(spartito, script):
    (script / "empty").mkdir()
    for name in ("a/b/c", "empty", str(script / "d/e")):
        assert run(spartito, "run", "-q", "-o", name, "--", "solver.py", cwd=script).returncode == 0
        assert list((script / name / "raw").glob("*.raw"))


def test_full_directories_are_refused(spartito, script):
    (script / "mine").mkdir()
    (script / "mine/precious").write_text("data")
    (script / "file").write_text("x")
    for name, message in (("mine", "already exists and is not empty"), ("file", "is not a directory")):
        done = run(spartito, "run", "-o", name, "--", PYTHON, "-c", "print('ran')", cwd=script)
        assert done.returncode == 2
        assert message in done.stderr and name in done.stderr and done.stderr.count("\n") == 1
        assert done.stdout == ""
    assert os.listdir(script / "mine") == ["precious"]


def test_unwritable_places_are_refused(spartito, script):
    for name in ("/proc/spartito/x", "/dev/null/x"):
        done = run(spartito, "run", "-q", "-o", name, "--", PYTHON, "-c", "print('ran')", cwd=script)
        assert done.returncode not in (0, 127)
        assert name in done.stderr and "cannot be written" in done.stderr and done.stderr.count("\n") == 1
        assert done.stdout == ""


@pytest.mark.parametrize("missing", ["no_such.py", "deeper/no_such.py"])
@pytest.mark.parametrize("with_python", [True, False])
def test_missing_script(spartito, tmp_path, missing, with_python):
    words = [PYTHON, missing] if with_python else [missing]
    done = run(spartito, "run", "-o", "a/b", "--", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert "can't open file" in done.stderr and missing in done.stderr and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["true"], "true started no Python that has spartito installed"),
        ([PYTHON, "-S", "-c", "1"], "-S` skips the start-up hook"),
        ([PYTHON, "-sS", "-c", "1"], "-S` skips the start-up hook"),
    ],
)
def test_nothing_measured(spartito, tmp_path, words, message):
    done = run(spartito, "run", "-q", "--", *words, cwd=tmp_path)
    assert done.returncode == 0
    assert "no Python code was measured" in done.stderr and message in done.stderr and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)


def test_nothing_measured_keeps_the_status(spartito, tmp_path):
    done = run(spartito, "run", "-q", "--", "sh", "-c", "exit 17", cwd=tmp_path)
    assert done.returncode == 17


def test_directory_removed_by_the_program(spartito, tmp_path):
    code = "import shutil; shutil.rmtree('x'); print('ok')"
    done = run(spartito, "run", "-q", "-o", "x", "--", PYTHON, "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "lost" in done.stderr and done.stderr.count("\n") == 1


def test_two_runs_of_one_name_do_not_harm_each_other(tmp_path):
    from spartito.base.messages import Refused
    from spartito.experiments.rundir import Directory

    path = str(tmp_path / "x")
    first, second = Directory(path, ["a"]), Directory(path, ["b"])
    first.create()
    with pytest.raises(Refused):
        second.create()
    second.remove()
    assert json.loads((tmp_path / "x/experiment.json").read_text())["command"] == ["a"]


def test_current_directory_deleted(spartito, tmp_path):
    gone = tmp_path / "gone"
    line = f"mkdir {gone}; cd {gone}; rmdir {gone}; {shlex.join(spartito)} run -q"
    done = run(["bash", "-c"], f"{line} -- {shlex.quote(PYTHON)} -c 'print(1)'")
    assert done.returncode == 1 and "current directory" in done.stderr and done.stdout == ""
    done = run(["bash", "-c"], f"{line} -o {tmp_path}/x -- {shlex.quote(PYTHON)} -c 'print(1)'")
    assert (done.returncode, done.stdout) == (0, "1\n")


@pytest.mark.parametrize("kind", KINDS)
def test_mpiexec(spartito, script, kind, monkeypatch):
    """Every process that mpiexec starts joins the experiment, although mpiexec is not a Python program."""
    mpiexec = [f"mpiexec.{kind}", "-n", "2"]
    if not shutil.which(mpiexec[0]):
        pytest.skip(f"{mpiexec[0]} is not installed")
    for name, value in launcher_environment(kind).items():
        monkeypatch.setenv(name, value)
    done = run(spartito, "run", "-q", "-o", "x", "--", *mpiexec, PYTHON, "solver.py", cwd=script, timeout=200)
    assert done.returncode == 0 and "spartito" not in done.stderr  # mpiexec may print warnings about the machine
    info = json.loads(run(spartito, "info", "--json", script / "x").stdout)
    assert len(info["processes"]) == 2
    rows = json.loads(run(spartito, "report", "--json", script / "x").stdout)["rows"]
    assert {row["name"]: row["visits"] for row in rows}["__main__:f"] == 20
