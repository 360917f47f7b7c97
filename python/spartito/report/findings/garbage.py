# SPDX-License-Identifier: BSD-3-Clause
"""The finding that garbage collections took long."""

from __future__ import annotations

from spartito.base.text import count, plural, seconds
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

ADVICE = (
    "gc.freeze() after the start of the program, a higher threshold (gc.set_threshold()), fewer lists, dictionaries and objects "
    "that are kept at the same time, or gc.disable() while large data are built"
)


def _sums(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Rows of Model.tallies() with equal values of a key added together, those with the most time first."""
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        of_key = found.setdefault(row[key], {**row, "count": 0, "time": 0.0, "objects": 0})
        for number in ("count", "time", "objects"):
            of_key[number] += row[number]
    return sorted(found.values(), key=lambda row: -float(row["time"]))


def collections(run: Run) -> list[Finding]:
    """The garbage collections of the program's functions. Those at the end of the interpreter are in no function."""
    tallies = run.model.tallies()
    rows = [row for row in tallies["rows"] if row["what"] == "collection" and row["path"]]
    gain = run.of_work(sum(row["time"] for row in rows))
    if not gain.enough:
        return []
    evidence = [
        f"generation {row['generation']}: {plural(row['count'], 'collection')} in {seconds(row['time'])} "
        f"found {plural(row['objects'], 'unreachable object')}"
        for row in _sums(rows, "generation")
    ]
    by_path = _sums(rows, "path")
    evidence += [
        f"{seconds(row['time'])} in {plural(row['count'], 'collection')} while this ran: {place(row)}"
        for row in by_path[: thresholds.COLLECTORS]
    ]
    first = by_path[0]
    title = f"garbage collections took {seconds(gain.amount)}: {count(sum(row['count'] for row in rows))} of them"
    stack = tallies["stacks"][first["path"]]
    return [Finding("garbage-collection", title, gain, evidence, ADVICE, run.report("callers", first["name"]), first, stack)]
