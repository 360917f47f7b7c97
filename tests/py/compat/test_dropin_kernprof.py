# SPDX-License-Identifier: BSD-3-Clause
"""`kernprof` and `import line_profiler` of the drop-in distribution, with and without line_profiler installed; and LineStats
without line_profiler."""

import os
import pickle
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import linedata
import pytest
import spartito
from spartito._analyse import Model
from spartito.base.messages import Refused
from spartito.compat.kernprof.stats import LineStats, load_stats, main
from test_kernprof import PRINTED, SCRIPT
from test_scorep_install import DROPIN, backend, bare, pip  # noqa: F401

SPARE = {"line_profiler", "kernprof"}


def built(backend, tmp_path):  # noqa: F811
    with zipfile.ZipFile(tmp_path / backend.build_wheel(str(tmp_path))) as wheel:
        return wheel.namelist()


def test_left_out_where_the_real_one_is(backend, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    names = built(backend, tmp_path)
    assert {name.partition("/")[2].partition("/")[0] for name in names} > SPARE
    assert "spartito_dropin-0.1.0.data/scripts/kernprof" in names
    for real in ("line_profiler/__init__.py", "kernprof.py"):
        path = tmp_path / real
        path.parent.mkdir(exist_ok=True)
        path.write_text("", encoding="utf-8")
        names = built(backend, tmp_path)
        assert not [name for name in names if "kernprof" in name or "line_profiler" in name]
        assert "spartito_dropin/scorep/__init__.py" in names
        path.unlink()


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith(("SPARTITO_", "PYTHON", "LINE_PROFILE"))}


def out(place, *words):
    done = subprocess.run(list(map(str, words)), cwd=place, capture_output=True, encoding="utf-8", env=clean(), timeout=200)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_without_line_profiler(bare, tmp_path):  # noqa: F811
    python, site = bare
    package = Path(spartito.__file__).parent
    (site / "spartito").symlink_to(package)
    (site / "spartito.pth").write_bytes((package.parent / "spartito.pth").read_bytes())
    done = pip(python, "install", "--no-index", "--no-deps", DROPIN)
    assert done.returncode == 0, done.stderr
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    assert out(tmp_path, python.parent / "kernprof", "-l", "script.py", "a", "-l").startswith(PRINTED)
    text = out(tmp_path, python, "-m", "line_profiler", "script.py.lprof")
    assert "- work\n" in out(tmp_path, python, "-m", "line_profiler", "-rmt", "script.py.lprof")
    assert "Function: work at line 4\n" in text and text.startswith("Timer unit: 1e-06 s\n\n")
    (tmp_path / "explicit.py").write_text("from line_profiler import profile\n@profile\ndef f():\n    return 1\nprint(f())\n")
    assert out(tmp_path, python, "explicit.py") == "1\n"
    assert "Function: f at line 2\n" in out(tmp_path, python, "-m", "kernprof", "-lv", "explicit.py")
    # when the real kernprof is installed later, it is found first, also by the drop-in's script
    (site / "kernprof.py").write_text("def main():\n    print('real')\n", encoding="utf-8")
    assert out(tmp_path, python.parent / "kernprof") == "real\n"
    assert pip(python, "uninstall", "-y", "spartito-dropin").returncode == 0
    assert not (python.parent / "kernprof").exists() and not (site / "spartito_dropin").exists()


# ---- LineStats ----


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("stats")
    run = linedata.make(directory)
    Model(str(run)).convert("lprof", str(directory / "a.lprof"))
    return directory


def test_files_are_read_and_added_up(files):
    one = load_stats(files / "a.lprof")
    assert one.unit == 1e-9 and (str(files / "lined.py"), 5, "busy") in one.timings
    two = load_stats(files / "a.lprof", str(files / "a.lprof"))
    assert two.timings == {k: [(n, 2 * h, 2 * t) for n, h, t in v] for k, v in one.timings.items()}
    assert one == load_stats(files / "a.lprof") and one != two and repr(one).startswith("LineStats({(")


@pytest.mark.parametrize("words", [[], ["-z", "-m"], ["-t", "-u", "1e-3"], ["--skip-zero", "--sort", "--summarize", "--unit=2"]])
def test_printed_as_line_profiler_prints(files, words, capsys):
    pytest.importorskip("line_profiler")
    path = str(files / "a.lprof")
    assert main([*words, path]) == 0
    environment = {**clean(), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "line_profiler", *words, path]
    theirs = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment, cwd=files)
    assert capsys.readouterr().out == theirs.stdout


