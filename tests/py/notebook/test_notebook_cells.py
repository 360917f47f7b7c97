# SPDX-License-Identifier: BSD-3-Clause
"""Cells measured in the running kernel by %%spartito and %spartito: recorded functions, and one-line messages for errors."""

import re
from pathlib import Path

import pytest

from mpi import some_kind

notebook = pytest.importorskip("notebook")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with notebook.Kernel(tmp_path_factory.mktemp("cells")) as kernel:
        kernel.ok("%load_ext spartito")
        yield kernel


def results(cell):
    """The directories of the results that a cell shows."""
    found = []
    for data in cell.displays:
        found += re.findall(r"^(/\S*spartito-\S+)$", data.get("text/plain", ""), re.MULTILINE)
    return [Path(path) for path in found]


def model(cell):
    from spartito.analysis import Model

    (directory,) = results(cell)
    return Model(str(directory))


def functions(cell):
    return {row["name"]: row["visits"] for row in model(cell).flat()}


def call_paths(cell):
    """Rows of the call tree, by the names of their functions from the outermost in."""
    names, found = {}, {}
    for row in model(cell).tree():
        names[row["path"]] = (*names.get(row["parent"], ()), row["name"])
        found[names[row["path"]]] = row
    return found


def test_a_cell_is_measured_where_it_is(kernel):
    kernel.ok("def double(x):\n    return 2 * x\n")
    cell = kernel.ok("%%spartito\ny = [double(i) for i in range(5)]\nclass A:\n    def m(self): return double(1)\nA().m()\n")
    assert cell.value == "2" and cell.stderr == ""
    seen = functions(cell)
    here, before = f"In[{cell.count}]", f"In[{cell.count - 1}]"
    assert seen[f"{before}:double"] == 6 and seen[f"{here}:A.m"] == 1 and seen[here] == 1
    # each statement is a separate code object, but all are one region; functions of the shell are left out
    assert [name for name in seen if name.endswith("<module>")] == [f"{here}:<module>"]
    assert not [name for name in seen if name.startswith(("IPython", "ipykernel", "traitlets", "zmq", "asyncio", "spartito"))]
    assert model(cell).info()["locations"][0]["name"] == "MainThread" and len(model(cell).info()["locations"]) == 1
    assert kernel.ok("y").value == "[0, 2, 4, 6, 8]" and kernel.ok("__import__('spartito').active()").value == "False"
    assert cell.displays[0]["text/plain"].startswith(f"{here} took ")
    assert results(cell)[0].parent == kernel.directory / "spartito-notebook"


def test_lines_and_source_of_a_cell_outlive_it(kernel):
    cell = kernel.ok("%%spartito --lines .\ntotal = 0\nfor i in range(4):\n    total += i\ndef f():\n    return total\nf()")
    functions = {f["name"]: {n: hits for n, hits, *_ in f["lines"]} for f in model(cell).lines()}
    here = f"In[{cell.count}]"
    assert functions[f"{here}:<module>"][4] == 4 and functions[f"{here}:f"] == {6: 1}
    source = (results(cell)[0] / "source" / here).read_text()
    assert source.split("\n")[3] == "    total += i"


def test_lines_that_were_asked_for_in_vain(kernel):
    cell = kernel.ok("%%spartito --lines slve --lines .\ndef solve(): return 1\nsolve()")
    assert cell.stderr == "spartito: --lines 'slve': no function that ran matches it; did you mean solve?\n"
    assert kernel.ok("%%spartito --lines In[9999]\n1").stderr.startswith("spartito: --lines 'In[9999]': no function")
    assert "--lines-only: no line was recorded" in kernel.ok("%%spartito --lines-only\n1").stderr
    assert kernel.ok("%%spartito --lines-only --lines .\nx = 1").stderr == ""


def test_errors_await_and_the_lines_of_a_traceback(kernel):
    cell = kernel.run("%%spartito\nx = 1\n\n1 / 0")
    assert cell.error[0] == "ZeroDivisionError" and "----> 4 1 / 0" in cell.traceback and len(results(cell)) == 1
    cell = kernel.ok("%%spartito\nimport asyncio\nasync def g():\n    await asyncio.sleep(0.001)\n    return 5\nawait g()")
    assert cell.value == "5" and functions(cell)[f"In[{cell.count}]:g"] >= 1
    cell = kernel.run("%%spartito\nx = )")
    assert cell.error[0] == "SyntaxError" and len(cell.outputs) == 1
    assert kernel.ok("%%spartito\n%%time\n1 + 1").value == "2"
    for code in ("\n \n%%spartito\n1", "  %%spartito\n  1", ">>> %%spartito\n>>> 1"):
        assert len(results(kernel.ok(code))) == 1, code


