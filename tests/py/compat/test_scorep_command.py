# SPDX-License-Identifier: BSD-3-Clause
"""`python -m scorep`: its options, and that the program runs unchanged."""

import os
import signal
import subprocess
import sys

import pytest
from scorep_helpers import environment, measured, program, results, run, visits


def test_help(tmp_path):
    done = run(tmp_path, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Usage: python -m scorep ")
    for option in ("--help", "--keep-files", "--verbose", "-v", "--noinstrumenter", "--nopython", "--instrumenter-type",
                   "--instrumenter-file", "--mpi", "--mpp", "--thread", "--compiler", "--nocompiler", "--user", "--io"):
        assert option in done.stdout
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("words", [[], ["--mpp=mpi"], ["--noinstrumenter", "--"]])
def test_no_script(tmp_path, words):
    done = run(tmp_path, *words)
    assert (done.returncode, done.stderr) == (1, "scorep: Did not find a script to run\n")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--foo", "unknown option --foo"),
        ("--foo=3", "unknown option --foo=3"),
        ("-x", "unknown option -x"),
        ("--noinstrumentor", "did you mean --noinstrumenter?"),
        ("--instrumenter-type=fast", "'fast' is not one of profile, trace, cProfile, cTrace, dummy"),
        ("--instrumenter-type", "--instrumenter-type needs a value"),
        ("--instrumenter-file=no.py", "'no.py' is not a file"),
        ("--mpp=pvm", "'pvm' is not one of none, mpi"),
        ("--io=tape", "'tape' is not one of posix, runtime:posix, none"),
        ("--help=1", "unknown option --help=1"),
    ],
)
def test_wrong_options_name_the_option_and_start_nothing(tmp_path, word, message):
    program(tmp_path, "print('ran')")
    done = run(tmp_path, word, "program.py")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("scorep: ") and done.stderr.count("\n") == 1
    assert word.split("=")[0] in done.stderr and message in done.stderr
    assert not results(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        ["--mpp=mpi", "--thread=pthread"],
        ["--mpi"],
        ["--compiler", "--thread=pthread"],
        ["--compiler", "--thread=pthread", "--mpp=mpi"],
        ["--nocompiler"],
        ["--thread=omp"],
        ["--mpp=none", "--thread=none", "--user"],
        ["--instrumenter-type=profile"],
        ["--instrumenter-type=trace"],
        ["--instrumenter-type=cProfile"],
        ["--instrumenter-type=cTrace"],
        ["--"],
    ],
)
def test_options_that_record_the_same(tmp_path, options):
    source = """\
        class Grid:
            def smooth(self): return step(1)
        def step(x): return x + 1
        for i in range(3): Grid().smooth()
    """
    found = visits(measured(tmp_path, source, *options))
    assert found["__main__:step"] == found["__main__.Grid:smooth"] == 3


def test_keep_files_says_that_there_are_none(tmp_path):
    program(tmp_path, "")
    done = run(tmp_path, "--keep-files", "program.py")
    assert (done.returncode, done.stderr) == (0, "scorep: --keep-files: there are no temporary files\n")


def test_verbose(tmp_path):
    program(tmp_path, "print('ran')")
    done = run(tmp_path, "-v", "--thread=omp", "--compiler", "program.py")
    (experiment,) = results(tmp_path)
    assert done.stdout == "ran\n"
    assert all(line.startswith("scorep: ") for line in done.stderr.splitlines())
    assert f"the experiment directory is {experiment}\n" in done.stderr
    assert "scorep: SCOREP_ENABLE_PROFILING=true\n" in done.stderr
    assert "preloaded" in done.stderr
    assert "--thread=omp" in done.stderr and "--compiler" in done.stderr
    assert "experiment directory" in run(tmp_path, "program.py", env={"SCOREP_VERBOSE": "true"}).stderr


def test_main_called_by_the_program(tmp_path):
    program(tmp_path, "import scorep.__main__\nscorep.__main__.main()\nprint('not here')")
    for words in (["-m", "scorep", "program.py"], ["program.py"]):
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith("scorep: Someone called scorep.__main__.main")


IDENTITY = """\
import json, os, pickle, sys
class Point:
    pass
flags = {k: getattr(sys.flags, k) for k in dir(sys.flags) if not k.startswith(("_", "n_", "count", "index"))}
assert pickle.loads(pickle.dumps(Point())).__class__ is Point
assert sys.modules["__main__"].Point is Point
mine = sys.stdout.write_through
print(json.dumps([sys.argv, __name__, __file__, sys.path[0], flags, sys.warnoptions, sorted(sys._xoptions.items()), mine]))
"""


FLAGS = [(), ("-u",), ("-B", "-X", "utf8"), ("-OO", "-Wignore"), ("-X", "dev"), ("-W", "error", "-q")]


