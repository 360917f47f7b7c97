# SPDX-License-Identifier: BSD-3-Clause
"""`mpiexec -n N spartito run …`: the launchers of all ranks share one experiment and print one message at its end."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from commandline import run, wait_for
from spartito.experiments.ranks import HEAD

from mpi import KINDS, launcher_environment

PYTHON = sys.executable
RANK = 'r = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or os.environ["SLURM_PROCID"])\n'
PROGRAM = "import os, sys, time\n" + RANK + "def f(): pass\nfor i in range(10): f()\n"
VARIABLES = ("OMPI_", "PRTE_", "PMI", "MPI_", "SLURM_", "HYDI_", "PALS_", "FLUX_")


@pytest.fixture(params=KINDS)
def mpiexec(request, monkeypatch, _no_rank):
    words = [f"mpiexec.{request.param}"]
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    for name, value in launcher_environment(request.param).items():
        monkeypatch.setenv(name, value)
    return words


@pytest.fixture
def spartito():
    """A spartito that waits up to 100 s for missing ranks, as a busy machine may start them late."""
    patient = (
        "import sys\nfrom spartito.cli.main import main\nfrom spartito.experiments import ranks\nranks.JOIN_TIMEOUT = 100\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    return [PYTHON, "-c", patient]


@pytest.fixture(autouse=True)
def _no_rank(monkeypatch):
    for name in [n for n in os.environ if n.startswith(VARIABLES)]:
        monkeypatch.delenv(name)


def program(path, more=""):
    (path / "solver.py").write_text(PROGRAM + more)
    return [PYTHON, "solver.py"]


def experiments(path):
    """Names of the experiment directories; fails if anything else was left beside them."""
    names = sorted(p.name for p in path.iterdir() if p.name != "solver.py")
    assert all(n.startswith(("spartito-", "x", "node")) for n in names), names
    return names


def visits(spartito, path):
    rows = json.loads(run(spartito, "report", "--json", path).stdout)["rows"]
    return {row["name"]: row["visits"] for row in rows}


def known(path):
    return json.loads((path / "experiment.json").read_text())


def slurm(rank, size, **more):
    """The environment that srun sets. srun itself does not run in these tests: the launcher reads only these variables."""
    step = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": str(size), "SLURM_NTASKS": str(size)}
    return {**os.environ, **step, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), **more}


def start(spartito, words, rank, size, cwd, **more):
    command = [*spartito, "run", *map(str, words)]
    return subprocess.Popen(command, cwd=cwd, env=slurm(rank, size, **more), text=True, stderr=subprocess.PIPE)


# The variables of launchers, with {rank}, {size} and {key}. They are those in the documentation of the launchers; those of
# Open MPI 5 and of PRRTE were also read from real processes.
STEP = "SLURM_JOB_ID={key} SLURM_STEP_ID=3 SLURM_STEP_NUM_TASKS={size} SLURM_NTASKS=9 SLURM_PROCID={rank} SLURM_LOCALID={rank}"
PMIX_STEP = f"{STEP} PMIX_RANK={{rank}} PMIX_NAMESPACE=slurm.pmix.{{key}}.3 PMIX_SERVER_URI2=slurm.pmix.{{key}}.3.0;tcp4://127.0.0.1:9"
RANKS_OF_PRRTE = "PMIX_RANK={rank} PMIX_NAMESPACE=prterun-node-{key}@1 PMIX_HOSTNAME=node PRTE_LAUNCHED=1"
LAUNCHERS = {
    "srun": (STEP, "slurm", "slurm:.{key}.3.0"),
    "srun --mpi=pmix": (PMIX_STEP, "slurm", "slurm:.{key}.3.0"),
    "srun --mpi=pmi2": (f"{STEP} PMI_RANK={{rank}} PMI_SIZE={{size}} PMI_JOBID={{key}}.3 PMI_FD=9", "slurm", "slurm:.{key}.3.0"),
    "mpiexec of Open MPI 5": (
        f"{RANKS_OF_PRRTE} OMPI_COMM_WORLD_RANK={{rank}} OMPI_COMM_WORLD_SIZE={{size}} OMPI_COMM_WORLD_LOCAL_RANK={{rank}}",
        "openmpi",
        "openmpi:prterun-node-{key}@1:",
    ),
    "PALS": (
        "PMI_RANK={rank} PMI_SIZE={size} PMI_LOCAL_RANK={rank} PALS_RANKID={rank} PALS_APID={key}",
        "pmi",
        "pmi:PALS_APID:{key}:",
    ),
    "flux run": (
        "PMI_RANK={rank} PMI_SIZE={size} PMI_FD=9 FLUX_JOB_ID={key} FLUX_JOB_SIZE={size} FLUX_TASK_RANK={rank} "
        "FLUX_TASK_LOCAL_ID={rank}",
        "pmi",
        "pmi:FLUX_JOB_ID:{key}:{key}",  # of the step, and of the batch job
    ),
    "PMIx with a size": ("PMIX_RANK={rank} PMIX_SIZE={size} PMIX_NAMESPACE=n{key}", "pmix", "pmix:n{key}"),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_of_a_launcher_of_which_only_the_variables_are_known(spartito, tmp_path, launcher):
    words, manager, key = LAUNCHERS[launcher]
    command = [*spartito, "run", "--", PYTHON, "-c", "def f(): pass\nf()"]
    started = []
    for rank in (1, 0):
        variables = dict(word.split("=", 1) for word in words.format(rank=rank, size=2, key=4711).split())
        p = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **variables}, text=True, stderr=subprocess.PIPE)
        started.append(p)
    messages = [p.communicate(timeout=200)[1] for p in started]
    assert [p.returncode for p in started] == [0, 0], messages
    assert ["measuring took about" in text for text in messages].count(True) == 1
    (name,) = experiments(tmp_path)
    reported = known(tmp_path / name)
    assert (reported["size"], reported["manager"], reported["manager_job"]) == (2, manager, key.format(key=4711))
    assert [r["rank"] for r in reported["ranks"]] == [0, 1]
    assert visits(spartito, tmp_path / name)["__main__:f"] == 2


@pytest.mark.parametrize("output", [[], ["-o", "x/deep"]])
def test_one_experiment(spartito, mpiexec, tmp_path, output):
    done = run([*mpiexec, "-n", "4", *spartito], "run", *output, "--", *program(tmp_path), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("measuring took about") == 1 and done.stderr.count("4 processes") == 1
    assert done.stderr.count("next: ") == 1 and "did not" not in done.stderr
    (name,) = experiments(tmp_path)
    path = tmp_path / (output[1] if output else name)
    assert output or re.fullmatch(r"spartito-solver-\d{8}-\d{6}", name)
    assert visits(spartito, path)["__main__:f"] == 40
    reported = known(path)
    assert (reported["size"], reported["status"], reported["signal"]) == (4, 0, None)
    assert reported["manager"] == ("openmpi" if "openmpi" in mpiexec[0] else "hydra") and reported["manager_job"]
    assert reported["hosts"] == [os.uname().nodename]
    assert [(r["rank"], r["status"]) for r in reported["ranks"]] == [(i, 0) for i in range(4)]
    assert {r["pid"] for r in reported["ranks"]} and reported["end"] >= reported["start"]


def test_a_directory_that_is_there_is_refused_once(spartito, mpiexec, tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x/mine").write_text("precious")
    done = run([*mpiexec, "-n", "2", *spartito], "run", "-o", "x", "--", *program(tmp_path, "print('ran')"), cwd=tmp_path)
    assert done.returncode != 0 and "ran" not in done.stdout
    assert done.stderr.count("already exists and is not empty") == 1
    assert os.listdir(tmp_path / "x") == ["mine"]


def test_a_second_job_makes_a_second_experiment(spartito, mpiexec, tmp_path):
    for _ in range(2):
        assert run([*mpiexec, "-n", "2", *spartito], "run", "-q", "--", *program(tmp_path), cwd=tmp_path).returncode == 0
    names = experiments(tmp_path)
    assert len(names) == 2
    assert all(visits(spartito, tmp_path / name)["__main__:f"] == 20 for name in names)


def test_two_jobs_at_once(spartito, mpiexec, tmp_path):
    command = [*mpiexec, "-n", "2", *spartito, "run", "-q", "--", *program(tmp_path)]
    both = [subprocess.Popen(command, cwd=tmp_path) for _ in range(2)]
    assert [p.wait(200) for p in both] == [0, 0]
    names = experiments(tmp_path)
    assert len(names) == 2
    assert all(visits(spartito, tmp_path / name)["__main__:f"] == 20 for name in names)


def test_steps_of_one_script(spartito, mpiexec, tmp_path):
    """Each rank runs two commands, one after the other, through a shell."""
    program(tmp_path)
    line = shlex.join([*spartito, "run", "-q", "--", PYTHON, "solver.py"])
    assert run([*mpiexec, "-n", "3", "sh"], "-c", f"{line} && {line}", cwd=tmp_path).returncode == 0
    names = experiments(tmp_path)
    assert len(names) == 2
    assert all(visits(spartito, tmp_path / name)["__main__:f"] == 30 for name in names)


def test_a_step_begins_before_all_have_come_to_the_one_before(spartito, tmp_path):
    waits = "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
    words = ["-q", "--", *program(tmp_path, "open(f'x{r}', 'w').close()\n" + waits)]

    def step(rank, until):
        (tmp_path / f"x{rank}").unlink(missing_ok=True)
        p = start(spartito, [*words, until], rank, 3, tmp_path)
        end = time.monotonic() + 100
        while not (tmp_path / f"x{rank}").exists():
            assert time.monotonic() < end and p.poll() is None
            time.sleep(0.01)
        return p

    (tmp_path / "x").touch()
    ranks = [step(1, "xe"), step(0, "x")]
    assert ranks.pop().wait(200) == 0
    ranks.append(step(0, "xend"))  # second step of rank 0
    ranks.append(step(2, "xe"))  # first step of rank 2
    time.sleep(1)  # a new experiment would have another timestamp in its name
    (tmp_path / "xe").touch()
    ranks += [step(1, "xend"), step(2, "xend")]
    (tmp_path / "xend").touch()
    assert [p.communicate(timeout=200)[1] for p in ranks] == [""] * 5
    names = [name for name in experiments(tmp_path) if not name.startswith("x")]
    assert len(names) == 2
    assert all(visits(spartito, tmp_path / name)["__main__:f"] == 30 for name in names)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".spartito")]


def test_missing_script_leaves_nothing(spartito, mpiexec, tmp_path):
    done = run([*mpiexec, "-n", "2", *spartito], "run", "--", PYTHON, "no_such.py", cwd=tmp_path)
    assert done.returncode != 0 and done.stderr.count("can't open file") in (1, 2)
    assert not [name for name in experiments(tmp_path) if list((tmp_path / name).glob("raw/*.raw"))]


def test_a_killed_rank(spartito, mpiexec, tmp_path):
    """mpiexec ends the remaining ranks with a signal, or kills their launchers with SIGKILL, too."""
    more = (
        "open(f'x.there{r}', 'w').close()\nwhile not all(os.path.exists(f'x.there{i}') for i in range(3)): time.sleep(0.01)\n"
        "if r == 1: os.kill(os.getpid(), 9)\ntime.sleep(150)\n"
    )
    done = run([*mpiexec, "-n", "3", *spartito], "run", "--", *program(tmp_path, more), cwd=tmp_path)
    assert done.returncode != 0
    (name,) = [n for n in experiments(tmp_path) if not n.startswith("x")]
    assert visits(spartito, tmp_path / name)["__main__:f"] == 30
    info = run(spartito, "info", tmp_path / name)
    assert info.returncode == 0
    assert re.search(r"rank 1 of 3 was ended by signal 9 \(SIGKILL\)|ranks? .*1.* of 3 did not end", info.stderr)


def test_a_killed_launcher(spartito, tmp_path):
    more = "open(f'x.pid{r}', 'w').write(str(os.getpid()))\nwhile not os.path.exists('x.go'): time.sleep(0.01)\n"
    words = ["-o", "x", "--", *program(tmp_path, more)]
    ranks = [start(spartito, words, r, 3, tmp_path) for r in range(3)]
    for r in range(3):
        wait_for(tmp_path / f"x.pid{r}")
    ranks[1].kill()
    os.kill(int((tmp_path / "x.pid1").read_text()), signal.SIGKILL)
    (tmp_path / "x.go").touch()
    messages = [p.communicate(timeout=200)[1] for p in ranks]
    assert [p.returncode for p in ranks] == [0, -9, 0]
    assert sum("measuring took about" in text for text in messages) == 1
    assert "rank 1 of 3 did not end" in "".join(messages)
    assert known(tmp_path / "x")["ranks"][1]["status"] is None
    assert visits(spartito, tmp_path / "x")["__main__:f"] == 30


def test_exit_statuses_are_the_ranks_own(spartito, tmp_path):
    waiting = "while not os.path.exists(f'end{r}'): time.sleep(0.01)\nsys.exit(r)\n"
    words = ["-o", "x", "--", *program(tmp_path, waiting)]
    ranks = [start(spartito, words, r, 3, tmp_path) for r in range(3)]
    for r in (2, 1, 0):
        (tmp_path / f"end{r}").touch()
        assert ranks[r].wait(200) == r
    reported = known(tmp_path / "x")
    assert [r["status"] for r in reported["ranks"]] == [0, 1, 2]
    assert (reported["status"], reported["job"], reported["manager"]) == (2, "4711", "slurm")  # of the first rank that failed
    for p in ranks:
        p.stderr.close()


def test_a_rank_that_comes_late(spartito, tmp_path):
    words = ["--", *program(tmp_path)]
    first = start(spartito, words, 0, 2, tmp_path)
    until = time.monotonic() + 100
    while [path.read_bytes()[HEAD : HEAD + 1] for path in tmp_path.glob("spartito-*/ranks")] != [b"e"]:
        assert time.monotonic() < until, "the program of the first has not ended"
        time.sleep(0.01)
    second = start(spartito, words, 1, 2, tmp_path)
    messages = [p.communicate(timeout=200)[1] for p in (first, second)]
    assert sum("measuring took about" in text for text in messages) == 1
    (name,) = experiments(tmp_path)
    assert visits(spartito, tmp_path / name)["__main__:f"] == 20


def crew(directory, rank, weak=False):
    from spartito.experiments.ranks import Crew
    from spartito.experiments.world import World

    return Crew(str(directory), World(rank, 2, "slurm", "slurm:.4711.0.0", weak), True)


def test_a_rank_that_arrives_while_another_has_the_lock(tmp_path, monkeypatch):
    """A launcher that waits for other ranks locks the file shortly. On a busy machine it may hold the lock for long."""
    monkeypatch.setattr("spartito.experiments.ranks.JOIN_TIMEOUT", 100)
    (tmp_path / "raw").mkdir()
    first, second = crew(tmp_path, 0), crew(tmp_path, 1)
    assert first.begin() and first._lock(fcntl.LOCK_EX)
    joins = threading.Thread(target=second.begin)
    joins.start()
    joins.join(1)
    first._lock(fcntl.LOCK_UN)
    joins.join()
    assert second.holds and not first._lock(fcntl.LOCK_EX)
    first.close()
    second.close()


def test_a_place_that_was_taken_meanwhile(tmp_path, monkeypatch):
    """Two jobs with the same key: the second one saw the directory free before the first one claimed it."""
    (tmp_path / "raw").mkdir()
    first, second = crew(tmp_path, 0, True), crew(tmp_path, 0, True)
    monkeypatch.setattr(second, "_is_same_job", lambda: True)
    assert first.begin() and not second.begin()
    assert sorted(os.listdir(tmp_path)) == ["ranks", "raw"]
    first.close()


def test_the_rank_that_prints_comes_late(spartito, mpiexec, tmp_path):
    """Rank 0, which prints for all, starts late. mpiexec may end all ranks as soon as one fails."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x/mine").write_text("precious")
    late = RANK + "if r == 0: time.sleep(1)\n"
    spartito[2] = "import os, time\n" + late + spartito[2]
    done = run([*mpiexec, "-n", "2", *spartito], "run", "-o", "x", "--", *program(tmp_path), cwd=tmp_path)
    assert done.returncode != 0 and done.stderr.count("already exists and is not empty") == 1