def test_what_the_shell_does_is_no_function_of_the_cell(kernel):
    cell = kernel.ok("%%spartito\nimport asyncio\nasync def g(): await asyncio.sleep(0.01)\nawait asyncio.gather(g(), g())")
    paths, here = call_paths(cell), f"In[{cell.count}]"
    assert paths[(here, "await")]["incl"] > 0.005 and (here, "await", f"{here}:g") in paths
    assert not [n for n in functions(cell) if re.match(r"asyncio\.(base_)?events|selectors|tornado|zmq", n)]
    cell = kernel.run("%%spartito\n1 / 0")
    here = f"In[{cell.count}]"
    assert set(call_paths(cell)) == {(here,), (here, "traceback"), (here, f"{here}:<module>")}
    cell = kernel.ok("%%spartito\n!sleep 0.1\nfound = !echo found\nfound[0]")
    assert cell.value == "'found'" and not [n for n in functions(cell) if n.startswith(("pexpect", "ptyprocess", "subprocess"))]
    called = [row for row in model(cell).flat() if re.search(r":\w*InteractiveShell\.(system_piped|getoutput)$", row["name"])]
    assert len(called) == 2 and max(row["incl"] for row in called) > 0.1


def test_a_program_in_a_cell_a_question_and_another_interpreter(kernel):
    """A shell program, input() and a sub-interpreter in a cell: no data is damaged or missing, and the shell's work for them is one
    call."""
    cell = kernel.ok("%%spartito\n%%bash\necho from bash")
    assert cell.stdout == "from bash\n" and "damaged" not in cell.displays[0]["text/plain"]
    cell = kernel.ok("%%spartito\ninput('how many? ')", "7")
    asked = [n for n in functions(cell) if n.startswith(("ipykernel", "jupyter_client", "json", "hmac"))]
    assert cell.value == "'7'" and asked == ["ipykernel.kernelbase:Kernel.raw_input"]
    code = "import sys\nif sys.version_info >= (3, 13): import _interpreters as inter\nelse: import _xxsubinterpreters as inter\n"
    cell = kernel.ok(f"%%spartito\n{code}i = inter.create()\ninter.run_string(i, 'len([])')\ninter.destroy(i)")
    assert "not recorded" not in cell.displays[0]["text/plain"], cell.displays[0]["text/plain"]


def test_a_cell_below_another_magic_is_the_cell(kernel):
    """A cell with another magic below %%spartito: its code is named after the cell, not after the magic, whose functions are left
    out. Earlier functions keep the name of their cell."""
    body = "def timed(n):\n    return sum(range(n))\nclass T:\n    def m(self): return timed(3)\nT().m()\n"
    for magic in ("time", "capture out"):
        cell = kernel.ok(f"%%spartito --lines .\n%%{magic}\n{body}")
        here, seen = f"In[{cell.count}]", functions(cell)
        mine = {f"{here}:{name}" for name in ("timed", "T", "T.m", "<module>")}
        assert {name for name in seen if name.startswith("In[")} == {here, *mine}
        assert seen[f"{here}:timed"] == seen[f"{here}:T.m"] == 1
        assert not [name for name in seen if re.match(r"argparse|ast|tokenize|codeop|IPython", name)]
        lines = {f["name"]: {n: hits for n, hits, *_ in f["lines"]} for f in model(cell).lines()}
        assert lines[f"{here}:<module>"][5] == 1 and lines[f"{here}:T.m"] == {4: 1}
        assert (results(cell)[0] / "source" / here).read_text() == body
    cell = kernel.ok("%%spartito\n%%time\ntimed(1)")
    assert f"In[{cell.count}]:timed" not in functions(cell)


def test_mpi_that_was_loaded_before_a_cell_was_measured(tmp_path):
    pytest.importorskip("mpi4py")
    some_kind()
    with notebook.Kernel(tmp_path) as kernel:
        kernel.ok("%load_ext spartito")
        kernel.ok("from mpi4py import MPI")
        cell = kernel.ok("%%spartito\nMPI.COMM_WORLD.bcast(3)")
        assert functions(cell)["MPI_Bcast"] >= 1 and "not recorded" not in cell.displays[0]["text/plain"]
        kernel.restart()
        kernel.ok("from mpi4py import MPI\n%load_ext spartito")
        cell = kernel.ok("%%spartito\nMPI.COMM_WORLD.bcast(3)")
        assert "MPI calls, because MPI was loaded before the measurement began" in cell.displays[0]["text/plain"]


