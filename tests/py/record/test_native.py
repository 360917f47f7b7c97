# SPDX-License-Identifier: BSD-3-Clause
"""Compiled functions in the call tree: libraries built with `spartito compile cc` and `spartito compile c++`."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from commandline import run
from conftest import ROOT
from spartito import _analyse

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
SOURCES = ROOT / "tests" / "native"
FLAGS = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", f"-I{ROOT / 'include'}"]
with open(_analyse.__file__, "rb") as analysis:
    LINES = b"built without libdw" not in analysis.read()
CTYPES = """
import ctypes
library = ctypes.CDLL("./{}.so")
library.run.restype = ctypes.c_double
print(library.run(5))
"""
NESTED = """
import nested, threading
def inner():
    return nested.work(3)
def outer():
    return nested.call(inner)
print(nested.work(10), outer(), nested.jumps(), nested.keeps_errno())
nested.threads(4)
t = threading.Thread(target=outer, name="second")
t.start(); t.join()
"""
PRINTED = "90 6 2 123\n"


def compiled(command, source, out, directory, *more):
    words = [*command, *FLAGS, SOURCES / source, "-o", directory / out, "-lpthread", "-ldl", *more]
    done = run([sys.executable, "-m", "spartito"], *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    directory = tmp_path_factory.mktemp("nested")
    compiled(["compile", "cc", "-O2"], "nested.c", "nested" + SUFFIX, directory)
    (directory / "program.py").write_text(NESTED)
    return directory


def measured(spartito, directory, where, *options, program="program.py", expected=PRINTED):
    done = run(spartito, "run", "-q", *options, "-o", where, "--", sys.executable, program, cwd=directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    return tree(spartito, where)


def rows(spartito, where, *options):
    done = run(spartito, "report", "--limit", "0", "--json", *options, where)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["rows"]


def tree(spartito, where):
    """{path of qualified names from the root: visits}"""
    names, visits = {0: ""}, {}
    for row in rows(spartito, where, "tree", "--threshold", "0"):
        names[row["path"]] = (names[row["parent"]] + " " + row["qualname"]).strip()
        visits[names[row["path"]]] = row["visits"]
    return visits


ONLY = ("--include", "__main__:*", "--include", "nested:*", "--include", "user region of C")


def nest(start, times=1):
    """The visits of each call path from Python through C and Python to C. The innermost function, leaf, is called 3 times."""
    visits, path = {}, start
    for name in ["outer", "call", "user region of C", "inner", "work", "middle"]:
        path = f"{path} {name}".strip()
        visits[path] = times
    return {**visits, path + " leaf": 3 * times}


EXPECTED = {
    "<module>": 1,
    "<module> PyInit_nested": 1,
    "<module> work": 1,
    "<module> work middle": 1,
    "<module> work middle leaf": 10,
    **nest("<module>"),
    "<module> jumps": 1,
    # six calls of jump are left by longjmp: later calls are below them until jumps() returns
    **{"<module> jumps" + " jump" * n: 1 for n in range(1, 7)},
    "<module> jumps" + " jump" * 6 + " middle": 1,
    "<module> jumps" + " jump" * 6 + " middle leaf": 2,
    "<module> keeps_errno": 1,
    "<module> keeps_errno first_call": 2,
    "<module> threads": 1,
    # in threads that never ran Python code
    "body": 4,
    "body middle": 4,
    "body middle leaf": 12,
    # in a Python thread
    **nest(""),
}


def test_python_and_c_are_one_tree(spartito, extension, tmp_path):
    assert measured(spartito, extension, tmp_path / "x", "--trace", *ONLY) == EXPECTED


def test_names_files_and_lines(spartito, extension, tmp_path):
    measured(spartito, extension, tmp_path / "x", *ONLY)
    found = {row["name"]: row for row in rows(spartito, tmp_path / "x") if row["kind"] == "native"}
    source = (SOURCES / "nested.c").read_text().splitlines()
    for name in ("leaf", "middle", "work", "body", "PyInit_nested"):
        row = found["nested:" + name]
        assert (row["module"], row["qualname"]) == ("nested", name)
        if LINES:
            assert row["file"] == str(SOURCES / "nested.c") and f"{name}(" in source[row["line"] - 1]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_cxx_with_exceptions(spartito, tmp_path, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    compiled(["compile", "c++", "--compiler", compiler, "-O0"], "grid.cpp", "grid.so", tmp_path)
    (tmp_path / "program.py").write_text(CTYPES.format("grid"))
    options = ("--include", "__main__:*", "--include", "grid:run", "--include", "grid:*solver::*")
    paths = measured(spartito, tmp_path, tmp_path / "x", *options, expected="7.0\n")
    found = {row["qualname"]: row for row in rows(spartito, tmp_path / "x")}
    steps = [found[f"solver::Grid::step({kind})"] for kind in ("int", "double")]
    assert [step["visits"] for step in steps] == [5, 5]
    if compiler == "g++":
        # two of five calls are left by an exception; code built by clang does not report such exits
        path = "<module> run solver::Grid::step(int)"
        assert paths[path] == paths[path + " solver::Grid::step(double)"] == 5
        assert paths["<module> run int solver::twice<int>(int)"] == 2
    if LINES:
        assert (steps[1]["file"], steps[1]["line"]) == (str(SOURCES / "grid.cpp"), 18)


def test_fortran(spartito, tmp_path):
    if not shutil.which("gfortran"):
        pytest.skip("no gfortran")
    words = ["-O1", "-shared", "-fPIC", SOURCES / "waves.f90", "-J", tmp_path, "-o", tmp_path / "waves.so"]
    done = run(spartito, "compile", "fc", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (tmp_path / "program.py").write_text(CTYPES.format("waves"))
    options = ("--include", "__main__:*", "--include", "waves:*")
    paths = measured(spartito, tmp_path, tmp_path / "x", *options, expected="3.0\n")
    assert sorted(paths.values()) == [1, 1, 1, 5]
    if LINES:
        assert "<module> run waves::advance advance::relax" in paths


def test_filter_and_c_calls(spartito, extension, tmp_path):
    paths = measured(spartito, extension, tmp_path / "x", "--c-calls", *ONLY, "--exclude", "function:middle")
    # callees of an excluded function belong to its caller
    assert paths["<module> <built-in method nested.work> work leaf"] == 10
    assert paths["body leaf"] == 12
    assert not any("middle" in path for path in paths)


def test_object_that_changes(spartito, tmp_path):
    compiled(["compile", "cc", "-O2"], "nested.c", "nested" + SUFFIX, tmp_path)
    (tmp_path / "program.py").write_text(NESTED)
    before = measured(spartito, tmp_path, tmp_path / "x", *ONLY)
    compiled(["compile", "cc", "-O0", "-DOTHER"], "nested.c", "nested" + SUFFIX, tmp_path)
    done = run(spartito, "report", "tree", "--threshold", "0", "--limit", "0", "--json", tmp_path / "x")
    assert done.stderr.count("\n") == 1 and "is another build than the one that was measured" in done.stderr
    # the run recorded the names; line numbers are read from the object file
    again = [row for row in json.loads(done.stdout)["rows"] if row["kind"] == "native"]
    assert {row["qualname"] for row in again} == {p.split()[-1] for p in before} - {"C", "inner", "outer", "<module>"}
    assert all(row["line"] == 0 for row in again)
    (tmp_path / ("nested" + SUFFIX)).unlink()
    done = run(spartito, "report", tmp_path / "x")
    assert done.returncode == 0 and "no lines of its functions: the file cannot be read any more" in done.stderr


def test_measuring_begins_after_the_object_was_loaded(extension, tmp_path):
    program = """
