# SPDX-License-Identifier: BSD-3-Clause
"""A module in Cython that uses include/spartito.h and was built with `spartito compile cc`: Python functions, compiled
functions and user regions of all three languages in one call tree."""

import json
import subprocess
import sys
import sysconfig

import pytest
from commandline import run
from conftest import ROOT

pytest.importorskip("Cython")

MODULE = """
# cython: language_level=3, freethreading_compatible=True
cdef extern from "spartito.h":
    void spartito_region_begin(const char *name)
    void spartito_region_end(const char *name)

cdef double inner(double x) noexcept:
    return x + 1

def solve(int n, callback):
    cdef double x = 0
    spartito_region_begin("cython loop")
    for i in range(n):
        x = inner(x)
        callback(x)
    spartito_region_end("cython loop")
    return x
"""
PROGRAM = """
import spartito, solver
def back(x):
    with spartito.region("python in cython"):
        return x
with spartito.region("outer"):
    print(solver.solve(3, back))
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    where = tmp_path_factory.mktemp("cython")
    (where / "solver.pyx").write_text(MODULE)
    (where / "program.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "-m", "cython", "solver.pyx"], cwd=where, check=True, capture_output=True)
    flags = ["-O1", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", f"-I{ROOT / 'include'}"]
    target = "solver" + sysconfig.get_config_var("EXT_SUFFIX")
    command = [sys.executable, "-m", "spartito", "compile", "cc", *flags, "solver.c", "-o", target, "-ldl"]
    subprocess.run(command, cwd=where, check=True)
    return where


def test_three_languages_in_one_tree(spartito, directory):
    done = run(spartito, "run", "-q", "--trace", "-o", "x", "--", sys.executable, "program.py", cwd=directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3.0\n", "")
    rows = json.loads(run(spartito, "report", "tree", "--threshold", "0", "--json", directory / "x").stdout)["rows"]
    paths, above = {}, []
    for row in rows:
        above[row["depth"] :] = [(row["name"], row["kind"])]
        paths[tuple(name for name, _ in above)] = row
    loop = next(path for path in paths if path[-1] == "cython loop")
    assert ("outer" in loop) and any(kind == "native" for _, kind in _kinds(paths, loop))
    below = {path[len(loop) :]: row for path, row in paths.items() if path[: len(loop)] == loop and path != loop}
    (inner,) = [row for path, row in below.items() if len(path) == 1 and "inner" in path[0]]
    assert inner["visits"] == 3 and inner["kind"] == "native"
    back = [path for path in below if path[-1] == "python in cython"]
    assert len(back) == 1 and back[0][-2] == "__main__:back" and below[back[0]]["visits"] == 3


def _kinds(paths, path):
    return [(path[i], paths[path[: i + 1]]["kind"]) for i in range(len(path))]


def test_unmeasured_it_runs_as_it_is(directory):
    done = subprocess.run([sys.executable, "program.py"], cwd=directory, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3.0\n", "")
