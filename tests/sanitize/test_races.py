# SPDX-License-Identifier: BSD-3-Clause
"""Threads under ThreadSanitizer: the recorder's accesses to shared data are synchronized. tools/sanitize.sh builds _measure for it,
and runs this with SANITIZED_SITE, a directory with the package and that library, and SANITIZED_LIBRARY, the path of libtsan.so.
tools/sanitize_threads.sh does the same with SANITIZED_PYTHON, an interpreter without the GIL that ThreadSanitizer watches as well.

The libraries that wrap the C library are not instrumented: ThreadSanitizer wraps the same functions, and takes a call from its own
wrapper for one of the program. So --waits, which records in those libraries, is left out."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

PYTHON = os.environ.get("SANITIZED_PYTHON", sys.executable)
USABLE = "import spartito._measure as m; print(*(name for name, usable, _ in m.hooks() if usable))"
PROGRAM = str(ROOT / "tests" / "sanitize" / "races.py")


def hooks():
    environment = {**os.environ, "PYTHONPATH": os.environ["SANITIZED_SITE"], "TSAN_OPTIONS": "report_bugs=0"}
    environment["LD_PRELOAD"] = os.environ["SANITIZED_LIBRARY"]
    command = ["setarch", "-R", PYTHON, "-c", USABLE]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()


def raced(tmp_path, *command):
    """Runs a command under ThreadSanitizer; addresses must be where it expects them (setarch -R)."""
    log = tmp_path / "report"
    env = {
        **os.environ,
        "PYTHONPATH": os.environ["SANITIZED_SITE"],
        "LD_PRELOAD": os.environ["SANITIZED_LIBRARY"],
        "TSAN_OPTIONS": f"log_path={log}:exitcode=97:report_signal_unsafe=0",
    }
    done = subprocess.run(
        ["setarch", "-R", *command], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", errors="replace", timeout=300
    )
    reports = "\n".join(p.read_text(errors="replace")[:6000] for p in sorted(tmp_path.glob("report.*")))
    assert not reports, reports
    assert done.returncode == 0 and "over" in done.stdout, done.stderr


def test_a_race_is_reported(tmp_path):
    """A race is detected at all: otherwise the other tests prove nothing."""
    source = tmp_path / "race.c"
    source.write_text("""
        #include <pthread.h>
        static int n;
        static void *add(void *p) { for (int i = 0; i < 1000; i++) n++; return p; }
        void race(void)
        {
            pthread_t a, b;
            pthread_create(&a, 0, add, 0);
            pthread_create(&b, 0, add, 0);
            pthread_join(a, 0);
            pthread_join(b, 0);
        }
        """)
    library = tmp_path / "race.so"
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, "-fsanitize=thread", "-shared", "-fPIC", "-g", str(source), "-o", str(library)], check=True)
    with pytest.raises(AssertionError, match="data race"):
        raced(tmp_path, PYTHON, "-c", f"import ctypes; ctypes.CDLL({str(library)!r}).race(); print('over')")


@pytest.mark.parametrize("hook", hooks())
def test_measurements_that_begin_and_end(tmp_path, hook):
    raced(tmp_path, PYTHON, PROGRAM, str(tmp_path / "x"), hook)


@pytest.mark.parametrize("options", [(), ("trace", "c_calls"), ("lines",), ("label",)], ids="-".join)
def test_functions_and_tasks_begin_at_once(tmp_path, options):
    raced(tmp_path, PYTHON, str(ROOT / "tests" / "sanitize" / "firsts.py"), str(tmp_path / "x"), *options)


# the libraries that --io preloads are not built for an interpreter of ThreadSanitizer's
FILES = () if "SANITIZED_PYTHON" in os.environ else ("--io",)


@pytest.mark.parametrize("options", [("--trace", *FILES), ("--gil", "--trace"), ("--lines", "works", "--no-c-calls")])
def test_pauses(tmp_path, options):
    raced(tmp_path, PYTHON, "-m", "spartito", "run", "-q", *options, "-o", "x", "--", PYTHON, PROGRAM)