def test_what_is_no_lprof_file(tmp_path, capsys):
    (tmp_path / "x").write_bytes(b"no")
    (tmp_path / "evil").write_bytes(pickle.dumps(os.getcwd))
    (tmp_path / "odd").write_bytes(pickle.dumps({"a": 1}))
    for name in ("x", "evil", "odd"):
        with pytest.raises(Refused, match=f"{name} is no .lprof file: "):
            load_stats(tmp_path / name)
        assert main([str(tmp_path / name)]) == 1
        assert capsys.readouterr().err.startswith(f"line_profiler: {tmp_path / name} is no .lprof file: ")
    assert main([]) == 2 and main(["-u", "0", "x"]) == 2 and main(["--nonsense", "x"]) == 2
    assert main([str(tmp_path / "none")]) == 1
    assert isinstance(LineStats({}, 1.0), LineStats)


EXPLICIT = """\
from line_profiler import profile

@profile
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a

fib(10)
"""


def alone(place, source, *words, **variables):
    """Runs a program that imports line_profiler of the drop-in, without a command of Spartito."""
    (place / "script.py").write_text(source, encoding="utf-8")
    env = {**clean(), "PYTHONPATH": str(DROPIN), **variables}
    done = subprocess.run([sys.executable, "script.py", *words], cwd=place, capture_output=True, encoding="utf-8", env=env)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "variables", "source"),
    [
        ((), {"LINE_PROFILE": "1"}, EXPLICIT),
        (("--line-profile",), {}, EXPLICIT),
        ((), {}, EXPLICIT.replace("import profile\n", "import profile\nprofile.enable()\n")),
    ],
)
def test_explicit_profile_writes_when_the_program_ends(tmp_path, words, variables, source):
    output = alone(tmp_path, source, *words, **variables)
    first = source[: source.index("@profile")].count("\n") + 1
    stats = load_stats(tmp_path / "profile_output.lprof")
    hits = {key[2]: {line: n for line, n, _ in lines} for key, lines in stats.timings.items()}
    assert hits == {"fib": {first + 2: 1, first + 3: 11, first + 4: 10, first + 5: 1}}
    assert "a, b = b, a + b" in (tmp_path / "profile_output.txt").read_text()
    assert len(list(tmp_path.glob("profile_output*"))) == 3 and "Wrote profile results to profile_output.txt\n" in output



@pytest.mark.parametrize("variables", [{}, {"LINE_PROFILE": "0"}])
def test_explicit_profile_that_nobody_asked_for(tmp_path, variables):
    assert alone(tmp_path, EXPLICIT, **variables) == "" and not list(tmp_path.glob("profile_output*"))


OWN = """\
import asyncio, functools, io, sys
from line_profiler import LineProfiler, load_stats
from line_profiler.line_profiler import show_func, show_text
from kernprof import ContextualProfile

lp = LineProfiler()

def plain(n):
    return n + 1

def steps():
    got = yield 1
    yield got

@lp
class Grid:
    @property
    def size(self):
        return 3

    @staticmethod
    def static():
        return 4

assert lp.last_time == {} and lp(plain) is not plain and lp.enable_count == 0
wrapped = lp(plain)
assert lp(wrapped) is wrapped and wrapped(1) == 2
plain(1)  # not enabled: not recorded
generator = lp(steps)()
assert next(generator) == 1 and lp.enable_count == 0 and generator.send(7) == 7
assert Grid().size == 3 and Grid.static() == 4 and lp(functools.partial(plain, 5))() == 6
with lp:
    plain(1)

@lp
def now():
    return {code.co_name for code in lp.last_time}

assert now() == {"now"} and lp.last_time == {}
hits = {key[2]: sorted(n for _, n, _ in lines) for key, lines in lp.get_stats().timings.items()}
assert hits == {"plain": [3], "steps": [1, 1], "Grid.size": [1], "Grid.static": [1], "now": [1]}, hits
other = LineProfiler(plain)
assert other.functions == [plain] and other.code_map == {plain.__code__: {}}
lp.dump_stats("own.lprof")
assert load_stats("own.lprof") == lp.get_stats() and type(lp.get_stats()).__module__ == "line_profiler.line_profiler"
out = io.StringIO()
show_func("script.py", 8, "plain", [(9, 3, 5)], 1e-9, stream=out)
assert "return n + 1" in out.getvalue() and "Function: plain at line 8" in out.getvalue()
show_text({}, 1e-6, stream=sys.stdout)
calls = ContextualProfile()
assert calls(plain)(1) == 2 and calls.enable_count == 0
with calls:
    assert calls.enable_count == 1
assert "plain" in str([entry.code for entry in calls.getstats()])
"""


