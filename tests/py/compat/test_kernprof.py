# SPDX-License-Identifier: BSD-3-Clause
"""`spartito-kernprof`: its files, messages, exit status and the program's environment equal kernprof's."""

import json
import os
import pickle
import pstats
import signal
import subprocess
import sys

import pytest
from programs import WITHOUT_GIL

SCRIPT = '''\
import sys


@profile
def work(n):
    total = 0
    for i in range(n):
        total += twice(i)
    return total


def twice(i):
    return 2 * i


class Grid:
    @profile
    @staticmethod
    def size():
        return 3

    @profile
    @property
    def area(self):
        return 9


@profile
def pulse():
    yield 1
    yield 2


if __name__ == "__main__":
    print(sys.argv[1:], work(10), Grid.size(), Grid().area, list(pulse()))
'''
HITS = {
    "work": {6: 1, 7: 11, 8: 10, 9: 1},
    "Grid.size": {20: 1},
    "Grid.area": {25: 1},
    "pulse": {30: 1, 31: 1},
}
PRINTED = "['a', '-l'] 90 3 9 [1, 2]\n"


class Stats:
    """Replaces LineStats, so that line_profiler is not needed."""


class Loader(pickle.Unpickler):
    def find_class(self, module, name):
        assert (module, name) == ("line_profiler.line_profiler", "LineStats")
        return Stats


def hits(path):
    """{function: {line: hits}} of a file."""
    with open(path, "rb") as f:
        stats = Loader(f).load()
    assert stats.unit == 1e-9
    return {key[2]: {line: n for line, n, _ in lines} for key, lines in stats.timings.items()}


def calls(path, name):
    return sum(row[1] for key, row in pstats.Stats(str(path)).stats.items() if key[2] == name)


def kernprof(place, *words, module="spartito.compat.kernprof", **keywords):
    keywords.setdefault("timeout", 200)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARTITO_", "LINE_PROFILE"))}
    environment.update(keywords.pop("env", {}))
    command = [sys.executable, "-m", module, *map(str, words)]
    return subprocess.run(command, cwd=place, capture_output=True, encoding="utf-8", env=environment, **keywords)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def left(place):
    """Names of the files there, hidden ones included."""
    return sorted(p.name for p in place.iterdir())


# ---- lines ----


def test_lines_of_what_is_decorated(place):
    done = kernprof(place, "-l", "script.py", "a", "-l")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(PRINTED + "Wrote profile results to 'script.py.lprof'\nInspect results with:\n")
    assert left(place) == ["script.py", "script.py.lprof"]
    assert hits(place / "script.py.lprof") == HITS


def test_the_same_hits_as_kernprof(place):
    pytest.importorskip("line_profiler")
    assert kernprof(place, "-l", "-o", "theirs", "script.py", module="kernprof").returncode == 0
    # before Python 3.11 code objects do not contain the name of their class
    bare = {name.rpartition(".")[2]: lines for name, lines in HITS.items()}
    assert hits(place / "theirs") == (HITS if sys.version_info >= (3, 11) else bare)


