# SPDX-License-Identifier: BSD-3-Clause
"""A measured test session: who measures what. Without pytest-xdist, the process measures itself. With it, the controller makes the
experiment and each worker measures itself into it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from spartito import _measure
from spartito.base.messages import Refused, complain, reason
from spartito.experiments import rundir
from spartito.pytest.durations import Baseline, Durations, save
from spartito.pytest.recorder import Recorder
from spartito.pytest.regions import Regions
from spartito.pytest.verdict import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest import Config, TerminalReporter, TestReport

KEY = "spartito"  # in workerinput: the experiment; in workeroutput: why the worker is not measured, or ""


def begin(config: Config, top: int) -> None:
    """Registers the hooks of this process. top: number of tests to show. pytest.UsageError: a baseline cannot be read, or a
    file cannot be written."""
    given = getattr(config, "workerinput", None)
    if given is None:
        config.pluginmanager.register(Main(config, top), "spartito-session")
    elif KEY in given:
        config.pluginmanager.register(Worker(config, given[KEY]), "spartito-session")


def _regions(config: Config, directory: str, refused: Callable[[str], None] | None = None) -> Regions:
    regions = Regions(Recorder(directory, own=not _measure.active()), str(config.rootpath), refused)
    config.pluginmanager.register(regions, "spartito-regions")
    return regions


class Worker:
    """The hooks of a worker of pytest-xdist."""

    def __init__(self, config: Any, directory: str) -> None:
        self._config = config
        self._recorder = _regions(config, directory).recorder

    def pytest_sessionfinish(self) -> None:
        self._config.workeroutput[KEY] = self._recorder.problem


class Main:
    """The hooks of a process that shows the results: that of the tests, or the controller of pytest-xdist.

    directory: of the experiment; "": no experiment. problems: sentences about what is not measured."""

    def __init__(self, config: Config, top: int) -> None:
        self.config = config
        self.top = top
        self.durations = Durations()
        self.directory = ""
        self.problems: list[str] = []
        self.verdict = Verdict()
        self.save: str | None = config.getoption("--spartito-save")
        if self.save is not None:
            self.save = os.path.abspath(self.save)
            if os.path.isdir(self.save) or not os.path.isdir(os.path.dirname(self.save)):
                raise pytest.UsageError(f"--spartito-save: {self.save} is not a file in an existing directory")
        baselines: list[str] | None = config.getoption("--spartito-baseline")
        self._baseline = Baseline(baselines) if baselines else None
        self._made: rundir.Directory | None = None
        self._regions: Regions | None = None

    @property
    def is_inner(self) -> bool:
        """Whether the session was measured already when it began."""
        return bool(self.directory) and not self._made

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """pytest.UsageError: the experiment cannot be created."""
        if _measure.active():
            self.directory = _measure.experiment() or ""
        else:
            command = ["pytest", *map(str, self.config.invocation_params.args)]
            try:
                self._made = rundir.create(self.config.getoption("--spartito-dir") or "", command, launched=False)
            except Refused as e:
                raise pytest.UsageError(f"--spartito: {e}") from None
            self.directory = self._made.path
        self._regions = _regions(self.config, self.directory, self._refused)

    def _refused(self, why: str) -> None:
        assert self._made
        self._made.remove()
        raise pytest.UsageError(f"--spartito: the session cannot be measured: {why}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """pytest-xdist starts a worker: this process is the controller, and runs no tests."""
        if self._regions:
            self.config.pluginmanager.unregister(self._regions)
            self._regions = None
        node.workerinput[KEY] = self.directory

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        why = getattr(node, "workeroutput", {}).get(KEY)
        if why:
            self.problems.append(f"{node.gateway.id} is not measured: {why}")

    def pytest_runtest_logreport(self, report: TestReport) -> None:
        self.durations.add(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._regions and self._regions.recorder.problem:
            self.problems.append(f"the measurement ended early: {self._regions.recorder.problem}")
        if self._baseline:
            self.verdict = judge(self._baseline, self.durations, self.config.getoption("--spartito-fail-above"))
            if self.verdict.exceeded and exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.save is not None:
            try:
                save(self.save, self.durations)
            except OSError as e:
                self.problems.append(f"--spartito-save: {self.save} cannot be written: {reason(e)}")
                self.save = None
        if not self.config.pluginmanager.hasplugin("terminalreporter"):  # with it, pytest_terminal_summary shows them
            for line in self.verdict.exceeded:
                complain(f"--spartito-fail-above: {line}")
        if self._made:
            self._finish(self._made, int(session.exitstatus))

    def _finish(self, made: rundir.Directory, status: int) -> None:
        if not rundir.Found(made.path).files:
            made.remove()
            self.directory = ""
            return
        try:
            made.describe(status << 8)
        except OSError as e:
            self.problems.append(f"the end of the session is not recorded in experiment.json: {reason(e)}")

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        from spartito.pytest import summary

        summary.write(self, terminalreporter)
