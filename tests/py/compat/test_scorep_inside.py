# SPDX-License-Identifier: BSD-3-Clause
"""scorep.register() without `python -m scorep`, force_finalize(), and the instrumenter file."""

import os
import subprocess
import sys

import pytest
from scorep_helpers import environment, measured, program, results, run, visits

OWN = {"MANIFEST.md", "experiment.json", "raw", "scorep.cfg", "profile.cubex"}


def plain(path, source, status=0, stderr="", **env):
    name = program(path, source)
    done = subprocess.run([sys.executable, name], cwd=path, env=environment(**env), capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (status, stderr), done.stdout + done.stderr
    return done.stdout


def test_register_kicks_off_from_inside(tmp_path):
    source = """\
        def before(): pass
        def after(): pass
        before()
        import scorep
        scorep.register()
        after()
    """
    plain(tmp_path, source)
    (experiment,) = results(tmp_path)
    assert experiment.name.startswith("scorep-2")
    assert set(os.listdir(experiment)) == OWN
    found = visits(experiment)
    assert found["__main__:after"] == 1 and "__main__:before" not in found


@pytest.mark.parametrize("method, main", [("spawn", "__mp_main__"), ("fork", "__main__")])
def test_each_process_names_its_directory(tmp_path, method, main):
    source = """\
        import multiprocessing as mp, os
        def work(n):
            os.environ["SCOREP_EXPERIMENT_DIRECTORY"] = os.path.join("out", str(n))
            import scorep
            scorep.register()
            return step(n)
        def step(n): return n + 1
        if __name__ == "__main__":
            workers = [mp.get_context("METHOD").Process(target=work, args=(n,)) for n in range(2)]
            [w.start() for w in workers], [w.join() for w in workers]
    """
    plain(tmp_path, source.replace("METHOD", method))
    for n in range(2):
        assert set(os.listdir(tmp_path / "out" / str(n))) == OWN
        assert "abruptly" not in (tmp_path / "out" / str(n) / "MANIFEST.md").read_text()
        assert visits(tmp_path / "out" / str(n))[f"{main}:step"] == 1


def test_register_says_what_is_wrong(tmp_path):
    source = """\
        import os, scorep
        for name, value, error in (("TOTAL_MEMORY", "much", ValueError), ("EXPERIMENT_DIRECTORY", "/proc/x/y", OSError)):
            os.environ["SCOREP_" + name] = value
            try:
                scorep.register()
            except error as e:
                assert value in str(e), e
            else:
                raise AssertionError(name)
            del os.environ["SCOREP_" + name]
        scorep.register()
    """
    plain(tmp_path, source)
    assert len(results(tmp_path)) == 1


def test_register_with_neither_profile_nor_trace(tmp_path):
    plain(tmp_path, "import scorep\nscorep.register()\n", SCOREP_ENABLE_PROFILING="false")
    assert set(os.listdir(results(tmp_path)[0])) == OWN - {"profile.cubex"}


def test_children_of_fork_are_in_the_same_experiment(tmp_path):
    source = """\
        import os, scorep
        def child(): pass
        def parent(): pass
        scorep.register()
        pid = os.fork()
        if not pid:
            child()
            os._exit(0)
        os.waitpid(pid, 0)
        parent()
    """
    plain(tmp_path, source)
    (experiment,) = results(tmp_path)
    found = visits(experiment)
    assert found["__main__:child"] == found["__main__:parent"] == 1


FINALIZE = """\
    import os, scorep, scorep.user
    {start}
    def before(): pass
    def after(): pass
    before()
    scorep.user.force_finalize()
    here = [d for d in os.listdir() if d.startswith("scorep-")]
    assert sorted(os.listdir(here[0])) == {files!r}, os.listdir(here[0])
    after()
    scorep.user.force_finalize()
    scorep.register()
    scorep.user.reregister_exit_handler()
    with scorep.user.region("late"): after()
"""


@pytest.mark.parametrize("start", ["scorep.register()", ""])
def test_force_finalize(tmp_path, start):
    source = FINALIZE.format(start=start, files=sorted(OWN))
    if start:
        plain(tmp_path, source)
        (experiment,) = results(tmp_path)
    else:
        experiment = measured(tmp_path, source)
    found = visits(experiment)
    assert found["__main__:before"] == 1
    assert "__main__:after" not in found and "user:late" not in found
    assert set(os.listdir(experiment)) == OWN


@pytest.mark.parametrize("again", ["scorep.user.reregister_exit_handler()", ""])
def test_exit_handler_first_again(tmp_path, again):
    source = f"""\
        import atexit, os, scorep, scorep.user
        def ends(): print(sorted(os.listdir("x")))
        scorep.register()
        atexit.register(ends)
        {again}
    """
    output = plain(tmp_path, source, SCOREP_EXPERIMENT_DIRECTORY="x")
    assert ("profile.cubex" in output) == bool(again)
    assert (tmp_path / "x/profile.cubex").exists()


INSTRUMENTER = """\
import scorep.user

# import module that shall be instrumented
import module_to_instrument
import module

def mine(): pass
mine()

# hand over the imported module, containing functions which shall be instrumented
scorep.user.instrument_module(module_to_instrument)

# hand the function to be instrumented, and overwrite the original definiton of that function
module.function_to_instrument = scorep.user.instrument_function(module.function_to_instrument)
"""
SCRIPT = """\
    import module, module_to_instrument
    module.function_to_instrument()
    module.other()
    module_to_instrument.one()
    module_to_instrument.Two().method()
"""


@pytest.mark.parametrize("option", ["--noinstrumenter", "--nopython", "--instrumenter-type=dummy"])
@pytest.mark.parametrize("how", ["script", "module"])
def test_instrumenter_file(tmp_path, option, how):
    program(tmp_path, "def function_to_instrument(): pass\ndef other(): pass\n", "module.py")
    text = "from os.path import join\ndef one(): return join('a', 'b')\nclass Two:\n    def method(self): pass\n"
    program(tmp_path, text, "module_to_instrument.py")
    program(tmp_path, INSTRUMENTER, "instrumenter.py")
    program(tmp_path, SCRIPT)
    words = ["program.py"] if how == "script" else ["-m", "program"]
    done = run(tmp_path, option, "--instrumenter-file=instrumenter.py", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = visits(results(tmp_path)[0])
    assert found.pop("posixpath:join") == 1  # imported functions, too
    functions = {name for name in found if ":" in name}
    assert functions == {"module:function_to_instrument", "module_to_instrument:one"}


def test_instrumenter_file_with_functions_recorded_anyway(tmp_path):
    program(tmp_path, "def function_to_instrument(): pass\ndef other(): pass\n", "module.py")
    program(tmp_path, "def one(): pass\nclass Two:\n    def method(self): pass\n", "module_to_instrument.py")
    program(tmp_path, INSTRUMENTER, "instrumenter.py")
    found = visits(measured(tmp_path, SCRIPT, "--instrumenter-file=instrumenter.py"))
    for name in ("module:function_to_instrument", "module:other", "module_to_instrument:one", "module_to_instrument.Two:method"):
        assert found[name] == 1
    # functions of the instrumenter file are not recorded
    assert not [name for name in found if name.endswith((":mine", ":instrument_module")) or "instrumenter_file" in name]


@pytest.mark.parametrize("module", ["enable", "disable"])
def test_instrumenter_file_with_the_other_decorators(tmp_path, module):
    program(tmp_path, "def f(): return g()\ndef g(): pass\n", "part.py")
    text = f"import part, scorep.instrumenter as i, scorep.user as u\npart.f = u.instrument_function(part.f, i.{module})\n"
    program(tmp_path, text, "instrumenter.py")
    options = ["--noinstrumenter"] if module == "enable" else []
    found = visits(measured(tmp_path, "import part\npart.f()\n", "--instrumenter-file=instrumenter.py", *options))
    # the function is executed below enable or disable
    assert {n: found.get(n, 0) for n in ("part:f", "part:g")} == dict.fromkeys(("part:f", "part:g"), int(module == "enable"))


@pytest.mark.parametrize(("text", "status", "message"), [("1 / 0\n", 1, "ZeroDivisionError"), ("import sys; sys.exit(5)\n", 5, "")])
def test_errors_of_the_instrumenter_file_end_the_run(tmp_path, text, status, message):
    program(tmp_path, "print('ran')")
    program(tmp_path, text, "instrumenter.py")
    done = run(tmp_path, "--instrumenter-file=instrumenter.py", "program.py")
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr and ("instrumenter.py" in done.stderr) == bool(message)


def test_instrumenter_file_without_a_measurement_and_for_children(tmp_path):
    program(tmp_path, "import os, sys\nprint(os.getpid())\n", "instrumenter.py")
    source = """\
        import os, subprocess, sys
        print(os.getpid(), flush=True)
        assert "SPARTITO_INSTRUMENTER_FILE" not in os.environ
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
    """
    program(tmp_path, source)
    for profiling in ("true", "false"):
        done = run(tmp_path, "--instrumenter-file=instrumenter.py", "program.py", env={"SCOREP_ENABLE_PROFILING": profiling})
        first, second, third = done.stdout.split()
        assert first == second and third == "child"


@pytest.mark.parametrize("again", [False, True])
def test_regions_under_spartito_run(tmp_path, again):
    """Functions of the module scorep are not recorded; a region lasts from region_begin() to region_end(). again: a module of the
    program named scorep is recorded."""
    source = """\
        import scorep
        def f(): pass
        scorep.user_region_begin("r"); f(); scorep.user_region_end("r")
        with scorep.instrumenter.disable("quiet"): f()
    """
    if again:
        (tmp_path / "scorep.py").write_text("def mine(): pass\n")
        source = "import scorep; scorep.mine()"
    name = program(tmp_path, source)
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", "run", "--", sys.executable, name]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    found = visits(tmp_path / "run")
    ours = {n: v for n, v in found.items() if n.startswith(("scorep", "user", "error", "__main__:f"))}
    if again:
        assert ours == {"scorep:<module>": 1, "scorep:mine": 1}
    else:
        assert ours == {"user:r": 1, "user_instrumenter:quiet": 1, "__main__:f": 1}
