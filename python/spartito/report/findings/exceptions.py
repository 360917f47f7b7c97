# SPDX-License-Identifier: BSD-3-Clause
"""The finding that exceptions end calls of a function very often."""

from __future__ import annotations

from spartito.base.text import count, name, seconds
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

ADVICE = (
    "return a value such as None where the caller expects the failure, test the condition before the call, or put the loop into "
    "the try statement instead of the try statement into the loop"
)


def _ended(run: Run) -> dict[int, int]:
    """{call path: number of its calls that an exception ended}."""
    found: dict[int, int] = {}
    for row in run.model.tallies()["rows"]:
        if row["what"] == "exception":
            found[row["path"]] = found.get(row["path"], 0) + row["count"]
    return found


def _left(run: Run, ended: dict[int, int], outermost: dict[str, Any]) -> list[tuple[dict[str, Any], float]]:
    """The call paths from `outermost` on whose callers exceptions ended, too: (row of Run.paths, exclusive running
    time of those calls)."""
    inside = {outermost["path"]}
    found = []
    for row in run.paths:
        below = row["path"] in inside or (row["caller"] is not None and row["caller"]["path"] in inside)
        if below and row["path"] in ended and row["visits"]:
            inside.add(row["path"])
            found.append((row, row["running"] * min(1.0, ended[row["path"]] / row["visits"])))
    return found


def exceptions(run: Run) -> list[Finding]:
    """Functions that exceptions ended very often, without ending as many calls of their caller."""
    if any(p["meta"].get("hook") == "setprofile" for p in run.info["processes"]):
        return []  # it does not see exceptions that end a generator, so that its caller might seem to have caught them
    ended = _ended(run)
    found = []
    for row in run.paths:
        number, caller = ended.get(row["path"], 0), row["caller"]
        caught = number - (ended.get(caller["path"], 0) if caller is not None else 0)
        if caller is None or caller["kind"] != "python" or caught < thresholds.EXCEPTIONS:
            continue  # calls of C functions and regions that an exception ends are not counted
        rows = _left(run, ended, row)
        gain = run.of_work(sum(time for _, time in rows))
        if not gain.enough:
            continue
        evidence = [
            f"exceptions ended {count(number)} of {count(row['visits'])} calls of {place(row)}; "
            f"at least {count(caught)} of them ended no call of {place(caller)}"
        ]
        evidence += [
            f"{seconds(time)} exclusive time in {count(ended[one['path']])} calls of {place(one)} that they ended"
            for one, time in rows
        ]
        title = f"{name(row['name'])} ends with an exception {count(number)} times, called from {name(caller['name'])}"
        command = run.report("callers", row["name"])
        found.append(Finding("exceptions", title, gain, evidence, ADVICE, command, row, row["stack"]))
    return found