def test_a_line_profiler_of_the_program(tmp_path):
    assert alone(tmp_path, OWN) == "Timer unit: 1e-06 s\n\n"
    if line_profiler := pytest.importorskip("line_profiler"):
        assert type(line_profiler.load_stats(str(tmp_path / "own.lprof"))).__module__.startswith("line_profiler")


SEVERAL = """
from line_profiler import LineProfiler

def plain(n):
    return n + 1

first, second, third = LineProfiler(), LineProfiler(), LineProfiler()
one = first(plain)
one(1)
both = second(one)
assert second.functions == [plain] and both is not one and second(both) is both and first(both) is both
one(1), both(1), both(1)
third.add_function(plain)
with third:
    plain(1)
    both(1)
    # what goes on counts up to now
    assert [n for _, n, _ in third.get_stats().timings["script.py", 4, "plain"]] == [2]
plain(1)
for profiler, n in (first, 5), (second, 3), (third, 2):
    (found,) = profiler.get_stats().timings.values()
    assert [hits for _, hits, _ in found] == [n], (found, n)
"""


def test_a_function_of_several_profilers(tmp_path):
    source = SEVERAL.replace('"script.py"', "__file__")
    assert alone(tmp_path, source) == ""


ADDING = """
import sys, types, warnings
import pkg, pkg.inner
from line_profiler import LineProfiler

def added(namespace, policy=None, **more):
    profiler = LineProfiler()
    add = profiler.add_module if isinstance(namespace, types.ModuleType) else profiler.add_class
    n = add(namespace, scoping_policy=policy, **more)
    assert n == len(profiler.functions)
    return {f.__name__ for f in profiler.functions}

def only(**kinds):
    return {**dict.fromkeys(("func", "class", "module"), "exact"), **kinds}

assert added(pkg) == {"own", "helper", "method", "inner_method", "deep"}
assert added(pkg, "exact") == {"own"}
assert added(pkg, only(**{"class": "children"})) == {"own", "method", "deep"}
assert added(pkg, only(func="descendants")) == {"own", "helper"}
assert added(pkg, only(module="children")) == {"own", "helper"}
assert added(pkg, only(func="none")) == {"own", "helper", "dedent"}
assert added(pkg.Outer, "exact") == {"method"}
try:
    added(pkg, "all")
except ValueError as e:
    assert str(e).startswith("scoping_policy: func: 'all' is not one of exact, ")
else:
    raise AssertionError
before = pkg.own
assert added(pkg, "exact", wrap=True) == {"own"} and pkg.own is not before and pkg.own.__wrapped__ is before

class Stubborn(type):
    def __setattr__(cls, name, value): raise AttributeError

class Fixed(metaclass=Stubborn):
    def method(self): pass

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert added(Fixed, wrap=True) == {"method"}
assert str(caught[0].message).startswith("cannot wrap 1 attribute(s) of <class '__main__.Fixed'> ")
"""


def test_classes_and_modules_by_policy(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "inner.py").write_text("def helper(): pass\nclass Inner:\n    def inner_method(self): pass\n")
    (tmp_path / "pkg" / "__init__.py").write_text("""
from textwrap import dedent
from .inner import helper, Inner
def own(): pass
class Outer:
    class Deep:
        def deep(self): pass
    def method(self): pass
Outer.Deep.Back = Outer
""")
    assert alone(tmp_path, ADDING) == ""


def test_settings_of_a_file(tmp_path):
    (tmp_path / "rc.toml").write_text("""
[tool.line_profiler.setup]
environ_flags = ["PROFILE"]
[tool.line_profiler.write]
output_prefix = "mine"
timestamped_text = false
[tool.line_profiler.show]
details = true
summarize = false
stripzeros = "yes"
""")
    if sys.version_info < (3, 11):
        pytest.importorskip("tomli")
    variables = {"LINE_PROFILER_RC": str(tmp_path / "rc.toml")}
    assert alone(tmp_path, EXPLICIT, LINE_PROFILE="1", **variables) == ""
    output = alone(tmp_path, EXPLICIT, PROFILE="1", **variables)
    assert sorted(path.name for path in tmp_path.glob("mine*")) == ["mine.lprof", "mine.txt"]
    assert "Function: fib at line" in output and " - fib\n" not in output


