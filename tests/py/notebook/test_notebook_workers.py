# SPDX-License-Identifier: BSD-3-Clause
"""Functions of cells in processes started by a measured cell: the processes get them as pickles, without the name of the cell."""

import importlib.util

import pytest

notebook = pytest.importorskip("notebook")
from test_notebook_cells import model, results  # noqa: E402

# Calls functions from the parts that cloudpickle sends, in a process without any data of the notebook.
WORKER = """
import marshal, sys, types
known = {"__name__": "__main__", "__builtins__": __builtins__}
for code in marshal.load(sys.stdin.buffer):
    known[code.co_name] = types.FunctionType(code, known)
known["work"]()
"""
DEFINE = """
import marshal, subprocess, sys, threading
def helper(n):
    return [k for k in range(n)]
def work():
    for n in range(7):
        helper(n)
"""
START = """
def codes(*functions):
    return marshal.dumps([f.__code__.replace(co_filename="<dynamic-code>") for f in functions])
subprocess.run([sys.executable, "-c", WORKER], input=codes(helper, work), check=True)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with notebook.Kernel(tmp_path_factory.mktemp("workers")) as kernel:
        kernel.ok(f"%load_ext spartito\nWORKER = {WORKER!r}")
        yield kernel


def calls(cell):
    return {row["name"]: row["visits"] for row in model(cell).flat() if row["name"].endswith((":helper", ":work"))}


def test_functions_of_a_worker_have_their_cell(kernel):
    first = kernel.ok(DEFINE + "before = work, helper")
    second = kernel.ok(DEFINE.replace("        helper(n)", "        helper(helper(n)[-1] if n else 0)"))
    assert calls(kernel.ok("%%spartito" + START)) == {f"In[{second.count}]:work": 1, f"In[{second.count}]:helper": 13}
    # functions with equal names and lines but different code belong to their cell; if the code is equal, too, to the last cell
    measured = kernel.ok("%%spartito\nwork, helper = before" + START)
    assert calls(measured) == {f"In[{first.count}]:work": 1, f"In[{second.count}]:helper": 7}
    measured = kernel.ok("%%spartito" + DEFINE + START)
    assert calls(measured) == {f"In[{measured.count}]:work": 1, f"In[{measured.count}]:helper": 7}


def test_lines_of_a_worker_have_their_source(kernel):
    defined = kernel.ok(DEFINE)
    measured = kernel.ok("%%spartito --lines work" + START)
    cell = f"In[{defined.count}]"
    (lines,) = [f for f in model(measured).lines() if f["name"] == f"{cell}:work"]
    assert lines["file"] == cell and [hits for _, hits, _, _ in lines["lines"]][-2:] == [8, 7]
    (directory,) = results(measured)
    assert (directory / "source" / cell).read_text().strip() == DEFINE.strip()


def test_filters_know_them(kernel):
    defined = kernel.ok(DEFINE)
    measured = kernel.ok(f"%%spartito --exclude In[{defined.count}]:helper" + START)
    names = {row["name"] for row in model(measured).flat()}
    assert f"In[{defined.count}]:work" in names and not [name for name in names if name.endswith(":helper")]


def test_without_such_processes_nothing_stays_of_the_list(kernel):
    measured = kernel.ok("%%spartito\nlen([])")
    (directory,) = results(measured)
    assert {path.name for path in directory.iterdir()} == {"experiment.json", "raw", "source"}


@pytest.mark.skipif(not importlib.util.find_spec("joblib"), reason="needs joblib")
def test_of_joblib(kernel):
    work = "from joblib import Parallel, delayed\ndef sq(x): return x * x\nParallel(n_jobs=2)(delayed(sq)(i) for i in range(9))"
    cell = kernel.ok(f"%%spartito\n{work}")
    rows = {row["name"]: row["visits"] for row in model(cell).flat()}
    assert rows[f"In[{cell.count}]:sq"] == 9