def test_a_rank_is_ended_before_it_opens_the_script(spartito, tmp_path):
    """mpiexec ends slower ranks when the first one has failed; those have recorded nothing of the program."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(
        "import os, time\nif os.getppid() == int(os.environ.get('BEHIND', 0)):\n    open('x.pid', 'w').write(str(os.getpid()))\n"
        "    time.sleep(200)\n"
    )
    behind = [spartito[0], "-c", "import os\nos.environ['BEHIND'] = str(os.getpid())\n" + spartito[2]]
    words, environment = ["--", PYTHON, "no_such.py"], {"PYTHONPATH": str(tmp_path / "site")}
    ranks = [start(behind if r else spartito, words, r, 2, tmp_path, **environment) for r in range(2)]
    wait_for(tmp_path / "x.pid")
    assert "can't open file" in ranks[0].communicate(timeout=200)[1]
    ranks[1].terminate()
    ranks[1].communicate(timeout=200)
    assert [p.returncode for p in ranks] == [2, -signal.SIGTERM]
    assert sorted(os.listdir(tmp_path)) == ["site", "x.pid"]


def test_directories_that_some_ranks_see(tmp_path):
    """Each node has a separate disk: each gets its own experiment, which lists the ranks it contains."""
    # the programs of a node end when all launchers of that node have arrived
    program(tmp_path, "open(f'../x{r}', 'w').close()\nwhile not os.path.exists(f'../x{r ^ 1}'): time.sleep(0.01)\n")
    ranks, spartito = [], [PYTHON, "-m", "spartito"]
    for r in range(4):
        node = tmp_path / f"node{r // 2}"
        node.mkdir(exist_ok=True)
        ranks.append(start(spartito, ["--", PYTHON, tmp_path / "solver.py"], r, 4, node))
    messages = [p.communicate(timeout=200)[1] for p in ranks]
    assert sum("measuring took about" in text for text in messages) == 2
    assert sum("ranks 0-1 of 4 are not in this experiment" in text for text in messages) == 1
    assert sum("ranks 2-3 of 4 are not in this experiment" in text for text in messages) == 1
    for n in range(2):
        (path,) = (tmp_path / f"node{n}").iterdir()
        assert visits(spartito, path)["__main__:f"] == 20
        assert [r["rank"] for r in known(path)["ranks"]] == [2 * n, 2 * n + 1]


def test_a_rank_measures_another_program(spartito, tmp_path):
    """A launcher started by the program of a rank is not a rank itself."""
    inner = repr([*spartito, "run", "-q", "-o", "x-inner", "--", PYTHON, "-c", "pass"])
    words = ["-q", "-o", "x", "--", *program(tmp_path, f"import subprocess\nif r == 0: subprocess.run({inner})\n")]
    ranks = [start(spartito, words, r, 2, tmp_path) for r in range(2)]
    assert [p.wait(200) for p in ranks] == [0, 0]
    assert "ranks" not in known(tmp_path / "x-inner") and len(known(tmp_path / "x")["ranks"]) == 2
    for p in ranks:
        p.stderr.close()


def test_what_a_killed_job_left(spartito, tmp_path, monkeypatch):
    """A later job with the same key joins neither the rendezvous file nor the directory of a killed job."""
    from spartito.experiments.rundir import create
    from spartito.experiments.world import World

    monkeypatch.chdir(tmp_path)
    old = time.time() - 7200
    world = World(0, 2, "slurm", "slurm:.4711.0.0")
    directory = create("", ["solver.py"], world=world)
    directory.crew.close()
    meeting = tmp_path / world.meeting
    os.utime(meeting, (old, old))
    head = (tmp_path / directory.path / "ranks").read_bytes()
    (tmp_path / directory.path / "ranks").write_bytes(head.replace(b"%.3f" % directory.start, b"%.3f" % old))
    words = ["-q", "--", *program(tmp_path)]
    ranks = [start(spartito, words, r, 2, tmp_path) for r in range(2)]
    assert [p.wait(200) for p in ranks] == [0, 0]
    assert not meeting.exists() and len(experiments(tmp_path)) == 2
    assert not list((tmp_path / directory.path / "raw").iterdir())
    for p in ranks:
        p.stderr.close()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ("", None),
        ("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=77", (1, 2, "openmpi:77:")),
        ("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=77", None),
        ("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", (1, 2, "")),
        ("PMIX_RANK=3 PMIX_SIZE=8 PMIX_NAMESPACE=prterun-a-1@1", (3, 8, "pmix:prterun-a-1@1")),
        ("PMIX_RANK=3 PMIX_NAMESPACE=x", None),
        ("PMI_RANK=3 PMI_SIZE=8 PALS_APID=abc", (3, 8, "pmi:PALS_APID:abc:")),
        ("PMI_RANK=9 PMI_SIZE=8", None),
        ("PMI_RANK=1 PMI_SIZE=2", (1, 2, "")),
        ("SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_JOB_ID=5 SLURM_STEP_ID=2", (1, 4, "slurm:.5.2.0")),
        # a batch script, an interactive step
        ("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=5", None),
        ("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=5 SLURM_STEP_ID=4294967290", None),
        # srun --mpi=pmi2; then mpiexec of Open MPI, whose daemons are the tasks of a SLURM step
        (
            "SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_JOB_ID=5 SLURM_STEP_ID=2 PMI_RANK=1 PMI_SIZE=4 PMI_JOBID=5.2",
            (1, 4, "slurm:.5.2.0"),
        ),
        (
            "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_JOB_ID=5 SLURM_STEP_ID=2 OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=9 "
            "PMIX_NAMESPACE=4",
            (7, 9, "openmpi:4:"),
        ),
        ("PMI_RANK=\u00b2 PMI_SIZE=3", None),
    ],
)
def test_worlds(monkeypatch, variables, expected):
    from spartito.experiments.world import find

    for word in variables.split():
        monkeypatch.setenv(*word.split("=", 1))
    world = find(["a"])
    if expected is None:
        assert world is None
    else:
        assert (world.rank, world.size) == expected[:2]
        assert world.weak if not expected[2] else world.key == expected[2]


def test_spans():
    from spartito.experiments.losses import spans

    assert spans([5, 0, 1, 2, 7, 8]) == "0-2, 5, 7-8"


def test_the_last_one_converts_and_compresses_for_all(spartito, mpiexec, tmp_path):
    words = ["run", "-o", "x", "--trace", "--to", "pstats,folded", "--compress", "--", *program(tmp_path)]
    done = run([*mpiexec, "-n", "3", *spartito], *words, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr.count("measuring took about") == 1
    wrote = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("wrote ")]
    assert len(wrote) == 2 and all(os.path.getsize(tmp_path / path) for path in wrote)
    assert visits(spartito, tmp_path / "x")["__main__:f"] == 30
