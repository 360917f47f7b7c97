# SPDX-License-Identifier: BSD-3-Clause
"""The part of pytest's terminal summary about --spartito: the slowest tests, where their time went, and fixtures."""

from __future__ import annotations

from shlex import quote
from statistics import fmean
from typing import TYPE_CHECKING

from spartito._analyse import Error
from spartito.base.messages import harmless
from spartito.base.text import Column, as_argument, count, name, percent, plain_table, plural, seconds
from spartito.pytest.profile import Profile

if TYPE_CHECKING:
    from pytest import TerminalReporter

    from spartito.pytest.durations import Run
    from spartito.pytest.session import Main

FIXTURES = 5  # rows of the table of fixtures
SHARE = 0.01  # a fixture with less of the time of all tests has no row
WAITED = 0.05  # smallest share of waiting in the time of a test for which the table shows it


def _tests(all_runs: dict[str, list[Run]], profile: Profile | None, top: int) -> list[str]:
    """The table of the first tests. Times are means over the runs of a test."""
    rows = list(all_runs.items())[:top]
    repeated = any(len(runs) > 1 for _, runs in rows)
    columns = [Column("total"), Column("call"), Column("fixtures"), *[Column("runs")] * repeated]
    if profile:
        columns += [Column("waiting"), Column("running")] if profile.split else [Column("self time")]
        columns += [Column("%"), Column("function with the most", left=True)]
    cells = []
    for test, runs in rows:
        total, call = fmean(run.total for run in runs), fmean(run.call for run in runs)
        cell = [seconds(total), seconds(call), seconds(total - call), *[count(len(runs))] * repeated]
        if profile:
            cell += _profiled(profile, test, len(runs), total)
        cells.append([*cell, name(test)])
    return plain_table([*columns, Column("test", left=True)], cells)


def _profiled(profile: Profile, test: str, runs: int, total: float) -> list[str]:
    """The cells of a test that come from the experiment: how long it waited and ran, and which part of that is in one function.
    Without off-CPU time the part is that of the total."""
    found = profile.tests.get(test)
    if not found or not found.function:
        return ["-"] * (4 if profile.split else 3)
    if profile.split:
        waits = found.waiting >= WAITED * (found.running + found.waiting)
        times = [seconds(found.waiting / runs) if waits else "", seconds(found.running / runs)]
        times.append(percent(found.longest, found.running))
    else:
        times = [seconds(found.longest / runs), percent(found.longest / runs, total)]
    return [*times, name(found.function)]


def _fixtures(profile: Profile, whole: float) -> list[str]:
    """The table of the fixtures that took the most time. whole: time of all tests in s."""
    rows = sorted(profile.fixtures.items(), key=lambda item: -item[1].total)
    rows = [(fixture, sums) for fixture, sums in rows if sums.total >= SHARE * whole][:FIXTURES]
    if not rows:
        return []
    columns = [Column("total"), Column("setup"), Column("teardown"), Column("setups"), Column("fixture", left=True)]
    cells = [[seconds(f.total), seconds(f.setup), seconds(f.teardown), count(f.setups), name(fixture)] for fixture, f in rows]
    return ["", *plain_table(columns, cells)]


def _results(all_runs: dict[str, list[Run]], profile: Profile | None, top: int) -> list[str]:
    """The tables, and a line about all tests."""
    runs = [run for those in all_runs.values() for run in those]
    total, call = sum(run.total for run in runs), sum(run.call for run in runs)
    text = f"{plural(len(all_runs), 'test')} took {seconds(total)}: calls {seconds(call)}, fixtures {seconds(total - call)}"
    lines = [text if runs else "no test ran"]
    if profile and profile.collection:
        lines[0] += f"; collection took {seconds(profile.collection)}"
    if runs:
        lines += ["", *_tests(all_runs, profile, top), *(_fixtures(profile, total) if profile else []), ""]
    return lines


def _experiment(main: Main, profile: Profile | None, slowest: str) -> list[str]:
    """Where the experiment is, and the command for the test with the most time. slowest: its name; "": no test ran."""
    place = as_argument(main.directory)
    command = f"spartito report tree {f'--match {quote(slowest)} ' if slowest else ''}{place}"
    if main.is_inner:
        note = ["--spartito-dir has no effect"] if main.config.getoption("--spartito-dir") else []
        return [
            f"this session is measured already, into {place}: each test is a region there",
            f"next: {command}, after the end of the measurement",
            *note,
        ]
    if not profile:
        return []
    more = [f"spartito report findings {place} shows the evidence of findings, and what to try"] if profile.findings else []
    return [
        *profile.findings,
        *more,
        *profile.preempted,
        *profile.losses,
        f"experiment: {place} ({plural(profile.processes, 'process')})",
        f"next: {command}",
    ]


def write(main: Main, reporter: TerminalReporter) -> None:
    profile, problems = None, main.problems.copy()
    all_runs = dict(sorted(main.durations.runs.items(), key=lambda item: -fmean(run.total for run in item[1])))
    if main.directory and not main.is_inner:
        try:
            profile = Profile(main.directory, set(all_runs), list(all_runs)[: main.top])
        except Error as e:
            problems.append(f"{main.directory} cannot be read: {e}")
    lines = _results(all_runs, profile, main.top)
    lines += [*problems, *_experiment(main, profile, next(iter(all_runs), "")), *main.verdict.notes]
    if main.save is not None:
        lines.append(f"durations: {as_argument(main.save)}")
    reporter.section("spartito")
    for line in lines:
        reporter.write_line(harmless(line))
    for line in main.verdict.exceeded:
        reporter.write_line(harmless(f"--spartito-fail-above: {line}"), red=True)
