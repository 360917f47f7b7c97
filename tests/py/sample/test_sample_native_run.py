# SPDX-License-Identifier: BSD-3-Clause
"""`spartito run --sample --sample-native` and counters: shares of compiled functions."""

import os
import shlex
import subprocess
import sys

import pytest
from spartito._analyse import Model
from spartito._measure import metrics
from spartito._sample import check
from test_sample_native import NATIVE, NO_NATIVE
from test_sample_run import WORK, late

pytestmark = pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")

SOURCE = r"""
#include <time.h>
static double used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
#define PART(name) \
	volatile int name##_sink; \
	static __attribute__((noinline)) void name##_loop(void) { for (int i = 0; i < 100000; i++) name##_sink++; } \
	__attribute__((visibility("default"))) void name(double seconds) \
	{ for (double end = used() + seconds; used() < end;) name##_loop(); }
PART(sp_t_one)
PART(sp_t_three)
"""

PROGRAM = WORK + """
import ctypes
c = ctypes.CDLL(sys.argv[1])
one, three = c.sp_t_one, c.sp_t_three
one.argtypes = three.argtypes = [ctypes.c_double]
def first():
    one(0.3)
def second():
    three(0.9)
rest(0, 30)  # a thread that is to stop is waited for, too
for _ in range(2):
    first()
    second()
rest(0, 30)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    d = tmp_path_factory.mktemp("library")
    (d / "a.c").write_text(SOURCE, encoding="utf-8")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, "-O2", "-fPIC", "-shared", "-o", str(d / "libparts.so"), str(d / "a.c")], check=True)
    return d / "libparts.so"


def run(tmp_path, library, program, *options, status=0):
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "spartito", "run", *options, "-o", str(tmp_path / "run"), "--", sys.executable, "program.py",
               str(library)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == status, done.stderr
    return done


def cpu(row, which="excl"):
    return row["metrics"]["sampled_cpu"][which]


@pytest.mark.skipif(not NATIVE, reason=NO_NATIVE)
def test_shares_of_compiled_functions(tmp_path, library):
    run(tmp_path, library, PROGRAM, "--sample", "--sample-native", "--sample-rate", "200", "-q")
    model = Model(str(tmp_path / "run"))
    rows, missed = {row["name"]: row for row in model.flat()}, late(model) * 1e9
    one, three = (cpu(rows[f"libparts:sp_t_{name}"], "incl") for name in ("one", "three"))
    # The program works for 0.6 s and 1.8 s of processor time, as measured by itself. Late samples move some of it.
    assert one + three == pytest.approx(2.4e9, abs=0.15 * 2.4e9 + missed)
    assert three / (one + three) == pytest.approx(0.75, abs=0.06 + missed / 2.4e9)
    assert rows["libparts:sp_t_one_loop"] and rows["libparts:sp_t_three_loop"]
    # the compiled function is below the Python function that called it
    assert cpu(rows["__main__:second"], "incl") == pytest.approx(three, abs=three / 10 + missed)
    assert cpu(rows["__main__:second"]) < three / 10 + missed
    assert not [name for name in rows if name.startswith(("libpython", "python3"))]


def test_counters_of_call_paths(tmp_path, library):
    known = {name: why for name, _, why in metrics("perf:page-faults,perf:cycles")}
    if known["perf:page-faults"]:
        pytest.skip(known["perf:page-faults"])
    program = WORK + """
import mmap
def touches():
    with mmap.mmap(-1, 400 << 20) as m:
        for i in range(0, len(m), mmap.PAGESIZE):
            m[i] = 1
        rest(0)
def counts():
    n = 0
    for i in range(5000000):
        n += i
    rest(0)
rest(0)
touches()
counts()
"""
    done = run(tmp_path, library, program, "--sample", "--metric", "perf:page-faults,perf:cycles,rusage:ru_utime")
    model = Model(str(tmp_path / "run"))
    faults = {row["name"]: row["metrics"]["page-faults"]["incl"] for row in model.flat()}
    assert 60000 < faults["__main__:touches"] <= 104000
    assert faults["__main__:counts"] < 2000
    assert "rusage:ru_utime cannot be counted by samples" in done.stderr
    # where the processor does not support the counter, one message reports it and the run continues
    if known["perf:cycles"]:
        assert done.stderr.count("perf:cycles cannot be counted here") == 1
    else:
        assert {row["name"]: row["metrics"]["cycles"]["incl"] for row in model.flat()}["__main__:counts"] > 1000000


def test_native_frames_are_of_samples(tmp_path, library):
    done = run(tmp_path, library, PROGRAM, "--sample-native", status=2)
    assert done.stderr == "spartito run: --sample-native is for samples, and there are none: give --sample as well\n"
