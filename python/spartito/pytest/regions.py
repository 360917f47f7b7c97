# SPDX-License-Identifier: BSD-3-Clause
"""The hooks in a process that runs tests: a region for the collection, each test, its phases and its fixtures."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pytest import FixtureDef, Item, TestReport

    from spartito.pytest.recorder import Recorder, Region

NAME = "spartito_test"  # attribute of a report: the name of the test's region
COLLECTION = "collection"
FIXTURE, TEARDOWN = "fixture ", " teardown"  # begin and end of the names of regions


def fixture_name(fixture: FixtureDef[Any], rootdir: str) -> tuple[str, str | None, int]:
    """Name, file and line of a fixture's region: "fixture tests/conftest.py::database (session)"."""
    function = fixture.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    file = code.co_filename if code else None
    where = getattr(function, "__module__", None) or "unknown"
    if file and file.startswith(rootdir + os.sep):
        where = os.path.relpath(file, rootdir)
    scope = "" if fixture.scope == "function" else f" ({fixture.scope})"
    return f"{FIXTURE}{where}::{fixture.argname}{scope}", file, code.co_firstlineno if code else 0


def test_name(item: Item) -> str:
    """The name of a test's region: its node id. pytest-repeat makes a test of each repetition; these have the same name."""
    step = getattr(getattr(item, "callspec", None), "params", {}).get("__pytest_repeat_step_number")
    if step is None:
        return item.nodeid
    start, _, values = item.nodeid.partition("[")
    parts = values.removesuffix("]").split("-")
    for i in range(len(parts) - 2, -1, -1):  # the last one: other values are before it
        if parts[i] == str(step + 1) and parts[i + 1].isdigit():
            del parts[i : i + 2]
            return f"{start}[{'-'.join(parts)}]" if parts else start
    return item.nodeid


class Regions:
    """rootdir: of pytest; files below it are named relative to it. refused: called with the reason if the measurement cannot
    begin."""

    def __init__(self, recorder: Recorder, rootdir: str, refused: Callable[[str], None] | None) -> None:
        self.recorder = recorder
        self._rootdir = rootdir
        self._refused = refused

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        self.recorder.begin()
        if self.recorder.problem and self._refused:
            self._refused(self.recorder.problem)
        __tracebackhide__ = True
        with self.recorder.region(COLLECTION):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Item) -> Generator[None, object, object]:
        _, line, _ = item.location
        __tracebackhide__ = True
        with self.recorder.region(test_name(item), str(item.path), (line or 0) + 1):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        __tracebackhide__ = True
        with self.recorder.region("setup"):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        __tracebackhide__ = True
        with self.recorder.region("call"):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        __tracebackhide__ = True
        with self.recorder.region("teardown"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Item) -> Generator[None, TestReport, TestReport]:
        report = yield
        setattr(report, NAME, test_name(item))  # pytest-xdist sends it to the controller
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: FixtureDef[Any]) -> Generator[None, object, object]:
        name, file, line = fixture_name(fixturedef, self._rootdir)
        teardown = Teardown(self.recorder.region(name + TEARDOWN, file, line))
        # pytest calls the finalizers in reverse order: the fixture's own ones are between these two
        fixturedef.addfinalizer(teardown.end)
        __tracebackhide__ = True
        with self.recorder.region(name, file, line):
            try:
                return (yield)
            finally:
                fixturedef.addfinalizer(teardown.begin)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self.recorder.stop()


class Teardown:
    """The finalizers of a fixture around those of the program."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def begin(self) -> None:
        self._region.__enter__()

    def end(self) -> None:
        self._region.__exit__(None, None, None)