def test_a_cell_without_code_is_not_measured(kernel):
    for code in ("%%spartito", "%%spartito\n", "%%spartito\n# nothing"):
        cell = kernel.ok(code)
        assert cell.stderr == f"spartito: In[{cell.count}] is not measured: there is no code below its first line\n"
        assert not cell.displays


def test_a_mark_below_a_comment_says_where_it_belongs(kernel):
    message = kernel.run("# a comment\n%%spartito\n1").stderr
    assert "%%spartito` not found" in message and "it must be the first line of the cell, above comments" in message


def test_programs_that_a_cell_starts(kernel):
    """Programs started by a cell join its measurement, and after it get no variable of Spartito. Variables set by a cell remain."""
    (kernel.directory / "child.py").write_text("def of_child(): pass\nof_child()\n")
    starts = "import os, subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True);"
    cell = kernel.ok(f"%%spartito --trace\n{starts}\nos.environ['SPARTITO_TRACE_MEMORY'] = '16M'")
    assert functions(cell)["__main__:of_child"] == 1 and len(model(cell).info()["processes"]) == 2
    assert not [text for text in model(cell).info()["problems"] if text] and model(cell).info()["traced"]
    assert kernel.ok("{n: v for n, v in os.environ.items() if n[:9] == 'SPARTITO_'}").value == "{'SPARTITO_TRACE_MEMORY': '16M'}"
    kernel.ok("del os.environ['SPARTITO_TRACE_MEMORY']")
    cell = kernel.ok(f"%%spartito\n{starts}")
    assert functions(cell)["__main__:of_child"] == 1 and not [n for n in functions(cell) if "_Environ" in n]
    first = kernel.ok("%spartito_start")
    kernel.ok(starts)
    cell = kernel.ok("%spartito_stop")
    assert functions(cell)["__main__:of_child"] == 1 and f"In[{first.count}]" in functions(cell)
    before = set((kernel.directory / "spartito-notebook").rglob("*.raw"))
    kernel.ok(starts)
    assert set((kernel.directory / "spartito-notebook").rglob("*.raw")) == before


def test_the_api_within_a_cell(kernel):
    """A measured part of a cell is a result like any other, with the name of the cell."""
    part = "with spartito.measure(trace=True):\n    in_part(3)"
    cell = kernel.ok(f"import spartito\ndef in_part(n): return n\nin_part(1)\n{part}\nin_part(2)")
    here = f"In[{cell.count}]"
    assert cell.stderr == f"spartito: {here} is measured in part, by spartito.measure(): %spartito_report shows it\n"
    visits = "{r['name']: r['visits'] for r in part.model.flat(sort='name')}"
    found = kernel.ok(f"part = %spartito_report\nrows = {visits}\npart.title, rows")
    assert found.value == repr((here, {here: 1, f"{here}:in_part": 1}))
    cell = kernel.ok(f"%%spartito\nfor i in range(2):\n  {part}")
    assert cell.stderr.endswith(" is being measured already: spartito.measure() in it has no effect\n")
    assert cell.stderr.count("\n") == 1 and functions(cell)[f"{here}:in_part"] == 2
    kernel.ok("spartito.start('started')\nspartito.stop()")
    cell = kernel.ok("from spartito.notebook.result import Result\nResult('started').title")
    assert cell.value == f"'In[{cell.count - 1}]'"


def test_a_statement_is_measured_and_its_value_is_there(kernel):
    kernel.ok("def triple(x): return 3 * x")
    cell = kernel.ok("%spartito triple(3)")
    assert cell.value == "9" and functions(cell)[f"In[{cell.count - 1}]:triple"] == 1
    cell = kernel.ok("z = %spartito --trace triple(4)")
    assert cell.result is None and kernel.ok("z").value == "12" and model(cell).info()["traced"]
    kernel.ok("%spartito w = triple(5)")
    assert kernel.ok("w").value == "15"
    assert kernel.run("%spartito 1 / 0").error == ("ZeroDivisionError", "division by zero")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("%%spartito --trac\n1", "unknown option --trac; did you mean --trace?"),
        ("%%spartito --no-finalize\n1", "unknown option --no-finalize"),
        ("%%spartito --trace-memory lots\n1", "--trace-memory: 'lots' is not a size such as 500K, 64M or 2G"),
        ("%%spartito print()\n1", "unexpected 'print()': the line has only options, the code begins below it"),
        ("%%spartitoo\n1", "did you mean %%spartito?"),
        ("%spartit 1", "did you mean %spartito?"),
        ("%spartito await f()", "for `await`, put %%spartito on the first line of the cell"),
        ("%spartito --bogus 1", "unknown option --bogus"),
    ],
)
def test_what_cannot_be_understood_is_one_line(kernel, code, message):
    cell = kernel.run(code)
    assert cell.status == "error" and message in cell.stderr and cell.result is None and not results(cell)
    assert kernel.ok("1 + 1").value == "2"


