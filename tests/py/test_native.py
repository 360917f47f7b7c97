# SPDX-License-Identifier: BSD-3-Clause
"""Compiled functions in the call tree: `spartito cc`, `spartito c++`, and what is recorded of what they made."""

import json
import sys
import sysconfig

import pytest
from conftest import ROOT
from test_cli_helpers import run

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
SOURCES = ROOT / "tests" / "native"
FLAGS = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", f"-I{ROOT / 'include'}"]
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
    compiled(["cc", "-O2"], "nested.c", "nested" + SUFFIX, directory)
    (directory / "program.py").write_text(NESTED)
    return directory


def measured(spartito, directory, where, *options, program="program.py", expected=PRINTED):
    done = run(spartito, "run", "-q", *options, "-o", where, "--", sys.executable, program, cwd=directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    return tree(spartito, where)


def rows(spartito, where, *options):
    done = run(spartito, "report", "--threshold", "0", "--limit", "0", "--json", *options, where)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["rows"]


def tree(spartito, where):
    """Visits of each path, which is written as the qualified names from the root down."""
    names, visits = {0: ""}, {}
    for row in rows(spartito, where, "--tree"):
        names[row["path"]] = (names[row["parent"]] + " " + row["qualname"]).strip()
        visits[names[row["path"]]] = row["visits"]
    return visits


ONLY = ("--include", "__main__:*", "--include", "nested:*", "--include", "user region of C")


def nest(start, times=1):
    """The path of a call that goes from Python to C to Python to C, and its visits; the last is called 3 times."""
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
    # six calls of jump that no return ended: what follows is below them until jumps() returns
    **{"<module> jumps" + " jump" * n: 1 for n in range(1, 7)},
    "<module> jumps" + " jump" * 6 + " middle": 1,
    "<module> jumps" + " jump" * 6 + " middle leaf": 2,
    "<module> keeps_errno": 1,
    "<module> keeps_errno first_call": 2,
    "<module> threads": 1,
    # in threads that Python never saw
    "body": 4,
    "body middle": 4,
    "body middle leaf": 12,
    # in a thread of Python
    **nest(""),
}


def test_python_and_c_are_one_tree(spartito, extension, tmp_path):
    paths = measured(spartito, extension, tmp_path / "x", "--trace", *ONLY)
    print(json.dumps(paths, indent=1))
    assert paths == EXPECTED
