# SPDX-License-Identifier: BSD-3-Clause
"""Ranks merge their data: at the end of MPI, or with `mpiexec … spartito finalize`."""

import json
import os
import shutil
import signal
import subprocess
import sys

from spartito import _analyse
from spartito.experiments import losses

from mpi import mpi  # noqa: F401

# each rank has functions and call paths that no other rank has
PROGRAM = """
from mpi4py import MPI
import threading
c = MPI.COMM_WORLD
def leaf(n): return n + 1
def work(n):
    for i in range(n): leaf(i)
exec(f"def only_{c.rank}(): work({c.rank})\\nonly_{c.rank}()")
work(10 * (c.rank + 1))
t = threading.Thread(target=work, args=(5,))
t.start()
t.join()
c.allreduce(c.rank)
c.Split(c.rank % 2).Barrier()
"""


def say(directory, *words, status=0):
    done = subprocess.run([sys.executable, "-m", "spartito", *words, directory], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout


def everything(directory):
    info = json.loads(say(directory, "info", "--json"))
    del info["files"], info["files_bytes"], info["bytes_of"]  # the merged file is one of them
    return [info, say(directory, "report", "--json", "--limit", "0"), say(directory, "report", "balance")]


def same_without(directory):
    """The reports of an experiment, which must be the same with and without its merged file; the file is moved away."""
    with_it = everything(directory)
    os.rename(directory / "merged", directory.parent / "merged-then")
    assert everything(directory) == with_it
    return with_it


def test_where_mpi_ends(mpi):  # noqa: F811
    done = mpi.measured(3, PROGRAM)
    assert sorted(os.listdir(done.directory)) == ["experiment.json", "merged", "ranks", "raw"]
    assert "finalized before, and nothing has changed since" in say(done.directory, "finalize")
    report = json.loads(same_without(done.directory)[1])
    calls = {row["qualname"]: row["visits"] for row in report["rows"]}
    assert calls["work"] == 9 and calls["leaf"] == 0 + 1 + 2 + 10 + 20 + 30 + 3 * 5
    assert calls["MPI_Finalize"] == calls["only_0"] * 3 == 3


# about 500 KiB for each rank: a message of more pieces than a rank sends before the other one has answered
MANY = """
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
names = [f"function_{i}_of_rank_{rank}_and_of_no_other" for i in range(4000)]
exec("\\n".join(f"def {name}(): pass\\n{name}()" for name in names))
"""


def test_ranks_with_much_to_say(mpi):  # noqa: F811
    done = mpi.measured(3, MANY)
    assert (done.directory / "merged").stat().st_size > 3 << 19
    calls = [row["visits"] for row in _analyse.Model(str(done.directory)).flat() if "_and_of_no_other" in row["qualname"]]
    assert calls == [1] * 12000


# the command line with a lower limit of a large trace; each launcher that builds the index adds a line
FINALIZING = """
import os, sys
from spartito.experiments import lod
lod.MIN_EVENTS = 1000
real = lod.make
def make(model, directory, *more):
    with open(os.path.join(directory, "..", "made"), "a") as f:
        print(model.info()["events"], file=f)
    real(model, directory, *more)
lod.make = make
from spartito.cli.main import main
sys.exit(main())
"""


def test_the_last_launcher_sums_up_what_all_ranks_recorded(mpi):  # noqa: F811
    (mpi.path / "program.py").write_text(PROGRAM + "work(1000)\n")
    done = mpi.run(2, [sys.executable, "-c", FINALIZING, "run", "--trace", "-o", "x", "--", sys.executable, "program.py"])
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(mpi.path / "x")) == ["experiment.json", "lod", "merged", "ranks", "raw"]
    model = _analyse.Model(str(mpi.path / "x"))
    events = model.info()["events"]
    assert events > 4000 and (mpi.path / "made").read_text() == f"{events}\n"
    assert model.sum_up() is False  # the index exists, and belongs to these files
    assert done.stderr.count("measuring took about") == 1 and "no summaries" not in done.stderr


