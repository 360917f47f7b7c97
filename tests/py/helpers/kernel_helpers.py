# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of Spartito's kernel for notebooks of the Score-P kernel."""

import json

import notebook
import pytest
from scorep_helpers import environment
from spartito.compat.scorep.kernel.install import CLASS
from spartito.notebook.kernel import specification

# cells of the Score-P kernel's example notebook
SETTINGS = """\
%%scorep_env
SCOREP_ENABLE_TRACING=1
SCOREP_ENABLE_PROFILING=0
SCOREP_TOTAL_MEMORY=3g"""
ARGUMENTS = "%%scorep_python_binding_arguments\n--noinstrumenter"
SLEEP = """\
%%execute_with_scorep
import scorep
import time

def sleep_and_double(x):
    time.sleep(x)
    return 2*x

with scorep.instrumenter.enable():
    x = 5
    x = sleep_and_double(x)
    x = sleep_and_double(x)"""
RESET = "get_ipython().cells.__init__()\nimport os\nfor n in [n for n in os.environ if n[:7] == 'SCOREP_']:\n    del os.environ[n]"


@pytest.fixture(autouse=True)
def as_at_the_start(request):
    """Tests share a kernel, but not their settings: each one must also work as the first test of its process."""
    yield
    if "kernel" in request.fixturenames:
        request.getfixturevalue("kernel").ok(RESET)


def start(directory, specs, **variables):
    """Starts that kernel in `directory`; specs: a new directory for its kernelspec."""
    (specs / "scorep_jupyter").mkdir(parents=True)
    (specs / "scorep_jupyter" / "kernel.json").write_text(json.dumps(specification("Score-P_Python", [CLASS])))
    return notebook.Kernel(directory, "scorep_jupyter", [specs], {**environment(), **variables})


def place(output):
    """The experiment directory that a display output names, or None."""
    text = output.get("data", {}).get("text/plain", "") if output["output_type"] == "display_data" else ""
    head, sep, path = text.split("\n")[0].partition("Instrumentation results can be found in ")
    return path if sep and not head else None


def is_ours(output):
    """Whether an output is the report of a measurement, of this kernel or of %%spartito, or the message that nothing was
    measured."""
    if output["output_type"] == "stream" and output["text"].endswith("is not measured: there is no code below its first line\n"):
        return True
    return "<iframe title=\"Spartito: " in output.get("data", {}).get("text/html", "") or place(output) is not None


def places(cell):
    return [p for p in map(place, cell.outputs) if p]
