# SPDX-License-Identifier: BSD-3-Clause
"""The kernel for notebooks of the Score-P kernel: refusals and messages, scripts written from cells, its kernelspecs, and results
that remain."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from scorep_helpers import environment, visits

notebook = pytest.importorskip("notebook")
from kernel_helpers import as_at_the_start, is_ours, places, start  # noqa: E402, F401

IGNORED = "KernelWarning: Currently in default, command ignored.\n"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    above = tmp_path_factory.mktemp("modes")
    (above / "work").mkdir()
    with start(above / "work", above / "specs") as kernel:
        yield kernel


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("%%scorep_env\nSCOREP_TOTAL_MEMORY=much", "SCOREP_TOTAL_MEMORY: 'much' is not a size such as "),
        ("%%scorep_env\nSCOREP_ENABLE_TRACING", "%%scorep_env: 'SCOREP_ENABLE_TRACING' is not NAME=value; nothing is set"),
        ("%%scorep_python_binding_arguments\n--noinstrumentr", "unknown option --noinstrumentr; did you mean --noinstrumenter?"),
        ("%%scorep_python_binding_arguments\n--nopython script.py", "'script.py' is no option; the cells take the script's place"),
        ("%%scorep_python_binding_arguments\n--io='x", "No closing quotation"),
        ("%%execute_with_scorep --noinstrumenter\n1", "%%execute_with_scorep has no options: '--noinstrumenter'"),
        ("%%execute_with_scrop\n1", "%%execute_with_scrop: did you mean %%execute_with_scorep?"),
        ("%%start_writefile /nowhere/at/all", "/nowhere/at/all.py cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_understood_is_one_line(kernel, code, message):
    cell = kernel.run(code)
    assert cell.status == "error" and message in cell.stderr and cell.stdout == "" and cell.displays == [], cell
    assert len(cell.stderr.strip().split("\n")) == (2 if "scrop" in code else 1)
    assert kernel.ok("'goes on'").value == "'goes on'"


def test_variables_without_effect_are_reported_once(kernel):
    names = ["SCOREP_SUBSTRATE_PLUGINS", "SCOREP_ENABLE_TRACE", "SPARTITO_TRACE_MEMROY"]
    kernel.ok("%%scorep_env\n" + "\n".join(name + "=1" for name in names))
    message = kernel.ok("%%execute_with_scorep\n1").stderr
    assert "scorep: SCOREP_SUBSTRATE_PLUGINS has no effect here\n" in message and message.count("\n") == 3
    assert "; did you mean SCOREP_ENABLE_TRACING?\n" in message and "; did you mean SPARTITO_TRACE_MEMORY?\n" in message
    assert kernel.ok("%%execute_with_scorep\n1").stderr == ""
    kernel.ok(f"import os\nfor name in {names}:\n    del os.environ[name]")


@pytest.mark.parametrize("magic", ["finalize_multicellmode", "abort_multicellmode", "end_writefile", "abort_writefile"])
def test_modes_that_were_not_entered(kernel, magic):
    cell = kernel.ok("%%" + magic)
    assert (cell.stdout, cell.stderr) == ("", IGNORED)


def test_marshalling_is_accepted_and_not_needed(kernel):
    for magic in ("marshalling_settings", "serializer_settings"):
        message = kernel.ok(f"%%{magic}\nMARSHALLER=dill\nMODE=memory").text
        assert "nothing has to be marshalled" in message and "(MARSHALLER=dill, MODE=memory)" in message


def test_marked_cells_run_as_one(kernel):
    """In multi-cell mode marked cells run as separate cells, with values, magics and await, up to the first error, and have one
    cell number."""
    kernel.ok("%env SCOREP_ENABLE_TRACING=0")
    kernel.ok("%%enable_multicellmode")
    assert "already been enabled" in kernel.ok("%%enable_multicellmode").stderr
    assert "multicell, command ignored" in kernel.ok("%%start_writefile x").stderr
    for at, code in enumerate(
        ("import asyncio\n(await asyncio.sleep(0, 'awaited')).upper()",
         "%%execute_with_scorep\ntext = '''a\n  b'''\n!echo {text[0]}", "def fails():\n    return 1 / 0\nfails()", "never = 1"), 1
    ):  # fmt: skip
        assert kernel.ok(code).text.endswith(f"position: {at}")
    # requests of the notebook's tools for variables are answered meanwhile
    assert kernel.run("1 + 1", store_history=False).value == "2"
    assert kernel.run("unknown", silent=True).status == "error"
    number = kernel.ok("%%enable_multicellmode").count + 1
    cell = kernel.run("%%finalize_multicellmode")
    assert cell.value == "'AWAITED'" and cell.error[0] == "ZeroDivisionError" and cell.count == number
    assert cell.stdout.endswith("cells.a\r\n") and f"In[{number}], line 2" in cell.traceback, cell.traceback
    assert cell.stderr == "the cell at position 3 ended with an error: those after it are not run\n"
    (path,) = places(cell)
    assert "__main__:fails" in visits(path) and os.path.exists(path + "/profile.cubex")
    assert kernel.run("never").error[0] == "NameError"
    assert kernel.ok("In[-2]").count == number + 2


def test_programs_that_a_cell_starts(kernel):
    """Programs started by a cell are measured as under `python -m scorep`. A cell with a syntax error creates no directory."""
    (kernel.directory / "child.py").write_text("def of_child(): pass\nof_child()\n")
    cell = kernel.ok("%%execute_with_scorep\nimport os, subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True);")
    (path,) = places(cell)
    assert "__main__:of_child" in visits(path)
    before = set(os.listdir(kernel.directory))
    assert kernel.run("%%execute_with_scorep\nx = )").error[0] == "SyntaxError" and set(os.listdir(kernel.directory)) == before
    assert kernel.ok("[n for n in os.environ if n.startswith('SPARTITO_')]").value == "[]"


def test_no_marked_cell(kernel):
    kernel.ok("%%enable_multicellmode")
    cell = kernel.ok("%%finalize_multicellmode")
    assert cell.stderr == "no cell was marked: nothing is run\n" and places(cell) == []


SCRIPT = (
    ('text = """one\n  two\n"""\nf"""{text}\n  {text!r}"""', ""),
    ("from __future__ import annotations\nimport sys; sys.argv", ""),
    ("%matplotlib inline\nif text:\n    !echo hi\n    pass\nfound = !ls", "%matplotlib inline|!echo hi|!ls"),
    ("%env OF_SCRIPT=a b\n%env SCOREP_EXPERIMENT_DIRECTORY=written\n%time print('timed')", ""),
    ("%%time\nprint('below')", ""),
    ("%%bash\necho not python", "a cell of %%bash"),
    ("def of_two(n):\n    return '''\n''' * n\nprint(repr(of_two(2)), os.environ['OF_SCRIPT'])", ""),
    ("# only a comment", ""),
    ("class Grün:\n    'ß'\nprint(Grün.__doc__, end='\\n') ; x = 1", ""),
)


def test_what_a_script_gets(kernel):
    """Strings are unchanged. Magics are left out, with a message. Code that a script cannot contain is refused."""
    script = kernel.directory / "other.py"
    script.write_text("mine")
    cell = kernel.ok("%%start_writefile other")
    assert f"{script} was there and is overwritten" in cell.stderr and cell.stdout.startswith("Started converting")
    assert "writefile mode has already been enabled" in kernel.ok("%%start_writefile").stderr
    for code, left_out in SCRIPT:
        cell = kernel.ok(code)
        assert cell.stderr == "".join(f"left out of the script: {what}\n" for what in left_out.split("|") if what), cell
    no_script = (("await print()", "a script cannot"), ("def f(:", "not written to the script"), ("return 1", "'return' outside"))
    for code, why in no_script:
        cell = kernel.run(code)
        assert cell.status == "error" and why in cell.stderr, cell
    kernel.ok("%%end_writefile")
    done = subprocess.run([script.parent / "other_run.sh"], cwd=script.parent, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), script.read_text()
    assert done.stdout == "timed\nbelow\n'\\n\\n' a b\nß\n"
    assert (kernel.directory / "written" / "profile.cubex").exists()
    kernel.ok("%%start_writefile other")
    kernel.ok("%%abort_writefile")
    assert not script.exists() and not (script.parent / "other_run.sh").exists()


def test_directories_and_settings(kernel):
    kernel.ok("%%scorep_env\nSCOREP_EXPERIMENT_DIRECTORY=named\nSCOREP_PROFILING_BASE_NAME=mine")
    (first,) = places(kernel.ok("%%execute_with_scorep\n1"))
    assert Path(first) == kernel.directory / "named" and (kernel.directory / "named" / "mine.cubex").exists()
    (second,) = places(kernel.ok("%%execute_with_scorep\n2"))
    assert second == first and len(list(kernel.directory.glob("named-*"))) == 1  # the first result is kept under another name
    kernel.ok("%%scorep_env\nSCOREP_OVERWRITE_EXPERIMENT_DIRECTORY=false")
    cell = kernel.run("%%execute_with_scorep\nset_by_it = 3")
    assert "already exists, and SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY=false forbids" in cell.stderr and cell.status == "error"
    assert kernel.run("set_by_it").error[0] == "NameError"
    kernel.ok("%%scorep_env\nSCOREP_EXPERIMENT_DIRECTORY=/proc/none")
    assert "/proc/none" in kernel.run("%%execute_with_scorep\n4").stderr
    kernel.ok("%%scorep_env\nSCOREP_EXPERIMENT_DIRECTORY=quiet\nSCOREP_ENABLE_PROFILING=0\nSCOREP_ENABLE_TRACING=0")
    assert len(places(kernel.ok("%%execute_with_scorep\n5"))) == 1


def test_instrumenter_file_and_file_operations(kernel):
    (kernel.directory / "before.py").write_text("import sys\nsys.before = getattr(sys, 'before', 0) + 1\n")
    kernel.ok("%%scorep_python_binding_arguments\n--instrumenter-file=before.py --io=posix --verbose")
    cell = kernel.ok("%%execute_with_scorep\nimport sys\nwith open('written.txt', 'w') as f:\n    f.write('x')\nsys.before")
    assert cell.value == "1" and "scorep: the experiment directory is " in cell.stderr
    assert {"open", "write", "close"} & set(visits(*places(cell))) or {"open64"} & set(visits(*places(cell))), visits(*places(cell))
    assert kernel.ok("%%execute_with_scorep\nsys.before").value == "1"
    (kernel.directory / "before.py").write_text("raise ValueError('no')\n")
    assert "before.py: ValueError: no" in kernel.run("%%execute_with_scorep\n6").stderr


def test_something_is_measured_already(kernel):
    kernel.ok("%spartito_start -q")
    cell = kernel.run("%%execute_with_scorep\n7")
    assert cell.status == "error" and "something is measured already, into " in cell.stderr
    kernel.ok("%spartito_stop")
    cell = kernel.ok("%%execute_with_scorep\nimport spartito\nspartito.active()")
    assert cell.value == "True" and len(places(cell)) == 1
    assert kernel.ok("import spartito\nspartito.active()").value == "False"


def test_help_names_and_completion(kernel):
    found = kernel.ask("complete", code="%%exec", cursor_pos=6)
    assert "%%execute_with_scorep" in found["matches"]
    shown = kernel.ok("%%enable_multicellmode?").reply["payload"][0]["data"]["text/plain"]
    assert "marked, not run" in shown


def test_results_stay_after_restart_and_kill(tmp_path):
    """kill -9 in a measured cell: earlier results are complete, and the killed one has the data recorded until then."""
    (tmp_path / "work").mkdir()
    with start(tmp_path / "work", tmp_path / "specs", SCOREP_ENABLE_TRACING="true") as kernel:
        first = places(kernel.ok("%%execute_with_scorep\ndef one():\n    pass\none()"))
        first += places(kernel.ok("%%execute_with_scorep\none()"))  # run again
        kernel.restart()
        first += places(kernel.ok("%%execute_with_scorep\ndef two():\n    pass\ntwo()"))
        endless = "%%execute_with_scorep\nfor n in range(1000):\n    two()\nprint('ready')\nwhile True:\n    two()"
        running = kernel.begin(endless).until("ready")
        kernel.kill()
        with pytest.raises(notebook.Died):
            running.end()
        kernel.restart()
        (killed,) = {str(p) for p in kernel.directory.glob("scorep-*")} - set(first)
        assert visits(killed)["__main__:two"] >= 1000
        for path in first:
            assert os.path.exists(path + "/profile.cubex") and os.path.exists(path + "/traces.otf2")
        assert [visits(path)[name] for path, name in zip(first, ("__main__:one", "__main__:one", "__main__:two"))] == [1, 1, 1]
        shown = kernel.ok(f"from spartito.notebook.result import Result\nResult({first[0]!r})")
        assert "__main__:one" in shown.value or "one" in shown.value


def spartito(*words, cwd, **more):
    command = [sys.executable, "-m", "spartito", "kernel", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment(**more))


def test_installed_under_the_names_of_todays_kernel(tmp_path):
    done = spartito("install", "--score-p", "--prefix", "here", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("\n") == 2
    kernels = tmp_path / "here" / "share" / "jupyter" / "kernels"
    specs = {p.name: json.loads((p / "kernel.json").read_text())["display_name"] for p in kernels.iterdir()}
    assert specs == {"scorep_jupyter": "Score-P_Python", "scorep-python": "scorep-python"}
    refused = spartito("install", "--score-p", "--name", "x", cwd=tmp_path)
    assert refused.returncode and "--score-p sets the names of the kernel" in refused.stderr
    with notebook.Kernel(tmp_path, "scorep-python", [kernels], environment()) as kernel:
        cell = kernel.ok("%%execute_with_scorep\nimport scorep\nscorep.__spartito__")
        assert cell.value == "True" and is_ours(cell.outputs[-1])
    known = {"JUPYTER_PATH": str(kernels.parent)}
    assert spartito("remove", "--score-p", cwd=tmp_path, **known).returncode == 0
    assert os.listdir(kernels) == []


def test_the_module_of_todays_kernel(tmp_path):
    """Kernelspecs left by the Score-P kernel start Spartito's kernel, by the name of the old module."""
    shutil.copytree(ROOT / "dropin" / "scorep_jupyter", tmp_path / "modules" / "scorep_jupyter")
    argv = [sys.executable, "-m", "scorep_jupyter.kernel", "-f", "{connection_file}"]
    specs = notebook.kernelspec(tmp_path / "specs", "old", argv)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "json.py").write_text("raise SystemExit('the wrong module')")
    where = environment(PYTHONPATH=str(tmp_path / "modules"))
    with notebook.Kernel(tmp_path / "work", "old", [specs], where) as kernel:
        assert kernel.ok("%%enable_multicellmode").stdout.startswith("started multi-cell mode.")
    command = [sys.executable, "-m", "scorep_jupyter.install"]
    home = {**where, "HOME": str(tmp_path), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(command, cwd=tmp_path, env=home, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(os.listdir(tmp_path / "data" / "kernels")) == ["scorep-python", "scorep_jupyter"]