def test_finalized_later(mpi):  # noqa: F811
    done = mpi.measured(3, PROGRAM, "--no-finalize", "--to", "folded")
    assert sorted(os.listdir(done.directory)) == ["experiment.json", "ranks", "raw"]
    shutil.copytree(done.directory, mpi.path / "y")
    alone = subprocess.run([sys.executable, "-m", "spartito", "finalize", done.directory], capture_output=True, text=True)
    assert alone.returncode == 0 and "merged 3 processes" in alone.stdout and alone.stderr.count("measuring took about") == 1
    together = mpi.run(2, [sys.executable, "-m", "spartito", "finalize", "y"])
    assert together.returncode == 0, together.stderr
    assert "merged 3 processes" in together.stdout and together.stderr.count("measuring took about") == 1
    for directory in (done.directory, mpi.path / "y"):
        assert sorted(os.listdir(directory)) == ["experiment.json", "merged", "ranks", "raw"]
    assert (mpi.path / "x.folded").read_text() == (mpi.path / "y.folded").read_text()
    same_without(done.directory)


TASKS = """
from mpi4py import MPI
import asyncio
from concurrent.futures import ThreadPoolExecutor
c = MPI.COMM_WORLD
exec(f"async def only_{c.rank}(n):\\n    await asyncio.sleep(0.001 * n)\\nonly = only_{c.rank}")
async def both(n):
    await asyncio.sleep(0)
    if n == 1:
        raise KeyError(n)
    await asyncio.create_task(only(n), name=f"{c.rank}.{n}")
async def main():
    kept = asyncio.create_task(asyncio.sleep(100))
    with ThreadPoolExecutor(1) as pool:
        await asyncio.get_running_loop().run_in_executor(pool, len, "")
    await asyncio.gather(*(both(n) for n in range(4 + 3 * c.rank)), return_exceptions=True)
asyncio.run(main())
c.Barrier()
"""


def test_tasks(mpi):  # noqa: F811
    done = mpi.measured(2, TASKS, "--task-limit", "8")
    assert (done.directory / "merged").exists()
    merged = say(done.directory, "report", "tasks", "--json", "--limit", "0")
    same_without(done.directory)
    assert say(done.directory, "report", "tasks", "--json", "--limit", "0") == merged
    found = json.loads(merged)
    groups = {str(row["name"]).rpartition(":")[2]: row for row in found["groups"]}
    assert groups["both"]["tasks"] == 4 + 7 and groups["both"]["states"] == {"returned": 9, "raised": 2}
    assert (groups["only_0"]["tasks"], groups["only_1"]["tasks"]) == (3, 6)
    assert len(found["tasks"]) == 16 and {t["process"] for t in found["tasks"]} == {0, 1}
    assert found["handed"]["given"] == 2


def test_what_comes_after_the_end_of_mpi_is_kept(mpi):  # noqa: F811
    """A program that ends MPI itself continues, and so does the measurement: its data after MPI is not lost."""
    done = mpi.measured(2, PROGRAM + "MPI.Finalize()\ndef late(): pass\nlate()\n")
    assert not (done.directory / "merged").exists()
    report = json.loads(say(done.directory, "report", "--json", "--limit", "0"))
    assert [row["visits"] for row in report["rows"] if row["qualname"] == "late"] == [2]
    # one rank ends MPI itself, the other leaves it to Python
    done = mpi.measured(2, PROGRAM + "if c.rank: MPI.Finalize()\ndef late(): pass\nlate()\n")
    assert not (done.directory / "merged").exists()


def test_not_all_are_measured(mpi):  # noqa: F811
    (mpi.path / "program.py").write_text(PROGRAM)
    run = f"{sys.executable} -m spartito run -q -o {mpi.path / 'x'} --"
    plain = f"{sys.executable} program.py"
    script = f'case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in 0) exec {run} {plain};; *) exec {plain}; esac'
    done = mpi.run(2, ["sh", "-c", script])
    assert done.returncode == 0, done.stderr
    assert not (mpi.path / "x" / "merged").exists()
    assert "MPI_Finalize" in say(mpi.path / "x", "report", "--limit", "0", status=losses.INCOMPLETE)