def test_functions_that_did_not_run(tmp_path):
    """Functions that did not run, in the script, in modules named by -p, and in modules added by --prof-imports, as line_profiler
    reads them."""
    (tmp_path / "mod.py").write_text("from other import helper\nimport other\ndef ran(): return helper()\ndef idle(): pass\n")
    (tmp_path / "other.py").write_text("def helper():\n    return 1\ndef never(): pass\n")
    (tmp_path / "script.py").write_text("""
import mod
@profile
def called(): mod.ran()
class C:
    @profile
    @staticmethod
    def forgotten():
        def within(): pass
def unmarked(): pass
called()
""")
    words = [sys.executable, "-m", "spartito.compat.kernprof", "-q", "-l", "--prof-imports", "-p", "mod", "-o", "x.lprof"]
    assert out(tmp_path, *words, "script.py") == ""
    stats = load_stats(tmp_path / "x.lprof")
    found = {(Path(file).name, line, name): sum(n for _, n, _ in lines) for (file, line, name), lines in stats.timings.items()}
    assert found == {
        ("mod.py", 3, "ran"): 1, ("mod.py", 4, "idle"): 0, ("other.py", 1, "helper"): 1, ("other.py", 3, "never"): 0,
        ("script.py", 3, "called"): 1, ("script.py", 6, "C.forgotten"): 0,
    }  # fmt: skip
    line_profiler = pytest.importorskip("line_profiler")
    assert line_profiler.load_stats(str(tmp_path / "x.lprof")).timings.keys() == stats.timings.keys()


MAGICS = """
import json
from IPython.testing.globalipapp import start_ipython
shell = start_ipython()
shell.run_line_magic("load_ext", "line_profiler")
shell.run_cell("def func():\\n    return 2**20")
profiler = shell.run_line_magic("lprun", "-r -f func -m calendar -z -u 1e-3 -T t.txt -D d.lprof func()")
(lines,) = (v for k, v in profiler.get_stats().timings.items() if k[2] == "func")
assert [(line, hits) for line, hits, _ in lines] == [(2, 1)]
assert any(f.__module__ == "calendar" for f in profiler.functions)
assert shell.run_line_magic("lprun", "-f func func()") is None and "profile" not in dir(__builtins__)
cell = "\\n    class Test:\\n        def test(self):\\n            return [1]\\n    z = Test().test()\\n"
whole = shell.run_cell_magic("lprun_all", "-r -t", cell)
found = {k[2].rpartition(".")[2]: [(line, hits) for line, hits, _ in v] for k, v in whole.get_stats().timings.items()}
assert found == {"<module>": [(1, 1), (4, 1)], "test": [(3, 1)]}, found
assert shell.user_ns["z"] == [1] and shell.user_ns["_total_time_taken"] > 0
own = shell.run_cell_magic("lprun_all", "-r -p", cell)
assert [k[2] for k in own.get_stats().timings] == ["<module>"]
for error in "SystemExit(0)", "ValueError(1)":
    shell.run_cell("func = lambda: (_ for _ in ()).throw(" + error + ")")
    try:
        shell.run_line_magic("lprun", "-f func func()")
        print("ended", error)
    except ValueError:
        print("raised", error)
"""


def test_magics_of_ipython(tmp_path):
    pytest.importorskip("IPython")
    output = alone(tmp_path, MAGICS, IPYTHONDIR=str(tmp_path / "ipython"))
    assert "*** SystemExit exception caught in code being profiled.\nended SystemExit(0)\n" in output
    assert "raised ValueError(1)\n" in output
    assert "Timer unit: 0.001 s\n" in (tmp_path / "t.txt").read_text() and "calendar.py" not in (tmp_path / "t.txt").read_text()
    assert "return 2**20" in output and "z = Test().test()" in output
    assert load_stats(tmp_path / "d.lprof").timings


def test_versions_agree(tmp_path):
    versions = [out(tmp_path, sys.executable, DROPIN / name, "--version") for name in ("kernprof", "line_profiler")]
    assert versions[0] == versions[1] != ""
