# SPDX-License-Identifier: BSD-3-Clause
"""include/spartito.h used by a C or C++ library that a Python program loads."""

import json
import subprocess
import sys

import pytest
from commandline import run

LIBRARY = """
#include <pthread.h>
#include <spartito.h>
#ifdef __cplusplus
extern "C"
#endif
int work(int n);
static void *in_thread(void *none)
{
    spartito_region_begin("in a thread of C");
    spartito_region_end("in a thread of C");
    return none;
}
int work(int n)
{
    pthread_t t;
    for (int i = 0; i < n; i++) {
        spartito_region_begin("step of C");
        spartito_parameter_int("i", -i);
        spartito_parameter_uint("n", 3);
        spartito_parameter_string("s", "text");
        spartito_counter("residual", 0.5);
        spartito_marker("here");
        spartito_region_end("step of C");
    }
    if (pthread_create(&t, NULL, in_thread, NULL) == 0)
        pthread_join(t, NULL);
    return spartito_active();
}
"""
# CDLL releases the GIL for the call, PyDLL keeps it
PROGRAM = """
import ctypes
def call(kind):
    return kind("./library.so").work(5)
print(call(ctypes.CDLL), call(ctypes.PyDLL))
"""


@pytest.fixture(params=["c", "c++"])
def library(request, root, tmp_path):
    (tmp_path / "library").write_text(LIBRARY)
    command = ["cc", "-x", request.param, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{root / 'include'}",
               "library", "-o", "library.so", "-lpthread", "-ldl"]  # fmt: skip
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def test_regions_from_c(spartito, library):
    done = run(spartito, "run", "-q", "--trace", "-o", "x", "--", sys.executable, "program.py", cwd=library)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1\n", "")
    rows = json.loads(run(spartito, "report", "--json", "--limit", "0", library / "x").stdout)["rows"]
    visits = {row["name"]: (row["visits"], row["kind"]) for row in rows}
    assert visits["step of C"] == (10, "user")
    assert visits["in a thread of C"] == (2, "user")
    assert run(spartito, "convert", "x", "--to", "otf2", "-o", "t", cwd=library).returncode == 0
    printed = subprocess.run(["otf2-print", "t/traces.otf2"], cwd=library, capture_output=True, text=True, check=True)
    for event, n in (("PARAMETER_INT64", 10), ("PARAMETER_UINT64", 10), ("PARAMETER_STRING", 10), ("METRIC", 10)):
        lines = [line for line in printed.stdout.splitlines() if line.startswith(event + " ")]
        assert sum('("waiting"' not in line and '("preempted"' not in line for line in lines) == n, event


def test_without_a_measurement_nothing_happens(library):
    done = subprocess.run([sys.executable, "program.py"], cwd=library, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0\n", "")