def test_a_mark_below_another_magic_is_refused(kernel):
    cell = kernel.run("%%time\n%%spartito\nprint('ran')")  # the %%time magic shows the error itself in some versions
    assert "it must be the first line of the cell, above comments and other magics" in cell.stderr and cell.stdout.find("ran") < 0


def test_threads_of_the_user_are_recorded_and_those_of_the_kernel_are_not(kernel):
    kernel.ok(
        "import threading\nstop = threading.Event()\nbeats = 0\ndef beat():\n    global beats\n    beats += 1\n"
        "def loop():\n    while not stop.wait(0.001): beat()\nthread = threading.Thread(target=loop)\nthread.start()"
    )
    # the first beat may be in a call that began before the cell
    waits = "import time\nbefore = beats\nwhile beats < before + 6: time.sleep(0.001)\n"
    cell = kernel.ok(f"%%spartito\n{waits}print('.')\nstop.set()\nthread.join()")
    assert len(model(cell).info()["locations"]) == 2
    assert next(n for name, n in functions(cell).items() if name.endswith(":beat")) >= 5
    assert not [name for name in functions(cell) if "Heartbeat" in name or "IOPub" in name]


def test_processes_and_pools_of_a_cell_and_nothing_stays_behind(kernel):
    kernel.ok("def square(x): return x * x")
    # neither worker ends before the other one has begun
    pool = "with fork.Pool(2, fork.Barrier(2).wait) as pool: r = pool.map(square, range(10))"
    cell = kernel.ok(f"%%spartito\nimport multiprocessing\nfork = multiprocessing.get_context('fork')\n{pool}\nr[9]")
    assert cell.value == "81" and len(model(cell).info()["processes"]) == 3
    assert functions(cell)[f"In[{cell.count - 1}]:square"] == 10
    pool = "with ThreadPoolExecutor(2) as pool: r = list(pool.map(square, range(10)))"
    cell = kernel.ok(f"%%spartito\nfrom concurrent.futures import ThreadPoolExecutor\n{pool}\nr[9]")
    assert cell.value == "81" and len(model(cell).info()["locations"]) <= 3
    tools = "[sys.monitoring.get_tool(i) for i in range(6)] if hasattr(sys, 'monitoring') else [sys.getprofile()]"
    assert set(kernel.ok(f"import sys\nset({tools}), 'run_code' in vars(get_ipython())").value) == set("({None}, False)")


def test_what_an_interrupt_leaves_open_is_ended(kernel):
    kernel.ok("import spartito\nfrom spartito.notebook import measuring\nunit = measuring.begin(measuring.Request('x'))")
    kernel.ok("measuring._ended.add(unit.directory); spartito.active()")
    assert results(kernel.ok("%%spartito\n1"))


def test_a_directory_that_was_removed_is_one_like_any_other(kernel):
    """A directory that was deleted and is used again: its new measurement is not confused with one that is still open there."""
    kernel.ok("%%spartito -o again\n1")
    kernel.ok("import shutil\nfrom spartito.notebook import measuring\nshutil.rmtree('again')")
    kernel.ok("unit = measuring.begin(measuring.Request('x', directory='again'))")
    cell = kernel.ok("%%spartito\n42 + 1")
    assert cell.value == "43" and re.search(r"is not measured: something is measured already, into \S*again\n", cell.stderr)
    kernel.ok("unit.end()")


def test_a_measurement_that_cannot_begin_leaves_the_cell_alone(kernel):
    (kernel.directory / "file").write_text("")
    cell = kernel.ok("%%spartito -o file/below\n41 + 1")
    assert cell.value == "42" and "is not measured: the experiment directory" in cell.stderr and cell.stderr.count("\n") == 1
    kernel.ok("import spartito; spartito.start('own')")
    cell = kernel.ok("%%spartito\n42 + 1")
    assert cell.value == "43" and re.search(r"is not measured: something is measured already, into \S*own\n", cell.stderr)
    kernel.ok("spartito.stop()")
    assert results(kernel.ok("%%spartito\n1"))


def test_the_recorder_refuses_what_it_cannot_read():
    from spartito import _measure

    for call in (lambda: _measure.cells(3), lambda: _measure.leave_out(["x"], ()), lambda: _measure.leave_out([], [1])):
        with pytest.raises(TypeError):
            call()