def test_line_profiler_reads_it(place):
    pytest.importorskip("line_profiler")
    kernprof(place, "-l", "-o", "x.lprof", "script.py")
    done = subprocess.run([sys.executable, "-m", "line_profiler", "x.lprof"], cwd=place, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert f"File: {place / 'script.py'}\nFunction: work at line 4\n" in done.stdout


def test_view(place):
    done = kernprof(place, "-lv", "-u", "1e-3", "script.py")
    _, sep, text = done.stdout.partition("Wrote profile results to 'script.py.lprof'\n")
    assert sep and text.startswith("Timer unit: 0.001 s\n\nTotal time: ") and "Inspect" not in text
    (row,) = [row for row in text.splitlines() if row.endswith("total += twice(i)")]
    assert row.split()[:2] == ["8", "10"]
    done = kernprof(place, "-l", "-v", "-r", "--summarize", "script.py")
    assert "__main__:work" in done.stdout and "in callees" in done.stdout
    assert kernprof(place, "-lqq", "script.py").stdout == ""
    assert kernprof(place, "-lq", "script.py", "a", "-l").stdout == PRINTED


def test_functions_and_modules_by_name(place):
    (place / "shapes.py").write_text("class A:\n    def m(self):\n        return 1\n\ndef free():\n    return A().m()\n")
    (place / "plain.py").write_text("import shapes\n\ndef here():\n    return shapes.free()\n\nhere()\n", encoding="utf-8")
    for words, expected in (
        (["-p", "shapes"], {"A.m": {3: 1}, "free": {6: 1}}),
        (["-p", "shapes.A"], {"A.m": {3: 1}}),
        (["-p", "plain.py"], {"here": {4: 1}}),
        (["-p", "plain.py", "--prof-imports"], {"A.m": {3: 1}, "free": {6: 1}, "here": {4: 1}}),
    ):
        done = kernprof(place, "-l", *words, "-o", "x.lprof", "plain.py")
        assert (done.returncode, done.stderr) == (0, ""), words
        assert hits(place / "x.lprof") == expected, words
    done = kernprof(place, "-l", "-p", "shapes.B", "plain.py")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0].startswith("kernprof: -p shapes.B: no module, class, function or Python file")


def test_modules_code_and_standard_input(place):
    (place / "pkg").mkdir()
    (place / "pkg/__init__.py").write_text("", encoding="utf-8")
    (place / "pkg/__main__.py").write_text("import sys\n@profile\ndef f():\n    return sys.argv\nprint(f())\n", encoding="utf-8")
    done = kernprof(place, "-lm", "pkg", "-l", "x")
    assert done.stdout.splitlines()[0] == repr([str(place / "pkg/__main__.py"), "-l", "x"])
    assert hits(place / "pkg.lprof") == {"f": {4: 1}}
    code = "\n    def f():\n        return 1\n    print(f())\n"
    done = kernprof(place, "-l", "-o", "c.lprof", "-c", code, "y")
    assert done.stdout.startswith("1\n") and hits(place / "c.lprof") == {"f": {3: 1}}
    done = kernprof(place, "-l", "-", "z", input="import sys\ndef f():\n    return sys.argv\nprint(f())\n")
    assert done.stdout.startswith("['-', 'z']\n")
    (made,) = place.glob("kernprof-stdin-*.lprof")
    assert hits(made) == {"f": {3: 1}}


