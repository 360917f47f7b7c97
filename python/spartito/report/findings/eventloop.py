# SPDX-License-Identifier: BSD-3-Clause
"""The finding that a step of a task, or another callback, blocks its event loop."""

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
ROUNDED = 0.999  # times of tasks and of functions are read from the clock one after the other
INNER = 0.5  # a callee with this share of the time of the steps is shown as what blocks
ONCE = "asyncio.base_events:BaseEventLoop._run_once"  # an iteration of the loop: waits for events, and calls what is ready
HANDLE = "asyncio.events:Handle._run"  # calls a callback; steps of tasks are callbacks, too
CONTEXT = "<method 'run' of '_contextvars.Context' objects>"  # between them with --c-calls


def _creators(tasks: dict[int, dict[str, Any]], task: dict[str, Any]) -> set[int]:
    """The ids of the creator of a task, its creator, and so on."""
    found: set[int] = set()
    at = task["creator"]
    while at is not None and at not in found:
        found.add(at)
        at = tasks[at]["creator"] if at in tasks else None
    return found


def _delayed(tasks: list[dict[str, Any]], region: str, longest: float) -> int:
    """The least number of other tasks that existed in the longest step of the tasks of the coroutine `region`, which took `longest`
    s, for BLOCKING at least. When and in which task that was is not recorded: but a step that does not fit into the time without
    the other task was in the time with it. Those that created the blocking task do not count, as they may wait for it."""
    known = {task["id"]: task for task in tasks}
    numbers = []
    for task in tasks:
        if task["region"] != region or task["running"] < longest * ROUNDED:
            continue
        others, creators = 0, _creators(known, task)
        for other in tasks:
            if other["location"] == task["location"] and other is not task and other["id"] not in creators:
                both = min(task["end"], other["end"]) - max(task["begin"], other["created"])
                without = task["end"] - task["begin"] - max(0.0, both)
                others += longest - without >= thresholds.BLOCKING
        numbers.append(others)
    return min(numbers, default=0)


def _all_listed(tasks: list[dict[str, Any]], rows: list[dict[str, Any]], region: str) -> bool:
    """Whether all steps of the coroutine `region` are those of the listed tasks. Otherwise its longest step may be in a task that
    is not listed, or below a coroutine that a filter left out."""
    listed = sum(task["running"] for task in tasks if task["region"] == region)
    return bool(listed >= ROUNDED * sum(row["incl"] for row in rows if row["name"] == region))


def _calls_back(row: dict[str, Any] | None) -> bool:
    """Whether the functions that a row calls are callbacks of asyncio."""
    if row is not None and row["qualname"] == CONTEXT:
        row = row["caller"]
    return row is not None and row["name"] == HANDLE


def _callback(row: dict[str, Any]) -> bool:
    """Whether a row of Run.paths is a callback of asyncio. Steps of tasks in Python, not C, are below methods of asyncio's Task."""
    task = row["module"] == "asyncio.tasks" and row["qualname"].startswith("Task.")
    return _calls_back(row["caller"]) and row["qualname"] != CONTEXT and not task


def _independent(tasks: list[dict[str, Any]]) -> float:
    """The time in s in which at least INDEPENDENT of the tasks existed that had not created another one which existed, too."""
    events = [(task[key], step, task) for task in tasks for key, step in (("created", 1), ("end", -1))]
    events.sort(key=lambda event: (event[0], -event[1]))
    alive: set[int] = set()
    children: dict[int | None, int] = {}
    number, since, total = 0, 0.0, 0.0
    for time, step, task in events:
        if number >= thresholds.INDEPENDENT:
            total += time - since
        since = time
        own, creator = task["id"], task["creator"]
        (alive.add if step > 0 else alive.remove)(own)
        number += step if not children.get(own) else 0
        before = children.get(creator, 0)
        children[creator] = before + step
        if creator in alive and 0 in (before, before + step):
            number -= step
    return total


