# SPDX-License-Identifier: BSD-3-Clause
"""Compares the durations of a session with a baseline, and decides for --spartito-fail-above.

The call of each test is compared, without fixtures: which test sets up a fixture of a wider scope depends on their order."""

from __future__ import annotations

import os
import statistics
import sys
from typing import TYPE_CHECKING

from spartito._analyse import welch
from spartito.base.text import count, name, plural, seconds
from spartito.compare.difference import CERTAIN, more

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spartito.pytest.durations import Baseline, Durations

LEAST = 0.01  # s; a test with shorter calls on both sides is not judged
MAX_NAMES = 5  # tests named in one sentence
MAX_LINES = 20


class Change:
    """A test before and now: the mean of its runs in s. p: of Welch's t-test, corrected by Holm's method; None: a side has one
    run."""

    def __init__(self, test: str, before: Sequence[float], now: Sequence[float]) -> None:
        self.test = test
        self.before, self.now = statistics.fmean(before), statistics.fmean(now)
        self.sides = (*_side(before), *_side(now))
        self.p: float | None = None

    @property
    def judged(self) -> bool:
        return max(self.before, self.now) >= LEAST

    @property
    def percent(self) -> float:
        return 100 * (self.now / self.before - 1) if self.before > 0 else float("inf")

    def sentence(self) -> str:
        grown = more(self.percent) if self.before > 0 else "more"
        return f"{name(self.test)} took {grown} ({seconds(self.before)} → {seconds(self.now)})"


def _side(runs: Sequence[float]) -> tuple[float, float, int]:
    return statistics.fmean(runs), statistics.variance(runs) if len(runs) > 1 else 0.0, len(runs)


class Verdict:
    """exceeded: a sentence for each test, and for all together, above the limit. notes: sentences about what was compared."""

    def __init__(self, exceeded: Sequence[str] = (), notes: Sequence[str] = ()) -> None:
        self.exceeded = list(exceeded)
        self.notes = list(notes)


def _named(tests: Iterable[str], one: str, many: str) -> list[str]:
    """A sentence about tests; none without tests."""
    tests = sorted(tests)
    if not tests:
        return []
    shown = ", ".join(map(name, tests[:MAX_NAMES]))
    rest = f" and {count(len(tests) - MAX_NAMES)} more" if len(tests) > MAX_NAMES else ""
    return [f"{plural(len(tests), 'test')} {one if len(tests) == 1 else many}: {shown}{rest}"]


def _origin(baseline: Baseline) -> list[str]:
    here = sys.version.split()[0], os.uname().nodename
    return [
        f"the baseline is of Python {python} on {name(host)}, this session of Python {here[0]} on {here[1]}"
        for python, host in sorted(baseline.origins)
        if (python, host) != here
    ]


def _limited(changes: list[Change], limit: float) -> tuple[list[str], list[str]]:
    """The sentences about tests above the limit, and those about doubts."""
    above = sorted((c for c in changes if c.percent > limit), key=lambda c: c.before - c.now)
    exceeded = [f"{c.sentence()}, above {limit:g} %" for c in above if c.p is None or c.p < CERTAIN]
    doubts = [f"{c.sentence()}, within the noise (p = {c.p:.2g})" for c in above if c.p is not None and c.p >= CERTAIN]
    if any(c.p is None for c in above):
        doubts.append("with one run of a test the noise is not known: repeat the tests, and give --spartito-baseline several times")
    return exceeded, doubts[:MAX_LINES]


def judge(baseline: Baseline, durations: Durations, limit: float | None) -> Verdict:
    """limit: of --spartito-fail-above, in percent; None: without."""
    now = {test: [run.call for run in runs] for test, runs in durations.passed().items()}
    both = [Change(test, baseline.calls[test], now[test]) for test in sorted(now) if test in baseline.calls]
    changes = [c for c in both if c.judged]
    for c, p in zip(changes, welch([c.sides for c in changes])):
        c.p = p
    notes = []
    if both:
        sums = [sum(c.before for c in both)], [sum(c.now for c in both)]
        every = Change(f"the calls of {plural(len(both), 'compared test')}", *sums)
        notes.append(every.sentence())
        if len(both) > 1 and every.judged:
            changes.append(every)
    exceeded, doubts = _limited(changes, limit) if limit is not None else ([], [])
    ran = baseline.calls.keys() & durations.runs.keys()
    notes += [
        *doubts,
        *_named(now.keys() - baseline.calls.keys(), "is new, not in the baseline", "are new, not in the baseline"),
        *_named(baseline.calls.keys() - durations.runs.keys(), "of the baseline did not run", "of the baseline did not run"),
        *_named(ran - now.keys(), "of the baseline did not pass", "of the baseline did not pass"),
    ]
    small = sum(not c.judged for c in both)
    if small and limit is not None:
        notes.append(f"{plural(small, 'test')} below {seconds(LEAST)} not judged one by one")
    return Verdict(exceeded, [*notes, *_origin(baseline)])
