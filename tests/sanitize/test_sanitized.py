# SPDX-License-Identifier: BSD-3-Clause
"""Programs under every hook, and samples, memory, waits and file I/O of a whole program, recorded by libraries built with
AddressSanitizer and UndefinedBehaviorSanitizer: no process has a report, and the numbers are right. tools/sanitize.sh builds the
libraries and runs this with SANITIZED_SITE, a directory with the package and the built libraries, and SANITIZED_ASAN, the path of
libasan.so.

AddressSanitizer has its own malloc, which must exist before instrumented code runs. A wrapper of malloc precedes it, and the
dynamic linker calls it before the sanitizer has mapped its tables. So spartito_heap.so is built with UndefinedBehaviorSanitizer
only, and without its runtime: a fault is an invalid instruction, whose SIGILL AddressSanitizer reports. The wrapper calls
AddressSanitizer's malloc, which detects accesses of Spartito, or of functions it calls, to blocks that are not theirs. The other
libraries are built with both. spartito_waits.so and spartito_preload.so follow libasan in LD_PRELOAD, and get its wrapped
functions. With libasan loaded, libubsan writes to standard error only, whatever log_path is, and ends the process."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from commandline import run
from conftest import ROOT
from programs import find
from spartito._analyse import Model, writers
from spartito._measure import hooks
from spartito._sample import check
from waiting import Waits, compiled

SITE, ASAN = os.environ["SANITIZED_SITE"], os.environ["SANITIZED_ASAN"]
PROGRAM = ROOT / "tests" / "sanitize" / "everything.py"
MARKS = {line.rsplit("  # ", 1)[1]: n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "  # " in line}
SAMPLE = ("--sample", "--sample-native", "--calls")
PRINTED = "131072.0 10000 [7, 13, 15, 7, 7] (300,) 7\n" + str([45] * 8) + "\n"
needs_samples = pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("waits"))


def environment(log, *before, malloc="malloc"):
    """The environment of instrumented processes. PYTHONMALLOC=malloc: Python objects are blocks that AddressSanitizer knows."""
    names = [os.path.join(SITE, "spartito", name) for name in before]
    common = f"halt_on_error=1:log_path={log}:log_exe_name=1:exitcode=97"
    return {
        **os.environ,
        "PYTHONPATH": SITE,
        "LD_PRELOAD": ":".join([ASAN, *names]),
        "PYTHONMALLOC": malloc,
        "OPENBLAS_NUM_THREADS": "2",
        # Leaks: Python keeps memory until its end on purpose. Link order: see above
        "ASAN_OPTIONS": common + ":handle_sigill=1:detect_leaks=0:verify_asan_link_order=0:quarantine_size_mb=16",
        "UBSAN_OPTIONS": common + ":print_stacktrace=1",
    }


@contextmanager
def watched(tmp_path):
    """A directory for the reports of all processes of a run, which must be empty at the end."""
    logs = tmp_path / "reports"
    logs.mkdir(parents=True)
    yield logs / "report"
    reports = sorted(logs.iterdir())
    assert not reports, "\n".join(r.read_text(errors="replace")[:6000] for r in reports)


def recorded(tmp_path, program, *options, before=(), malloc="malloc"):
    """Runs a program, given with its arguments, and reports the experiment, both with sanitizers; returns the program's output."""
    with watched(tmp_path) as log:
        env = environment(log, *before, malloc=malloc)
        spartito = [sys.executable, "-m", "spartito"]
        done = run(spartito, "run", "-q", *options, "-o", "x", "--", sys.executable, *program, cwd=tmp_path, env=env)
        shown = run(spartito, "report", "x", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert shown.returncode == 0, shown.stderr
    assert "runtime error" not in done.stderr + shown.stderr, done.stderr + shown.stderr
    return done.stdout


def everything(tmp_path, library, *options, **more):
    """The model of everything.py."""
    assert recorded(tmp_path, [PROGRAM, library], *options, **more) == PRINTED
    return Model(str(tmp_path / "x"))


def numbers(model, mark, allocator="malloc"):
    """(count, bytes, freed, freed_bytes) of that line, summed over all processes."""
    found = [
        s for s in model.memory()["sites"] if s["line"] == MARKS[mark] and s["file"] == str(PROGRAM) and s["allocator"] == allocator
    ]
    return tuple(sum(s[what] for s in found) for what in ("count", "bytes", "freed", "freed_bytes"))


def check_memory(model):
    assert numbers(model, "kept") == (1000, 40_000, 0, 0)
    assert numbers(model, "freed") == (2000, 48_000, 2000, 48_000)
    assert numbers(model, "first") == (1, 100, 1, 100)
    assert numbers(model, "grown")[:2] == (10, sum(range(200, 1200, 100)))
    assert numbers(model, "thread") == (400, 3200, 0, 0)
    assert numbers(model, "child") == (10, 1000, 0, 0)
    assert numbers(model, "pool") == (80, 1280, 0, 0)
    assert all(p["lost"] == 0 for p in model.memory()["processes"])


def check_waits(model):
    waits = Waits(model)

    def count(mark, kind):
        return sum(w["count"] for w in waits.at(MARKS[mark], kind) if w["file"] == str(PROGRAM))

    assert count("lock", "lock") == 5
    assert count("mutex", "mutex") == 10  # here and in the forked child
    assert count("sleep", "sleep") == 3


def check_samples(model):
    found = {row["name"]: row for row in model.flat()}
    assert found["__main__:linear"]["metrics"]["sampled_running"]["incl"] > 0
    assert found["__main__:wait_for_lock"]["metrics"]["sampled_idle"]["incl"] > 0
    assert any(row["kind"] == "native" and row["visits"] == 0 for row in found.values())


def check_calls(model):
    found = {row["name"]: row for row in model.flat()}
    assert (found["__main__:keep"]["visits"], found["__main__:in_pool"]["visits"], found["__main__:wait_for_mutex"]["visits"]) == (
        1,
        8,
        2,
    )


@pytest.mark.parametrize("hook", [name for name, works, _ in hooks() if works])
@pytest.mark.parametrize("program", ["generators", "threads", "exceptions", "fork", "tasks"])
def test_hooks(tmp_path, program, hook):
    recorded(tmp_path, [find(program)], "--trace", "--hook", hook)
    assert Model(str(tmp_path / "x")).flat()


@pytest.mark.parametrize("option", ["--memory-profile", "--waits"])
def test_formats_of_what_lost_its_call_paths(tmp_path, option):
    recorded(tmp_path, ["-c", "bytearray(9)"], "--trace", option)
    for raw in (tmp_path / "x" / "raw").glob("*.raw"):
        data = bytearray(raw.read_bytes())
        for at in range(4096, len(data), 4096):
            if data[at : at + 8] == b"CHNK\3\0\0\0":
                data[at : at + 8] = bytes(8)
        raw.write_bytes(data)
    for name in [row[0] for row in writers() if row[0] != "lprof"]:  # it needs lines
        with watched(tmp_path / name) as log:
            command = [sys.executable, "-m", "spartito"]
            done = run(command, "convert", "x", "--to", name, "-o", tmp_path / name / "out", cwd=tmp_path, env=environment(log))
        assert "damaged: raw/" in done.stderr and "runtime error" not in done.stderr, done.stderr


@needs_samples
def test_samples(tmp_path, library):
    model = everything(tmp_path, library, *SAMPLE)
    check_samples(model)
    check_calls(model)


@pytest.mark.parametrize("malloc", ["malloc", "pymalloc"])
def test_memory(tmp_path, library, malloc):
    model = everything(tmp_path, library, "--memory-profile", malloc=malloc)
    check_memory(model)
    check_calls(model)


def test_memory_sampled(tmp_path, library):
    model = everything(tmp_path, library, "--memory-sample", "64K", malloc="pymalloc")
    size = sum(numbers(model, "large", a)[1] for a in ("malloc", "mmap"))
    assert abs(size / (60 << 20) - 1) < 0.1  # 60 arrays of 1 MiB: 960 samples; a MiB is without a sample with a probability of 1e-7
    assert {p["sample"] for p in model.memory()["processes"]} == {64 << 10}


@pytest.mark.parametrize("options", [(), ("--trace",)])
def test_waits(tmp_path, library, options):
    model = everything(tmp_path, library, "--waits", *options, before=["spartito_waits.so"])
    check_waits(model)
    check_calls(model)


def test_io(tmp_path, library):
    model = everything(tmp_path, library, "--io", "--trace", before=["spartito_preload.so"])
    check_calls(model)
    assert any(row["kind"] == "io" and row["visits"] for row in model.flat())


@needs_samples
def test_all_together(tmp_path, library):
    model = everything(tmp_path, library, *SAMPLE, "--memory-profile", "--waits", "--trace", before=["spartito_waits.so"])
    check_samples(model)
    check_memory(model)
    check_waits(model)
    check_calls(model)


@needs_samples
def test_a_process_that_runs_already(tmp_path, library):
    with subprocess.Popen(
        [sys.executable, PROGRAM, library, "1000"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
    ) as p:
        try:
            while p.stdout.readline() not in ("ready\n", ""):
                pass
            assert p.poll() is None
            with watched(tmp_path) as log:
                env = environment(log)
                spartito = [sys.executable, "-m", "spartito"]
                top = run(spartito, "top", "--once", "--duration", "1", p.pid, cwd=tmp_path, env=env)
                done = run(spartito, "attach", "--sample-native", "--duration", "2", "-o", "x", p.pid, cwd=tmp_path, env=env)
            assert (top.returncode, top.stderr) == (0, "") and "__main__:linear" in top.stdout
            assert done.returncode == 0, done.stderr
        finally:
            p.kill()
    model = Model(str(tmp_path / "x"))
    found = {row["name"]: row for row in model.flat()}
    assert found["__main__:linear"]["metrics"]["sampled_running"]["incl"] > 0
    assert not model.info()["problems"]


FAULTS = {
    "AddressSanitizer: heap-buffer-overflow": "int fault(int n) { int *p = malloc(sizeof *p * 4); return p[4 + n]; }",
    "AddressSanitizer: ILL": "int fault(int n) { return n + INT_MAX; }",
}


@pytest.mark.parametrize("report", FAULTS)
def test_a_report_is_not_missed(tmp_path, report):
    """The tests above rely on this: a fault is detected in a child whose standard error and exit status nobody reads."""
    source = "#include <limits.h>\n#include <stdlib.h>\n" + FAULTS[report]
    # built as the libraries are; in the second case as spartito_heap.so
    kind = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"] if "ILL" in report else ["-fsanitize=address"]
    command = ["cc", "-fPIC", *kind, "-x", "c", "-", "-c", "-o", "fault.o"]
    subprocess.run(command, input=source.encode(), cwd=tmp_path, check=True)
    subprocess.run(["cc", "-shared", "fault.o", "-o", "fault.so"], cwd=tmp_path, check=True)
    program = f"import ctypes, os\nif not os.fork(): os.close(2); ctypes.CDLL('{tmp_path}/fault.so').fault(1)\nos.wait()"
    with pytest.raises(AssertionError, match=report), watched(tmp_path) as log:
        subprocess.run([sys.executable, "-c", program], env=environment(log), check=True)
