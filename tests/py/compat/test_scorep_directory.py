# SPDX-License-Identifier: BSD-3-Clause
"""The experiment directory of `python -m scorep`: its name, its contents, and an existing one."""

import json
import os
import re
import subprocess
import sys
import tempfile

import pytest
from scorep_helpers import environment, measured, program, results, run, visits

PROGRAM = "def f(): pass\nf()\n"
OWN = {"MANIFEST.md", "experiment.json", "raw", "scorep.cfg"}
TRACE = {"traces.otf2", "traces.def", "traces"}


def has_otf2():
    from spartito._analyse import writers

    return any(row[0] == "otf2" for row in writers())


def test_default_name_and_pair_of_variables(tmp_path):
    experiment = measured(tmp_path, PROGRAM)
    assert re.fullmatch(r"scorep-\d{8}_\d{4}_\d+", experiment.name)
    # the defaults: profiling on, tracing off
    assert set(os.listdir(experiment)) == OWN | {"profile.cubex"}
    assert visits(experiment)["__main__:f"] == 1
    known = json.loads((experiment / "experiment.json").read_text())
    assert known["command"][-1] == "program.py" and known["status"] == 0


@pytest.mark.parametrize(
    ("profiling", "tracing", "files"),
    [
        ("true", "true", TRACE | {"profile.cubex"}),
        ("false", "true", TRACE),
        ("true", "false", {"profile.cubex"}),
        ("false", "false", set()),
    ],
)
def test_files(tmp_path, profiling, tracing, files):
    if tracing == "true" and not has_otf2():
        pytest.skip("built without libotf2")
    env = {"SCOREP_ENABLE_PROFILING": profiling, "SCOREP_ENABLE_TRACING": tracing, "SCOREP_EXPERIMENT_DIRECTORY": "x"}
    experiment = measured(tmp_path, PROGRAM + "open('ran', 'w')\n", env=env)
    assert (tmp_path / "ran").exists()
    assert set(os.listdir(experiment)) == OWN | files
    manifest = (experiment / "MANIFEST.md").read_text()
    for name in files | OWN:
        assert f"| `{name}" in manifest
    listed = set(re.findall(r"^\| `([^`]+?)/?` \|", manifest, re.MULTILINE))
    assert listed == OWN | files
    if "traces" in files:
        assert any(name.endswith(".evt") for name in os.listdir(experiment / "traces"))


def test_neither_profile_nor_trace_records_nothing(tmp_path):
    env = {"SCOREP_ENABLE_PROFILING": "false"}
    experiment = measured(tmp_path, "import scorep, scorep.user\nscorep.register()\nwith scorep.user.region('x'): pass\n", env=env)
    assert not os.listdir(experiment / "raw")


def test_base_name(tmp_path):
    experiment = measured(tmp_path, PROGRAM, env={"SCOREP_PROFILING_BASE_NAME": "calls"})
    assert (experiment / "calls.cubex").exists() and not (experiment / "profile.cubex").exists()


def test_named_directory_is_renamed_when_it_exists(tmp_path):
    env = {"SCOREP_EXPERIMENT_DIRECTORY": "deep/er/x"}
    program(tmp_path, PROGRAM)
    assert run(tmp_path, "program.py", env=env).returncode == 0
    above = tmp_path / "deep/er"
    (above / "x/mine").write_text("precious")
    assert run(tmp_path, "program.py", env=env).returncode == 0
    assert (above / "x/profile.cubex").exists() and not (above / "x/mine").exists()
    (old,) = [p for p in above.iterdir() if p.name != "x"]
    assert re.fullmatch(r"x-\d{8}_\d{4}_\d+", old.name)
    assert (old / "mine").read_text() == "precious"


def test_nothing_is_renamed_where_that_is_forbidden(tmp_path):
    program(tmp_path, "print('ran')")
    (tmp_path / "x").mkdir()
    env = {"SCOREP_EXPERIMENT_DIRECTORY": "x", "SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY": "false"}
    done = run(tmp_path, "program.py", env=env)
    assert done.returncode != 0 and done.stdout == "" and done.stderr.count("\n") == 1
    assert str(tmp_path / "x") in done.stderr and "SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["program.py", "x"] and not os.listdir(tmp_path / "x")
    env["SCOREP_EXPERIMENT_DIRECTORY"] = "y"
    assert run(tmp_path, "program.py", env=env).stdout == "ran\n"


