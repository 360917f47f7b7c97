# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the MPI reports share: names of ranks, tables of limited length, and sentences about what a trace lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito._analyse import Error
from spartito.base.messages import Refused
from spartito.base.text import Column, Output, count, percent, plural, seconds
from spartito.experiments.naming import rank_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito._analyse import Model
    from spartito.report.protocol import Query

# Larger traces are read only by the reports of messages and waits: reading MAX_EVENTS takes seconds, MAX_REMARK_EVENTS a quarter of
# one.
MAX_EVENTS = 20_000_000  # for the numbers of messages in `spartito info`
MAX_REMARK_EVENTS = 2_000_000  # for the remarks in other reports
PATH = Column("call path", left=True, style="cyan")


class Ranks:
    """The names of processes by index; None: a process that was not measured."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.names = rank_names(info)

    def __getitem__(self, process: int | None) -> str:
        return "not measured" if process is None else self.names[process]


def from_trace(query: Query, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of find(), which reads the trace, with the names of ranks. Refused: there is no MPI or no trace, or it is
    damaged."""
    if not query.info["worlds"]:
        raise query.lacks("no MPI was recorded; this report is for programs that use MPI")
    if not query.info["traced"]:
        raise query.lacks("there is no trace, which this report reads: measure with --trace")
    try:
        found = find()
    except Error as e:
        raise Refused(str(e)) from None
    return {**found, "ranks": Ranks(query.info).names}


def limited(
    out: Output, columns: list[Column], rows: list[Any], cells: Callable[[Any], tuple[str, ...]], limit: int
) -> None:
    """Writes the first `limit` rows of a table (0: all), and how many more there are. cells: makes the cells of a row."""
    shown = rows[:limit] if limit else rows
    out.table(columns, [cells(row) for row in shown])
    if len(shown) < len(rows):
        out.line(f"… {count(len(rows) - len(shown))} more")


def clock_sentences(found: dict[str, Any]) -> list[str]:
    """Sentences about events that are in the wrong order because the clocks of processes differ."""
    lines = []
    if found["early"]:
        lines.append(
            f"{count(found['early'])} of {plural(found['messages'], 'message')} were received before they were sent, by up to "
            f"{seconds(found['early_worst'])}: the clocks of the processes do not agree better than that"
        )
    if found["early_operations"]:
        lines.append(
            f"in {count(found['early_operations'])} of {plural(found['operations'], 'collective operation')} a rank left "
            f"before a rank on which it depends entered, by up to {seconds(found['early_operations_worst'])}: "
            "the clocks of the processes do not agree better than that"
        )
    return lines


def missing_sentences(found: dict[str, Any]) -> list[str]:
    """Sentences about messages and collective operations that are not complete in the trace."""
    lines = []
    if found["unmatched_sends"] or found["unmatched_receives"]:
        lines.append(lost(found))
    if found["incomplete"]:
        lines.append(
            f"of {count(found['incomplete'])} of {plural(found['operations'], 'collective operation')} not all parts are "
            "recorded: a process ended early, recorded only at times, or lost events"
        )
    return lines


def check(model: Model, info: dict[str, Any]) -> dict[str, Any] | None:
    """The numbers of Model.messages(). None: there is no trace or no MPI, or reading it would take too long."""
    if not info["traced"] or info["events"] > MAX_EVENTS:
        return None
    try:
        found = model.messages(("comm",))
    except Error:
        return None
    del found["rows"], found["stacks"]
    return found


def lost(found: dict[str, Any]) -> str:
    """A sentence about sends without a receive and receives without a send."""
    sends, receives = found["unmatched_sends"], found["unmatched_receives"]
    if not sends and not receives:
        return "every message that was sent was received"
    text = f"no receive was found of {plural(sends, 'message')} and no send of {count(receives)}"
    if found["unmeasured"]:
        text += f" ({count(found['unmeasured'])} of these with processes that were not measured)"
    return text


def remarks(model: Model, info: dict[str, Any]) -> list[str]:
    """Remarks about MPI waits, incomplete messages and clocks for reports about other subjects. Empty for a large trace."""
    if not info["traced"] or info["events"] > MAX_REMARK_EVENTS:
        return []
    try:
        found = model.waits()
    except Error:
        return []
    lines = [*missing_sentences(found["found"]), *clock_sentences(found["found"])]
    waited = sum(row["time"] for row in found["rows"])
    busy = sum(loc["busy"] for loc in info["locations"])
    if waited:
        lines.append(
            f"{percent(waited, busy)} % of the time, {seconds(waited)}, was waiting for other ranks in MPI; "
            "`spartito report waits` shows where"
        )
    return lines