def _delaying(run: Run, tasks: list[dict[str, Any]]) -> dict[int, float]:
    """For each call path, the least time in s of it, if it is a callback, in which its event loop had independent tasks. When each
    call was is not recorded: but what does not fit into the time of the loop without such tasks was in the time with them."""
    least: dict[int, float] = {}
    for location in {task["location"] for task in tasks}:
        of_loop = [task for task in tasks if task["location"] == location]
        loop = sum(row["incl"] for row in run.model.flat(location=location, match=ONCE) if row["name"] == ONCE)
        # a loop that stops while it has tasks has them for longer than it runs
        span = max(loop, max(task["end"] for task in of_loop) - min(task["created"] for task in of_loop))
        without = span - _independent(of_loop)
        for row in run.model.tree(location=location, threshold=thresholds.PATH_SHARE):
            least[row["path"]] = least.get(row["path"], 0.0) + max(0.0, row["incl"] - without)
    return least


def _within(run: Run, row: dict[str, Any]) -> list[dict[str, Any]]:
    """A row and those below it with at least the share INNER of its time, innermost last."""
    rows = [row]
    for other in run.paths:
        if other["caller"] is rows[-1] and other["incl"] >= INNER * row["incl"]:
            rows.append(other)
    return rows


def blocking(run: Run) -> list[Finding]:
    """Coroutines with a step of at least BLOCKING, and other callbacks as long, while their event loop had other tasks. Error:
    there are too many tasks."""
    known = run.model.tasks(limit=COROUTINES)
    coroutines = {group["name"] for group in known["groups"]}
    complete = known["coroutines"] <= COROUTINES  # otherwise, a callback may be a coroutine
    every = run.outermost(lambda row: row["name"] in coroutines or (complete and _callback(row)))
    rows = [row for row in every if row["max"] >= thresholds.BLOCKING and run.of_threads(row["incl"]).enough]
    if not rows:
        return []
    if known["count"] > MAX_TASKS:
        raise Error(f"event loops: there are more than {count(MAX_TASKS)} tasks; spartito report tasks shows their times")
    tasks = [task for task in run.model.tasks()["tasks"] if task["begin"] is not None]
    for task in tasks:
        if task["end"] is None:
            task["end"] = run.info["end"] - run.info["begin"]
    delaying: dict[int, float] | None = None
    found = []
    for row in rows:
        within = _within(run, row)
        inner = within[-1]
        if row["name"] in coroutines:
            others = _delayed(tasks, row["name"], row["max"]) if _all_listed(tasks, every, row["name"]) else 0
            if others < 1:
                continue  # it delays no task that is known
            what = f"{plural(row['visits'] + row['resumed'], 'step')} of {place(row)}"
            delayed = f"the event loop had {plural(others, 'other task')} then, which could not run during a step"
            by_parts, command = "divide the computation by await asyncio.sleep(0)", run.report("tasks")
        else:
            # asyncio's own callbacks call those of the program
            row = next((r for r in within if r["category"] == "own" and r["max"] >= thresholds.BLOCKING), row)
            delaying = _delaying(run, tasks) if delaying is None else delaying
            time = delaying.get(row["path"], 0.0)
            if time < thresholds.BLOCKING:
                continue
            what = f"{plural(row['visits'], 'call')} of {place(row)} in a callback of the event loop"
            tasks_then = f"{thresholds.INDEPENDENT} or more tasks, which could not run"
            delayed = f"for at least {seconds(time)} of it the event loop had {tasks_then}"
            by_parts, command = "compute a part in each of several callbacks", run.report("callers", name(row["name"]))
        evidence = [f"{what}: {seconds(row['incl'])} in total, the longest {seconds(row['max'])}", delayed]
        if inner is not row:
            evidence.append(f"{seconds(inner['incl'])} of it in {place(inner)}")
        title = f"{name(row['name'])} blocked its event loop for up to {seconds(row['max'])}"
        advice = (
            "move the blocking part into a thread or process (asyncio.to_thread, run_in_executor), use an asynchronous library, "
            f"or {by_parts}"
        )
        gain = run.of_threads(row["incl"])
        found.append(Finding("event-loop", title, gain, evidence, advice, command, inner, inner["stack"]))
    return found