@pytest.mark.parametrize("name", ["/proc/scorep/x", "/dev/null/x", "program.py/x"])
def test_directory_that_cannot_be_made(tmp_path, name):
    program(tmp_path, "print('ran')")
    done = run(tmp_path, "program.py", env={"SCOREP_EXPERIMENT_DIRECTORY": name})
    assert done.returncode != 0 and done.stdout == "" and done.stderr.count("\n") == 1
    assert name in done.stderr and done.stderr.startswith("scorep: ")
    assert os.listdir(tmp_path) == ["program.py"]


# All ranks meet, as when they begin to use MPI: a launcher whose rank has ended waits only a few seconds for others.
MEET = """\
import os, time
open(os.path.join(os.environ["MEETING"], os.environ["OMPI_COMM_WORLD_RANK"]), "w").close()
while len(os.listdir(os.environ["MEETING"])) < int(os.environ["OMPI_COMM_WORLD_SIZE"]): time.sleep(0.01)
"""


def start_ranks(tmp_path, *words, size=3, name="x"):
    """Starts ranks with the environment of Open MPI's mpiexec, which need not be installed."""
    started = []
    meeting = tempfile.mkdtemp(dir=tmp_path.parent)
    for rank in range(size):
        env = environment(SCOREP_EXPERIMENT_DIRECTORY=name, SCOREP_ENABLE_TRACING="true", PMIX_NAMESPACE="77")
        env.update(OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(size), OMPI_COMM_WORLD_LOCAL_RANK=str(rank))
        env["MEETING"] = meeting
        command = [sys.executable, *words, "program.py"]
        started.append(subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True))
    message = "".join(p.communicate(timeout=120)[1] for p in started)
    return [p.returncode for p in started], message


@pytest.mark.parametrize("words", [["-m", "scorep", "--mpp=mpi"], ["-m", "scorep", "--mpp=none"], []])
@pytest.mark.parametrize("name", ["deep/x", ""])
def test_ranks_share_a_directory(tmp_path, words, name):
    program(tmp_path, ("" if words else "import scorep\nscorep.register()\n") + MEET + PROGRAM)
    assert start_ranks(tmp_path, *words, name=name) == ([0, 0, 0], "")
    (experiment,) = results(tmp_path / "deep" if name else tmp_path)
    assert name == "deep/x" or re.fullmatch(r"scorep-\d{8}_\d{4}_\d+", experiment.name)
    assert visits(experiment)["__main__:f"] == 3
    files = OWN | {"profile.cubex", "ranks"} | (TRACE if has_otf2() else set())
    assert set(os.listdir(experiment)) == files
    assert sorted(os.listdir(experiment.parent)) == sorted([experiment.name] + ([] if name else ["program.py"]))
    assert (experiment / "MANIFEST.md").read_text().count("| `ranks` |") == 1


def test_ranks_rename_a_directory_once(tmp_path):
    program(tmp_path, MEET + PROGRAM)
    (tmp_path / "x").mkdir()
    (tmp_path / "x/mine").write_text("precious")
    for old in (1, 2):
        assert start_ranks(tmp_path, "-m", "scorep")[0] == [0, 0, 0]
        assert len([p for p in tmp_path.iterdir() if p.name.startswith("x-")]) == old
        assert visits(tmp_path / "x")["__main__:f"] == 3


def test_killed_program_leaves_complete_results(tmp_path):
    program(tmp_path, "import os\ndef f(): os.kill(os.getpid(), 9)\nf()")
    done = run(tmp_path, "program.py")
    (experiment,) = results(tmp_path)
    assert done.returncode == -9
    assert set(os.listdir(experiment)) == OWN | {"profile.cubex"}
    assert done.stderr == "" and "ended abruptly" in (experiment / "MANIFEST.md").read_text()
    assert visits(experiment)["__main__:f"] == 1


def test_directory_removed_by_the_program(tmp_path):
    program(tmp_path, "import shutil\nshutil.rmtree('x')\n")
    done = run(tmp_path, "program.py", env={"SCOREP_EXPERIMENT_DIRECTORY": "x"})
    assert done.returncode == 0 and "removed while the program ran" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(("option", "variable"), [("--io=posix", ""), ("--io=runtime:posix", "false"), ("--thread=none", "true")])
def test_file_io(tmp_path, option, variable):
    source = """\
        with open("data", "w") as f: f.write("x" * 1000)
    """
    experiment = measured(tmp_path, source, option, env={"SCOREP_IO_POSIX": variable})
    assert {name.replace("64", "") for name in visits(experiment)} >= {"open", "write", "close"}