def test_a_profiler_made_of_functions(place):
    (place / "made.py").write_text(
        "def f():\n    return 1\nf()\nmine = type(profile)(f)\nf()\nprint(mine.runcall(f))\n", encoding="utf-8"
    )
    done = kernprof(place, "-lq", "made.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert hits(place / "made.py.lprof") == {"f": {2: 1}}


def test_add_function_and_what_else_users_call(place):
    (place / "users.py").write_text(
        "import functools\n"
        "def f():\n    return 1\n"
        "def g():\n    return 2\n"
        "class C:\n    def m(self):\n        return 3\n    @classmethod\n    def c(cls):\n        return 4\n"
        "profile.add_function(f)\n"
        "with profile:\n    f()\n"
        "profile.add_class(C)\n"
        "profile.enable_by_count(); C().m(); C.c(); profile.disable_by_count()\n"
        "assert profile.runcall(profile(functools.partial(g))) == 2\n"
        "profile.run('g()')\n"
        "assert profile(len) is len\n"
        "try:\n    profile(3)\nexcept TypeError as e:\n    print(e)\n"
        "profile.dump_stats('now.lprof')\n"
        "profile.print_stats(output_unit=1e-6)\n"
        "g()\n",
        encoding="utf-8",
    )
    done = kernprof(place, "-l", "users.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "profile: 3 is neither a function nor anything else that can be called" in done.stdout
    assert "Timer unit: 1e-06 s\n\nTotal time: " in done.stdout and "Function: C.m at line 7" in done.stdout
    expected = {"f": {3: 1}, "g": {5: 2}, "C.m": {8: 1}, "C.c": {11: 1}}
    assert hits(place / "now.lprof") == expected
    expected["g"] = {5: 3}
    assert hits(place / "users.py.lprof") == expected


def test_processes_of_the_program_have_profile_too(place):
    (place / "pool.py").write_text(
        "import multiprocessing as m\n@profile\ndef f(n):\n    return n\n"
        "if __name__ == '__main__':\n    f(0)\n    with m.get_context('spawn').Pool(2) as p:\n        p.map(f, range(10))\n"
        "        p.close()\n        p.join()\n",
        encoding="utf-8",
    )
    done = kernprof(place, "-l", "pool.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(place / "pool.py.lprof") == {"f": {4: 11}}


def test_nothing_decorated_is_reported(place):
    (place / "bare.py").write_text("def f(): pass\nf()\n", encoding="utf-8")
    done = kernprof(place, "-l", "bare.py")
    assert done.returncode == 0
    assert done.stderr == "kernprof: no lines were recorded: no function that ran was decorated with @profile or named by -p\n"
    assert hits(place / "bare.py.lprof") == {}
    if importable("line_profiler"):
        subprocess.run([sys.executable, "-m", "line_profiler", place / "bare.py.lprof"], check=True, capture_output=True)


def importable(name):
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0


def test_a_separate_profile_is_reported_and_nothing_lost(place):
    (place / "own.py").write_text(
        "def profile(f):\n    return f\n\n\n@profile\ndef f():\n    return 1\n\n\nprint(f())\n", encoding="utf-8"
    )
    for letter, ending in (("-l", "lprof"), ("-b", "prof")):
        done = kernprof(place, letter, "own.py")
        assert done.returncode == 0 and done.stdout.startswith("1\n")
        assert done.stderr.startswith("kernprof: own.py has a `profile` of its own (line 1): what that decorates is not recorded;")
        assert (place / f"own.py.{ending}").exists()
    done = kernprof(place, "-bv", "own.py")
    assert (done.returncode, done.stdout) == (0, "1\nWrote profile results to 'own.py.prof'\n")
    assert "kernprof: no calls were recorded: with -b it is what @profile decorates, and" in done.stderr
    done = kernprof(place, "-l", "-p", "own.f", "own.py")
    assert done.stderr.endswith("that decorates is recorded only if -p names it\n")
    assert hits(place / "own.py.lprof") == {"f": {7: 1}}


def test_profile_imported_from_line_profiler(place):
    (place / "explicit.py").write_text(
        "from line_profiler import profile\n@profile\ndef f():\n    return 1\nf()\n", encoding="utf-8"
    )
    # otherwise a build without the GIL warns that line_profiler switches it on
    done = kernprof(place, "-l", "explicit.py", env={"PYTHON_GIL": "0"} if WITHOUT_GIL else {})
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(place / "explicit.py.lprof") == {"f": {4: 1}}


# ---- calls ----


def test_calls_of_everything(place):
    (place / "plain.py").write_text("def f(n):\n    return len(str(n))\nfor i in range(5): f(i)\n", encoding="utf-8")
    done = kernprof(place, "plain.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Wrote profile results to 'plain.py.prof'\nInspect results with:\n")
    assert calls(place / "plain.py.prof", "f") == 5
    assert calls(place / "plain.py.prof", "<built-in method builtins.len>") == 5
    done = kernprof(place, "-v", "plain.py")
    assert "   Ordered by: standard name\n" in done.stdout and "plain.py:1(f)" in done.stdout


def test_calls_of_what_is_decorated_or_switched_on(place):
    (place / "some.py").write_text(
        "def f():\n    return 1\n@profile\ndef g():\n    return f()\n"
        "f(); g()\nwith profile:\n    f()\nprofile.enable(); f(); profile.disable(); f()\n"
        "class C:\n    @profile\n    @classmethod\n    def c(cls):\n        return f()\n    @profile\n    @property\n"
        "    def p(self):\n        return f()\nC.c(); C().p; f()\n",
        encoding="utf-8",
    )
    done = kernprof(place, "-b", "some.py")
    assert (done.returncode, done.stderr) == (0, "")
    found = {name: calls(place / "some.py.prof", name) for name in "fgcp"}
    assert found == {"f": 5, "g": 1, "c": 1, "p": 1}


# ---- the program's world ----


def test_status_and_traceback(place):
    (place / "fails.py").write_text("@profile\ndef f():\n    raise ValueError('x')\nf()\n", encoding="utf-8")
    done = kernprof(place, "-l", "fails.py")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n") and done.stderr.endswith("ValueError: x\n")
    assert "spartito" not in done.stderr and hits(place / "fails.py.lprof") == {"f": {3: 1}}
    (place / "leaves.py").write_text("import sys\nsys.exit(7)\n", encoding="utf-8")
    assert kernprof(place, "leaves.py").returncode == 7
    (place / "killed.py").write_text(
        "import os\n@profile\ndef f():\n    x = 1\n    os.kill(os.getpid(), 9)\nf()\n", encoding="utf-8"
    )
    done = kernprof(place, "-l", "killed.py")
    assert done.returncode == -signal.SIGKILL
    assert hits(place / "killed.py.lprof")["f"][4] == 1
    assert not [name for name in left(place) if name.startswith(".kernprof")]


def test_setup_runs_before_and_is_not_recorded(place):
    (place / "sub").mkdir()
    (place / "sub/setup.py").write_text(
        "import sys\ndef helper(): pass\nhelper()\nsys.prepared = [__name__, __file__]\n", encoding="utf-8"
    )
    (place / "sub/beside.py").write_text("", encoding="utf-8")
    (place / "main.py").write_text(
        "import sys, json, os\nimport beside\n"
        "print(json.dumps([sys.prepared, sys.path[0], 'helper' in globals(), __name__, sys.argv]))\n",
        encoding="utf-8",
    )
    done = kernprof(place, "-s", "sub/setup.py", "-q", "main.py", "x")
    assert (done.returncode, done.stderr) == (0, "")
    prepared, first, helper, name, argv = json.loads(done.stdout)
    assert prepared == ["__main__", str(place / "sub/setup.py")]
    assert (first, helper, name, argv) == (str(place), False, "__main__", ["main.py", "x"])
    assert calls(place / "main.py.prof", "helper") == 0


def test_scripts_on_path_and_what_is_not_there(place):
    (place / "bin").mkdir()
    (place / "bin/tool").write_text("print('found')\n", encoding="utf-8")
    done = kernprof(place, "-q", "tool", env={"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"})
    assert (done.returncode, done.stdout) == (0, "found\n") and (place / "tool.prof").exists()
    for words, message in (
        (["nothing.py"], "kernprof: Could not find script 'nothing.py'"),
        (["-m", "nothing"], "kernprof: Could not find module `nothing`"),
        (["-s", "nothing.py", "script.py"], "kernprof: Could not find script 'nothing.py'"),
        (["-o", "/nonexistent/x", "script.py"], "kernprof: /nonexistent/x cannot be written: No such file or directory"),
    ):
        done = kernprof(place, *words)
        assert (done.returncode, done.stderr, done.stdout) == (1, message + "\n", ""), words
    done = kernprof(place)
    assert done.returncode == 2 and done.stderr == "kernprof: no program given: a script, -m module or -c code\n"


def test_an_output_that_cannot_be_written_keeps_what_was_recorded(place):
    (place / "taken").mkdir()
    done = kernprof(place, "-l", "-o", "taken", "script.py")
    assert done.returncode == 0
    text = done.stderr.strip()
    assert text.startswith(f"kernprof: the results cannot be written: {place / 'taken'} is a directory")
    kept = text.rpartition(" is in ")[2]
    command = [sys.executable, "-m", "spartito", "convert", kept, "--to", "lprof", "-o", str(place / "saved")]
    subprocess.run(command, check=True, capture_output=True)
    assert hits(place / "saved") == HITS


def test_reader_of_the_output_has_ended(place):
    """`kernprof -lv quiet.py | head -1`: the results file is complete, and nothing else is written or printed."""
    (place / "quiet.py").write_text("@profile\ndef f():\n    return 1\nf()\n", encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARTITO_", "LINE_PROFILE"))}
    command = [sys.executable, "-m", "spartito.compat.kernprof", "-lv", "quiet.py"]
    done = subprocess.run(command, cwd=place, stdout=writing, stderr=subprocess.PIPE, env=environment, timeout=200)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert hits(place / "quiet.py.lprof") == {"f": {3: 1}}
    assert left(place) == ["quiet.py", "quiet.py.lprof", "script.py"]


def test_now_and_then(place):
    """-i: the program waits until its own results appear."""
    (place / "waits.py").write_text(
        "import os, time\n@profile\ndef f():\n    return 1\nf()\n"
        "end = time.monotonic() + 150\n"
        "while not os.path.exists('waits.py.lprof') and time.monotonic() < end:\n    time.sleep(0.05)\n"
        "print(os.path.exists('waits.py.lprof'))\n",
        encoding="utf-8",
    )
    done = kernprof(place, "-l", "-i", "waits.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("True\n") and hits(place / "waits.py.lprof") == {"f": {4: 1}}


def test_help_and_version(place):
    assert kernprof(place, "--help").stdout.startswith("usage: kernprof [options] {script | -m module | -c code | -} [arguments]\n")
    assert kernprof(place, "-V").stdout.startswith("kernprof of spartito ")


def test_directories_are_named_by_p(place):
    """-p with a directory that is a package, with one that is not, and their modules."""
    (place / "pkg").mkdir()
    (place / "pkg/__init__.py").write_text("")
    (place / "pkg/mod.py").write_text("def one():\n    return 1\n")
    (place / "not-importable").mkdir()
    (place / "not-importable/other.py").write_text("def two():\n    return 2\n")
    (place / "main.py").write_text(
        "import sys\nsys.path.append('not-importable')\nimport pkg.mod, other\ndef beside():\n    return 3\n"
        "pkg.mod.one(), other.two(), beside()\n"
    )
    cases = [("./pkg", {"one"}), ("./not-importable", {"two"}), ("pkg", {"one"})]
    for named, found in (*cases, ("pkg,./not-importable", {"one", "two"}), (".", {"one", "two", "beside"})):
        done = kernprof(place, "-l", "-q", "-o", "x", "-p", named, "main.py")
        assert (done.returncode, done.stderr) == (0, ""), named
        assert set(hits(place / "x")) == found, named


def test_get_stats(place):
    code = (
        "@profile\ndef f(n):\n    for i in range(n):\n        pass\n\n\nf(4)\nstats = profile.get_stats()\n"
        "print(stats.unit, {k[2]: [row[:2] for row in rows] for k, rows in stats.timings.items()})\n"
    )
    (place / "main.py").write_text(code)
    done = kernprof(place, "-l", "-q", "main.py")
    assert done.stdout == "1e-09 {'f': [(3, 5), (4, 4)]}\n", done.stderr


def test_what_goes_wrong_in_setup_is_its_own(place):
    (place / "setup.py").write_text("def f():\n    1 / 0\n\n\nf()\n")
    done = kernprof(place, "-l", "-q", "-s", "setup.py", "script.py")
    assert (done.returncode, done.stdout) == (1, "")
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert len(files) == 2 and all("setup.py" in line for line in files), done.stderr
    (place / "setup.py").write_text("x = = 1\n")
    done = kernprof(place, "-l", "-q", "-s", "setup.py", "script.py")
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert done.returncode == 1 and len(files) == 1 and "SyntaxError" in done.stderr, done.stderr
