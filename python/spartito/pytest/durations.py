# SPDX-License-Identifier: BSD-3-Clause
"""The durations of tests, as pytest reports them, and files of them: the baselines."""

from __future__ import annotations

import json
import math
import os
import sys

import pytest

from spartito.base import regular
from spartito.base.messages import reason
from spartito.experiments.rundir import write_whole
from spartito.pytest.regions import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest import TestReport

PHASES = ("setup", "call", "teardown")
VERSION = 1  # of the file
MAX_SIZE = 256 * regular.MIB


class Run:
    """One run of a test. seconds: of each phase that ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.passed = False

    @property
    def call(self) -> float:
        return self.seconds.get("call", 0.0)

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


class Durations:
    """The runs of all tests of a session, by name. A test runs several times with `--dist each`, or with plugins that repeat
    it."""

    def __init__(self) -> None:
        self.runs: dict[str, list[Run]] = {}
        self._current: dict[tuple[str, int], Run] = {}

    def add(self, report: TestReport) -> None:
        if report.when not in PHASES:
            return  # pytest-xdist's report of a crash
        test: str = getattr(report, NAME, report.nodeid)
        key = report.nodeid, id(getattr(report, "node", None))  # each worker may run the test
        run = self._current.get(key)
        if run is None or report.when == "setup":
            run = self._current[key] = Run()
            self.runs.setdefault(test, []).append(run)
        run.seconds[report.when] = report.duration
        if report.when == "call":
            run.passed = report.passed
        elif report.when == "teardown" and not report.passed:
            run.passed = False

    def passed(self) -> dict[str, list[Run]]:
        """The runs that passed; tests without such a run are left out."""
        found = {test: [run for run in runs if run.passed] for test, runs in self.runs.items()}
        return {test: runs for test, runs in found.items() if runs}


def save(path: str, durations: Durations) -> None:
    """Writes the durations of the runs that passed, each as its phases in s. OSError: the file cannot be written."""
    tests = {
        test: [[round(run.seconds.get(phase, 0.0), 7) for phase in PHASES] for run in runs]
        for test, runs in sorted(durations.passed().items())
    }
    head = {"spartito_pytest": VERSION, "python": sys.version.split()[0], "host": os.uname().nodename, "phases": PHASES}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = ",\n".join(f"    {json.dumps(test)}: {json.dumps(runs)}" for test, runs in tests.items())
    write_whole(path, "{\n" + ",\n".join(lines) + ',\n  "tests": {\n' + rows + "\n  }\n}\n")


class Baseline:
    """The content of files that save() wrote: the call of each test in s, for each of its runs. origins: Python and host of
    each file."""

    def __init__(self, paths: Sequence[str]) -> None:
        """pytest.UsageError: a file cannot be read."""
        self.calls: dict[str, list[float]] = {}
        self.origins: set[tuple[str, str]] = set()
        for path in paths:
            try:
                self._add(json.loads(regular.content(path, MAX_SIZE)))
            except OSError as e:
                raise pytest.UsageError(f"--spartito-baseline: {path}: {reason(e)}") from None
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise pytest.UsageError(f"--spartito-baseline: {path} is not a file that --spartito-save wrote") from None

    def _add(self, content: dict[str, object]) -> None:
        if content["spartito_pytest"] != VERSION or not isinstance(content["tests"], dict):
            raise ValueError
        self.origins.add((str(content["python"]), str(content["host"])))
        for test, runs in content["tests"].items():
            for _, call, _ in runs:
                if not (math.isfinite(call) and call >= 0):
                    raise ValueError
                self.calls.setdefault(test, []).append(float(call))