FORKING = """
import os
if not os.fork():
    work(3)
    os._exit(0)
os.wait()
"""


def test_children_and_threads_that_go_on(mpi):  # noqa: F811
    """A forked child is not a rank. Threads of MPI itself, with file I/O, end after the merge and change nothing."""
    done = mpi.measured(2, PROGRAM + FORKING, "--io")
    assert (done.directory / "merged").exists()
    info = same_without(done.directory)[0]
    assert info["problems"] == []
    ranks = [p["rank"] for p in info["processes"]]
    assert sorted(p["parent"] for p in info["processes"] if p["forked"]) == [ranks.index(0), ranks.index(1)]
    assert [p["rank"] for p in info["processes"] if p["forked"]] == [None, None]


def test_other_ranks_are_not_measured(mpi, tmp_path):  # noqa: F811
    """Two groups whose measured members are the same, while members without Spartito differ, remain separate in a merged
    experiment."""
    split = "c.Split(0 if c.rank != {} else MPI.UNDEFINED)\n"
    (mpi.path / "program.py").write_text(PROGRAM + split.format(2) + split.format(1))
    run = f"{sys.executable} -m spartito run -q --trace -o x --"
    plain = f"{sys.executable} program.py"
    script = f'case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in 0) exec {run} {plain};; *) exec {plain}; esac'
    assert mpi.run(3, ["sh", "-c", script]).returncode == 0

    def written():
        found = []
        for kind in ("json", "otf2"):
            shutil.rmtree(tmp_path / "out", ignore_errors=True)
            (tmp_path / "out").mkdir()
            say(mpi.path / "x", "convert", "--to", kind, "-o", tmp_path / "out" / kind, status=losses.INCOMPLETE)
            # each archive has another number in its anchor file
            files = [p for p in (tmp_path / "out").rglob("*") if p.is_file() and p.suffix != ".otf2"]
            found.append({p.name: p.read_bytes() for p in files})
        return found

    before = written()
    say(mpi.path / "x", "finalize", "--force")
    assert written() == before
    assert len({str(g) for g in json.loads(before[0]["json"])["groups"]}) < len(json.loads(before[0]["json"])["groups"])


def test_a_rank_is_killed(mpi):  # noqa: F811
    killed = f"import os\nif c.rank == 1: os.kill(os.getpid(), {int(signal.SIGKILL)})\nc.Barrier()\n"
    done = mpi.measured(3, PROGRAM + killed, fails=True)
    assert done.done.returncode != 0
    assert not (done.directory / "merged").exists()
    output = say(done.directory, "finalize")
    assert "merged 3 processes" in output
    assert same_without(done.directory)[0]["processes"][1]["end"] == "abrupt"


def test_by_mpiexec(mpi):  # noqa: F811
    done = mpi.measured(3, PROGRAM)
    (done.directory / "merged").unlink()
    command = [sys.executable, "-m", "spartito", "finalize", "--force", done.directory]
    by = mpi.run(4, command)
    assert by.returncode == 0, by.stderr
    assert by.stdout.count("merged 3 processes") == len(by.stdout.splitlines()) == 1
    by = mpi.run(2, [word for word in command if word != "--force"])
    assert by.stdout.count("finalized before") == len(by.stdout.splitlines()) == 1
    same_without(done.directory)
    by = mpi.run(2, [*command[:-1], mpi.path / "nowhere"])
    assert by.returncode != 0
    assert by.stderr.count("there is no such experiment") == 1
    # a program that is a rank may run the merge alone
    (mpi.path / "inner.py").write_text(f"import os, subprocess\nfrom mpi4py import MPI\n"
                                       f"if MPI.COMM_WORLD.rank == 0: subprocess.run({list(map(str, command))}, check=True)\n")
    assert "merged 3 processes" in mpi.run(2, [sys.executable, "inner.py"]).stdout
