# SPDX-License-Identifier: BSD-3-Clause
"""The kernel installed by `spartito kernel install`: an ordinary kernel, which measures only where a cell requests it."""

import json
import os
import re
import subprocess
import sys

import pytest

notebook = pytest.importorskip("notebook")
from test_notebook_cells import functions, model, results  # noqa: E402


def spartito(*words, cwd, **environment):
    command = [sys.executable, "-m", "spartito", "kernel", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("kernel")
    made = spartito("install", "--prefix", "here", "--name", "measured", cwd=place)
    assert (made.returncode, made.stderr) == (0, "") and "installed the kernel measured in " in made.stdout
    return place


@pytest.fixture(scope="module")
def kernel(place):
    # files in the notebook's directory do not replace modules of the kernel
    (place / "json.py").write_text("raise SystemExit('the wrong module')")
    (place / "result.py").write_text("raise SystemExit('the wrong module')")
    with notebook.Kernel(place, name="measured", specs=[place / "here" / "share" / "jupyter" / "kernels"]) as kernel:
        yield kernel


def test_it_is_ipykernel_with_the_magics_there(kernel):
    assert kernel.ok("type(get_ipython().kernel).__name__").value == "'IPythonKernel'"
    cell = kernel.ok("import os\n[n for n in os.environ if n.startswith('SPARTITO') or n == 'LD_PRELOAD']")
    assert cell.value == "[]" and kernel.ok("import spartito; spartito.active()").value == "False"
    cell = kernel.ok("%%spartito\ndef f(): return 1\nf()")
    assert cell.value == "1" and functions(cell)[f"In[{cell.count}]:f"] == 1


def test_file_operations_of_a_cell(kernel):
    kernel.ok("open('data', 'w').write('x' * 1000)")
    cell = kernel.ok("%%spartito --io --trace\nopen('data', 'rb', 0).read(600) and None")
    files = {row["path"]: row["bytes_read"] for row in model(cell).io()}
    assert files[str(kernel.directory / "data")] == 600
    again = kernel.ok("%%spartito --trace\nopen('data').read() and None")
    assert not model(again).io() and results(again)


def test_file_operations_of_a_program_that_a_cell_starts(kernel):
    (kernel.directory / "child.py").write_text("open('of-child', 'w').write('y' * 2000)\n")
    kernel.ok("%spartito_start --io --trace\nimport os, subprocess, sys")
    kernel.ok("subprocess.run([sys.executable, 'child.py'], check=True);")
    kernel.ok("%spartito_stop")
    assert re.search(r"2\.0 KiB .*/of-child$", kernel.ok("%spartito_report io").stdout, re.MULTILINE)
    assert kernel.ok("'LD_PRELOAD' in os.environ, 'SPARTITO_EXPERIMENT' in os.environ").value == "(False, False)"


def test_a_kernel_without_it_says_what_to_do(tmp_path):
    with notebook.Kernel(tmp_path) as kernel:
        kernel.ok("%load_ext spartito")
        cell = kernel.ok("%%spartito --io\n5")
        assert cell.value == "5" and "is not measured: --io is for kernels that were started with its library" in cell.stderr


def test_removed_and_refused(place, tmp_path):
    (tmp_path / "file").touch()
    known = {"JUPYTER_PATH": str(place / "here" / "share" / "jupyter")}
    stranger = place / "here" / "share" / "jupyter" / "kernels" / "stranger"
    stranger.mkdir()
    (stranger / "kernel.json").write_text(json.dumps({"argv": ["true"], "display_name": "x", "language": "python"}))
    for words, message in (
        (("remove", "--name", "stranger"), "was not made by `spartito kernel install`"),
        (("remove", "--name", "absent"), "there is no kernel 'absent'"),
        (("remove", "--user"), "--user is for install"),
        (("instal",), "'instal' is neither install nor remove; did you mean install?"),
        ((), "install or remove: what is to be done?"),
        (("install", "--user", "--prefix", "x"), "--user and --prefix are two locations"),
        (("install", "--prefix", str(tmp_path / "file")), "the kernel cannot be installed"),
        (("install", "--prefix", "x", "--name", "a b"), "--name: "),
    ):
        refused = spartito(*words, cwd=place, **known)
        assert refused.returncode != 0 and message in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr
    assert spartito("install", "--prefix", "here", "--name", "other", cwd=place).returncode == 0
    assert spartito("remove", "--name", "other", cwd=place, **known).returncode == 0
    assert not (stranger.parent / "other").exists() and stranger.exists()
    assert "--score-p sets the names of the kernel" in spartito("install", "--score-p", "--name", "x", cwd=place).stderr
    made = spartito("install", "--score-p", "--prefix", "here", cwd=place)
    assert made.returncode == 0 and (stranger.parent / "scorep_jupyter" / "kernel.json").is_file() and made.stdout.count("\n") == 2
    assert spartito("remove", "--score-p", cwd=place, **known).returncode == 0 and not (stranger.parent / "scorep_jupyter").exists()
