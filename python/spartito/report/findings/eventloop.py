# SPDX-License-Identifier: BSD-3-Clause
"""The finding that a step of a task blocks its event loop."""

from __future__ import annotations

from spartito._analyse import Error
from spartito.base.text import count, name, plural, seconds
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

COROUTINES = 1_000  # that are searched, those with the most time
MAX_TASKS = 10_000  # more are not compared: it would take seconds
INNER = 0.5  # a callee with this share of the time of the steps is shown as what blocks


def _delayed(tasks: list[dict[str, Any]], region: str) -> int:
    """The largest number of other tasks that a blocking task of the coroutine `region` delayed, whichever step blocked: those that
    its thread had from its begin to its end. Its creator does not count, as it may wait for the task."""
    most = 0
    for task in tasks:
        if task["region"] == region and task["running"] >= thresholds.BLOCKING:
            others = [
                other
                for other in tasks
                if other["location"] == task["location"]
                and other["id"] not in (task["id"], task["creator"])
                and other["created"] <= task["begin"]
                and other["end"] >= task["end"]
            ]
            most = max(most, len(others))
    return most


def _innermost(run: Run, row: dict[str, Any]) -> dict[str, Any]:
    """The innermost row below a row with at least the share INNER of its time."""
    below = row
    for other in run.paths:
        if other["caller"] is below and other["incl"] >= INNER * row["incl"]:
            below = other
    return below


def blocking(run: Run) -> list[Finding]:
    """Coroutines with a step of at least BLOCKING, while their event loop had other tasks. Error: there are too many tasks."""
    known = run.model.tasks(limit=COROUTINES)
    coroutines = {group["name"] for group in known["groups"]}
    rows = run.outermost(lambda row: row["name"] in coroutines)
    rows = [row for row in rows if row["max"] >= thresholds.BLOCKING and run.of_threads(row["incl"]).enough]
    if not rows:
        return []
    if known["count"] > MAX_TASKS:
        raise Error(f"event loops: there are more than {count(MAX_TASKS)} tasks; spartito report tasks shows their times")
    tasks = [task for task in run.model.tasks()["tasks"] if task["begin"] is not None and task["end"] is not None]
    found = []
    for row in rows:
        others = _delayed(tasks, row["name"])
        if others < 1:
            continue  # it delays no task that is known
        inner = _innermost(run, row)
        evidence = [
            f"{count(row['visits'] + row['resumed'])} steps of {place(row)}: {seconds(row['incl'])} in total, "
            f"the longest {seconds(row['max'])}",
            f"the event loop had {plural(others, 'other task')} all that time, which could not run during a step",
        ]
        if inner is not row:
            evidence.append(f"{seconds(inner['incl'])} of it in {place(inner)}")
        title = f"{name(row['name'])} blocked its event loop for up to {seconds(row['max'])}"
        advice = (
            "move the blocking part into a thread or process (asyncio.to_thread, run_in_executor), use an asynchronous library, "
            "or divide the computation by await asyncio.sleep(0)"
        )
        gain = run.of_threads(row["incl"])
        found.append(Finding("event-loop", title, gain, evidence, advice, run.report("tasks"), inner, inner["stack"]))
    return found
