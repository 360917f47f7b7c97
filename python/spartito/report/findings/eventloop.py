# SPDX-License-Identifier: BSD-3-Clause
"""The finding that a step of a task or a callback blocks the event loop of asyncio."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from spartito.base.text import count, name, plural, seconds
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

STEP = "asyncio.events:Handle._run"  # runs one callback or one step of a task
INNER = 0.5  # a callee with this share of the time of the step is shown as what blocks


def _delayed(tasks: list[dict[str, Any]], region: str) -> int:
    """The largest number of other tasks that a task of the coroutine `region` may have delayed: those that its thread ran in its
    lifetime. Its creator does not count, as it may wait for the task."""
    by_id = {task["id"]: task for task in tasks}
    lives: dict[int, tuple[list[float], list[float]]] = {}
    for task in tasks:
        begins, ends = lives.setdefault(task["location"], ([], []))
        begins.append(task["begin"])
        ends.append(task["end"])
    for begins, ends in lives.values():
        begins.sort()
        ends.sort()

    def others(task: dict[str, Any]) -> int:
        begins, ends = lives[task["location"]]
        creator = by_id.get(task["creator"])
        beside = creator is not None and creator["location"] == task["location"] and creator["end"] > task["begin"]
        return bisect_left(begins, task["end"]) - bisect_right(ends, task["begin"]) - 1 - beside

    return max((others(task) for task in tasks if task["region"] == region), default=0)


def _innermost(run: Run, row: dict[str, Any]) -> dict[str, Any]:
    """The innermost row below a row with at least the share INNER of its time."""
    below = row
    for other in run.paths:
        if other["caller"] is below and other["incl"] >= INNER * row["incl"]:
            below = other
    return below


def blocking(run: Run) -> list[Finding]:
    """Coroutines with a step of at least BLOCKING, while their event loop had other tasks."""
    steps = [row for row in run.paths if row["caller"] is not None and row["caller"]["name"] == STEP]
    steps = [row for row in steps if row["max"] >= thresholds.BLOCKING and run.of_threads(row["incl"]).enough]
    if not steps:
        return []
    tasks = [task for task in run.model.tasks()["tasks"] if task["begin"] is not None and task["end"] is not None]
    found = []
    for row in steps:
        others = _delayed(tasks, row["name"])
        if others < 1:
            continue  # a callback, or the only task of the loop: it delays no task that is known
        inner = _innermost(run, row)
        evidence = [
            f"{count(row['visits'] + row['resumed'])} steps of {place(row)}: {seconds(row['incl'])} in total, "
            f"the longest {seconds(row['max'])}",
            f"{plural(others, 'other task')} of the same event loop began before it ended, and could not run during a step",
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