@pytest.mark.parametrize("flags", FLAGS)
def test_the_program_is_the_plain_one(tmp_path, flags):
    program(tmp_path, IDENTITY)
    env = environment()
    plain = subprocess.run([sys.executable, *flags, "program.py", "-x", ""], cwd=tmp_path, env=env, capture_output=True, text=True)
    done = run(tmp_path, "program.py", "-x", "", flags=flags)
    assert plain.returncode == 0, plain.stderr
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, plain.stderr)
    assert len(results(tmp_path)) == 1


@pytest.mark.parametrize("flag", ["-um", "-m"])
def test_merged_flags(tmp_path, flag):
    program(tmp_path, "import sys; print(sys.stdout.write_through)")
    command = [sys.executable, flag, "scorep", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.stdout == f"{flag == '-um'}\n" and done.stderr == ""


def test_module(tmp_path):
    (tmp_path / "pack").mkdir()
    program(tmp_path / "pack", "", "__init__.py")
    program(tmp_path / "pack", "import sys\nfrom . import part\npart.f()\nprint(__name__, sys.argv[1:])\n", "__main__.py")
    program(tmp_path / "pack", "def f(): pass\n", "part.py")
    done = run(tmp_path, "--", "-m", "pack", "-v", "--help")
    assert (done.returncode, done.stdout, done.stderr) == (0, "__main__ ['-v', '--help']\n", "")
    assert visits(results(tmp_path)[0])["pack.part:f"] == 1
    assert run(tmp_path, "-m", "pack", "1").stdout == "__main__ ['1']\n"


def test_exit_status_signal_and_traceback(tmp_path):
    program(tmp_path, "import sys\ndef f(): sys.exit(7)\nf()", "seven.py")
    program(tmp_path, "import os\ndef f(): os.kill(os.getpid(), 15)\nf()", "killed.py")
    program(tmp_path, "def f(): raise OSError(2, 'mine', 'x')\nf()", "raises.py")
    assert run(tmp_path, "seven.py").returncode == 7
    assert run(tmp_path, "killed.py").returncode == -signal.SIGTERM
    plain = subprocess.run([sys.executable, "raises.py"], cwd=tmp_path, capture_output=True, text=True)
    done = run(tmp_path, "raises.py")
    # Score-P's bindings take an OSError of the program for a script that cannot be opened; Spartito does not
    assert (done.returncode, done.stderr) == (1, plain.stderr)
    assert len(results(tmp_path)) == 3
    assert all((p / "profile.cubex").exists() for p in results(tmp_path))


def test_missing_script(tmp_path):
    done = run(tmp_path, "none.py")
    assert done.returncode == 2 and "can't open file" in done.stderr and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)


def test_nested_runs(tmp_path):
    program(tmp_path, "def inner(): pass\ninner()", "inner.py")
    source = """\
        import subprocess, sys
        def outer(): return subprocess.run([sys.executable, "-m", "scorep", "inner.py"]).returncode
        sys.exit(outer())
    """
    program(tmp_path, source)
    done = run(tmp_path, "program.py", env={"SCOREP_EXPERIMENT_DIRECTORY": "x"})
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(p.name for p in results(tmp_path)) == ["x", "x-2"]
    assert visits(tmp_path / "x")["__main__:outer"] == 1
    assert visits(tmp_path / "x-2")["__main__:inner"] == 1


MULTIPROCESSING = """\
import multiprocessing as mp
def work(n): return n * n
if __name__ == "__main__":
    with mp.get_context({!r}).Pool(2) as pool:
        assert pool.map(work, range(6), chunksize=1) == [n * n for n in range(6)]
        pool.close(), pool.join()
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path, how):
    found = visits(measured(tmp_path, MULTIPROCESSING.format(how)))
    assert found["__main__:work" if how == "fork" else "__mp_main__:work"] == 6


def test_reload(tmp_path):
    program(tmp_path, "def f(): pass\n", "part.py")
    source = "import importlib, part\npart.f()\nimportlib.reload(part).f()\n"
    assert visits(measured(tmp_path, source))["part:f"] == 2


def test_threads_without_a_flag(tmp_path):
    source = """\
        import threading
        def work(): pass
        threads = [threading.Thread(target=work, name=f"t{i}") for i in range(3)]
        [t.start() for t in threads], [t.join() for t in threads]
    """
    experiment = measured(tmp_path, source)
    from spartito._analyse import Model

    names = [loc["name"] for loc in Model(str(experiment)).info()["locations"]]
    assert {"t0", "t1", "t2"} <= set(names)
    assert visits(experiment)["__main__:work"] == 3


def test_pickling_of_classes_of_the_script(tmp_path):
    measured(tmp_path, "import pickle\nclass A: pass\nopen('a', 'wb').write(pickle.dumps(A()))")
    assert b"__main__" in (tmp_path / "a").read_bytes()
