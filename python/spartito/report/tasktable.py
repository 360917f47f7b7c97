# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report tasks`: how long asynchronous tasks ran and waited, and for what."""

from __future__ import annotations

from typing import Any

from spartito.base.text import Column, Output, count, name, plural, seconds
from spartito.experiments import contents
from spartito.report.protocol import Query, Report

# types of awaited objects that tables do not show, as they are the usual ones
OBVIOUS = {"_asyncio.Future", "Future", "_asyncio.FutureIter", ""}
WAITS = 3  # shown for a task
COLUMNS = (
    Column("tasks"),
    Column("steps", rank=1),
    Column("running"),
    Column("waiting"),
    Column("longest", rank=2),
    Column("ended", left=True, rank=1),
)
TASK_COLUMNS = (
    Column("waiting"),
    Column("running"),
    Column("steps", rank=2),
    Column("state", left=True, rank=1),
    Column("task", left=True, style="cyan"),
    Column("coroutine", left=True, rank=1),
    Column("waited for", left=True, rank=3),
)


def what(wait: dict[str, Any]) -> str:
    """What a task waited for: "asyncio.tasks:sleep", "__main__:main (Task)"."""
    kind = str(wait["what"] or "").rsplit(".", 1)[-1]
    where = name(wait["where"]) if wait["where"] else "(not known)"
    return where if kind in OBVIOUS else f"{where} ({kind})"


def _waits(row: dict[str, Any]) -> str:
    waits = [f"{seconds(w['time'])} {what(w)}" for w in sorted(row["waits"], key=lambda w: -float(w["time"]))[:WAITS]]
    more = len(row["waits"]) - WAITS
    return ", ".join(waits) + (f", {more} more" if more > 0 else "")


def _ended(states: dict[str, int]) -> str:
    others = [f"{n} {state}" for state, n in states.items() if state != "returned"]
    return ", ".join(others)


def notes(found: dict[str, Any]) -> list[str]:
    out = []
    if found["unlisted"]:
        out.append(
            f"{count(found['unlisted'])} of {plural(found['count'], 'task')} are in the sums alone: "
            "more than --task-limit lists one by one"
        )
    if found["never"]:
        out.append(f"{plural(found['never'], 'task')} created, but never begun")
    handed = found["handed"]
    if handed["given"]:
        out.append(
            f"{plural(handed['given'], 'call')} given to the threads of pools, {count(handed['taken'])} begun there, after "
            f"{seconds(handed['waited'])} in total, at most {seconds(handed['longest'])}"
        )
    return out


def _write_groups(out: Output, groups: list[dict[str, Any]], limit: int) -> None:
    rows = [
        (
            count(g["tasks"]),
            count(g["steps"]),
            seconds(g["running"]),
            seconds(g["waiting"]),
            seconds(g["longest"]) if g["tasks"] > g["unlisted"] else "",
            _ended(g["states"]),
            name(g["name"] or "(not known)"),
        )
        for g in groups
    ]
    out.table([*COLUMNS, Column("coroutine", left=True, style="cyan")], rows)
    out.line()
    sums: dict[tuple[str, str], list[Any]] = {}  # (what, coroutine): seconds, number of waits; objects of some types have one text
    for g in groups:
        for w in g["waits"]:
            row = sums.setdefault((what(w), name(g["name"] or "(not known)")), [0.0, 0])
            row[0] += w["time"]
            row[1] += w["count"]
    if not sums:
        return
    waits = sorted(sums.items(), key=lambda item: (-float(item[1][0]), item[0]))
    out.line("waited for", "bold")
    out.table(
        [Column("time"), Column("times"), Column("in", left=True), Column("by tasks of", left=True, style="cyan")],
        [(seconds(time), count(times), text, coroutine) for (text, coroutine), (time, times) in waits[: limit or None]],
    )
    out.line()


def _write_tasks(out: Output, tasks: list[dict[str, Any]]) -> None:
    out.line("tasks that waited longest", "bold")
    rows = [
        (
            seconds(t["waiting"]),
            seconds(t["running"]),
            count(t["steps"]),
            t["state"],
            name(t["name"] or f"number {t['number']}"),
            name(t["region"] or "(not known)"),
            _waits(t),
        )
        for t in tasks
    ]
    out.table(TASK_COLUMNS, rows)
    out.line()


class Tasks(Report):
    name = "tasks"

    def gather(self, query: Query) -> dict[str, Any]:
        found = query.model.tasks(limit=query.limit)
        if not found["count"] and not found["never"] and not found["handed"]["given"]:
            if contents.without_calls(query.info):
                raise query.lacks("no tasks were recorded: samples have none; a profile by calls has those of asyncio and trio")
            raise query.lacks("no tasks were recorded; those of asyncio and trio are, unless a filter leaves their coroutines out")
        found["notes"] = notes(found)
        return found

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        if found["groups"]:
            _write_groups(out, found["groups"], query.limit)
        if found["tasks"]:
            _write_tasks(out, found["tasks"])
        for note in found["notes"]:
            out.line(note)
        hidden = found["coroutines"] - len(found["groups"])
        if found["count"]:
            out.line(
                f"{plural(found['count'], 'task')} of {plural(found['coroutines'], 'coroutine')}"
                + (f", {hidden} not shown (--limit)" if hidden else "")
                + "; waiting: from the end of a step to the begin of the next, which includes waiting for the event loop"
            )