import sys, nested
nested.work(2)
import spartito
def f():
    nested.work(3)
spartito.start(sys.argv[1])
f()
spartito.stop()
nested.work(4)
spartito.start(sys.argv[2])
f()
f()
spartito.stop()
"""
    command = [sys.executable, "-c", program, tmp_path / "a", tmp_path / "b"]
    subprocess.run(command, cwd=extension, check=True, timeout=200)
    for name, times in (("a", 1), ("b", 2)):
        paths = tree([sys.executable, "-m", "spartito"], tmp_path / name)
        assert paths["<module> f work middle leaf"] == 3 * times


def test_fork_and_unload(spartito, extension, tmp_path):
    shutil.copy(extension / ("nested" + SUFFIX), tmp_path)
    compiled(["compile", "c++"], "grid.cpp", "one.so", tmp_path)
    shutil.copy(tmp_path / "one.so", tmp_path / "two.so")
    (tmp_path / "program.py").write_text(
        """
import _ctypes, ctypes, nested, os, sys
def child():
    nested.work(2)
def use(name):
    library = ctypes.CDLL(name)
    library.run(1)
    _ctypes.dlclose(library._handle)
nested.work(1)
if os.fork() == 0:
    child()
    sys.exit()
os.wait()
use("./one.so")
use("./two.so")
"""
    )
    paths = measured(spartito, tmp_path, tmp_path / "x", expected="")
    assert paths["<module> child work middle leaf"] == 2
    # the second library is loaded at the address of the first one
    names = {row["name"] for row in rows(spartito, tmp_path / "x")}
    assert {"one:run", "two:run"} <= names


def test_many_functions(spartito, tmp_path):
    n = 3000  # the address table grows several times while other threads read it
    (tmp_path / "many.c").write_text(
        "\n".join(f"void f{i}(void);\nvoid f{i}(void) {{}}" for i in range(n))
        + "\nvoid run(void);\nvoid run(void) {\n"
        + "\n".join(f"f{i}();" for i in range(n))
        + "\n}\n"
    )
    done = run(spartito, "compile", "cc", "-shared", "-fPIC", "many.c", "-o", "many.so", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "program.py").write_text(
        "import ctypes, threading\n"
        "library = ctypes.CDLL('./many.so')\n"
        "threads = [threading.Thread(target=library.run) for _ in range(4)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
    )
    measured(spartito, tmp_path, tmp_path / "x", expected="")
    visits = {row["qualname"]: row["visits"] for row in rows(spartito, tmp_path / "x") if row["module"] == "many"}
    assert visits == {**{f"f{i}": 4 for i in range(n)}, "run": 4}


def test_object_that_was_linked_without_us(spartito, tmp_path):
    words = [*FLAGS, "-finstrument-functions", SOURCES / "nested.c", "-o", tmp_path / ("nested" + SUFFIX), "-lpthread", "-ldl"]
    subprocess.run(["cc", *map(str, words)], check=True)
    (tmp_path / "program.py").write_text("import nested\nnested.work(3)\n")
    library = Path(_analyse.__file__).parent / "native" / "libspartito_native.so"
    words = ["run", "-q", "-o", tmp_path / "x", "--", sys.executable, "program.py"]
    done = run(spartito, *words, cwd=tmp_path, env={**os.environ, "LD_PRELOAD": str(library)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert tree(spartito, tmp_path / "x")["<module> work middle leaf"] == 3


def test_without_a_measurement(extension):
    done = subprocess.run([sys.executable, "program.py"], cwd=extension, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, PRINTED, "")


# ---- the compiler's wrapper ----


def shown(spartito, *words, **environment):
    done = run(spartito, *words, env={**os.environ, **environment})
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr.split()


def test_steps(spartito):
    compile_only = shown(spartito, "compile", "cc", "--dry-run", "--compiler", "gcc", "-c", "a.c", "-o", "a.o")
    assert compile_only[:3] == ["gcc", "-g", "-finstrument-functions"] and compile_only[-4:] == ["-c", "a.c", "-o", "a.o"]
    link = shown(spartito, "compile", "cc", "--dry-run", "--compiler", "gcc", "-shared", "a.o", "-o", "a.so")
    assert link[-1] == "-ldl" and os.path.isfile(link[-2])
    program = shown(spartito, "compile", "cc", "--dry-run", "--compiler", "gcc", "a.o")
    assert program[-1].startswith("-Wl,--dynamic-list=")
    for words in (["--version"], ["-print-search-dirs"], ["-E", "a.c"], ["-dM", "-E", "-"]):
        assert shown(spartito, "compile", "cc", "--dry-run", "--compiler", "gcc", *words) == ["gcc", *words]
    assert shown(spartito, "compile", "cc", "--dry-run", "--nocompiler", "a.c", CC="gcc -O1") == ["gcc", "-O1", "a.c"]
    assert shown(spartito, "compile", "c++", "--dry-run", "a.c", CXX="g++", SPARTITO_WRAPPER="off") == ["g++", "a.c"]
    # CC may name the wrapper itself, where a build system is configured to use it
    assert shown(spartito, "compile", "cc", "--dry-run", "--version", CC="spartito compile cc") == ["cc", "--version"]
    both = {"CC": "spartito compile cc", "SPARTITO_CC": "clang"}
    assert shown(spartito, "compile", "cc", "--dry-run", "--version", **both) == ["clang", "--version"]


def test_the_compiler_speaks_for_itself(spartito, tmp_path):
    (tmp_path / "wrong.c").write_text("int main(void) { return nothing; }\n")
    plain = subprocess.run(["cc", "wrong.c"], cwd=tmp_path, capture_output=True, text=True)
    done = run(spartito, "compile", "cc", "wrong.c", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert run(spartito, "compile", "cc", "--version").stdout == run(["cc"], "--version").stdout


@pytest.mark.parametrize(
    ("words", "environment", "status", "message"),
    [
        (["--compiler", "no-such-compiler", "a.c"], {}, 127, "no-such-compiler: command not found"),
        (["--compiler", "spartito compile cc", "a.c"], {}, 2, "--compiler: spartito compile cc: name a compiler"),
        (["a.c"], {"SPARTITO_CC": "spartito-cc"}, 2, "SPARTITO_CC: spartito-cc: name a compiler"),
        (["a.c"], {"CC": "'gcc"}, 2, "CC: 'gcc: No closing quotation"),
    ],
)
def test_compilers_that_cannot_be(spartito, words, environment, status, message):
    done = run(spartito, "compile", "cc", *words, env={**os.environ, **environment})
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_recording_is_off_for_a_time_below_a_compiled_function(spartito, extension, tmp_path):
    text = """
import nested
from spartito import _measure as m
def after(): pass
def inner():
    m.pause(); m.resume()
    after()
    return 1
nested.call(inner)
"""
    (extension / "off.py").write_text(text)
    visits = measured(spartito, extension, tmp_path / "x", program="off.py", expected="")
    below = [path for path in visits if "call" in str(path) and "after" in str(path)]
    assert len(below) == 1, visits
