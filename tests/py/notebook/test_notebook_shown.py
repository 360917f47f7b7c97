# SPDX-License-Identifier: BSD-3-Clause
"""Results in a kernel: shown below their cells, as values, as errors of one sentence, and after the kernel has ended."""

import re

import pytest
from spartito.analysis import Model
from spartito.notebook.result import Result

notebook = pytest.importorskip("notebook", reason="needs jupyter_client")


@pytest.fixture
def kernel(tmp_path):
    with notebook.Kernel(tmp_path) as kernel:
        kernel.ok("%load_ext spartito")
        yield kernel


def test_it_is_displayed_and_is_a_value(kernel, tmp_path):
    shown = kernel.ok("%%spartito\nimport json\nfor i in range(30): json.loads('[1]')\n7")
    assert shown.value == "7" and kernel.ok("_").value == "7"
    (bundle,) = shown.displays
    assert bundle["text/plain"].startswith("In[2] took ") and bundle["text/html"].startswith('<div class="spartito-frame ')
    (directory,) = (tmp_path / "spartito-notebook").iterdir()
    assert bundle["text/plain"].endswith(str(directory))
    again = kernel.ok("result = %spartito_report 2\nresult")
    assert again.result == bundle
    assert kernel.ok("result.to_dataframe").value  # created when it is called
    assert eval(kernel.ok("result.total").value) == Result(directory).total
    assert kernel.ok("print(repr(result))").stdout.startswith("<In[2]: ")


def test_an_error_is_one_sentence(kernel):
    kernel.ok("from spartito.notebook.result import Result")
    failed = kernel.run("Result('nowhere')")
    assert failed.error == ("ResultError", f"{kernel.directory}/nowhere: there is no such experiment")
    assert failed.traceback == f"spartito: {kernel.directory}/nowhere: there is no such experiment"
    # also for an experiment that was deleted meanwhile
    assert "there is no such experiment" in kernel.ok("import os\nos.mkdir('gone')\nr = Result('gone')\nos.rmdir('gone')\nr").value


def test_a_kernel_killed_leaves_what_was_measured(kernel, tmp_path):
    kernel.ok("%%spartito -o whole\ndef f(): pass\nf()")
    endless = "import time\nfor i in range(5): f()\nprint('here', flush=True)\ntime.sleep(1000)"
    kernel.begin("%%spartito -o part\n" + endless).until("here")
    kernel.kill()
    assert {r["name"]: r["visits"] for r in Model(str(tmp_path / "whole")).flat()}["In[2]:f"] == 1
    result = Result(tmp_path / "part")
    assert {r["name"]: r["visits"] for r in result.model.flat()}["In[2]:f"] == 5
    assert re.search(r"^process \d+ .*(killed|running|abrupt|end)", result.text(), re.MULTILINE), result.text()
