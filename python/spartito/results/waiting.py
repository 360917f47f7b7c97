# SPDX-License-Identifier: BSD-3-Clause
"""The tables of waits (of threads, tasks and ranks) and of MPI messages."""

from __future__ import annotations

from spartito._analyse import Error
from spartito.base.messages import Refused
from spartito.experiments.naming import rank_number
from spartito.report import locktable, mpitable, mpiwaits
from spartito.report.waittables import awaits
from spartito.results.columns import Columns, of_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from spartito._analyse import Model

SEPARATOR = " > "  # between the regions of a call path, outermost first
WAIT = (
    ("waiter", "waiter", ""),
    ("kind", "kind", ""),
    ("object", "object", ""),
    ("process", "process", ""),
    ("location", "location", ""),
    ("region", "region", ""),
    ("call_path", "call_path", ""),
    ("file", "file", ""),
    ("line", "line", ""),
    ("waited_for", "waited_for", ""),
    ("waited_for_region", "waited_for_region", ""),
    ("count", "count", "waits"),
    ("time", "time", "s"),
    ("longest_time", "longest", "s"),
    ("unfinished", "open", ""),
)
MESSAGE = (
    ("from_process", "from", ""),
    ("to_process", "to", ""),
    ("from_rank", "from_rank", ""),
    ("to_rank", "to_rank", ""),
    ("communicator", "communicator", ""),
    ("region", "region", ""),
    ("call_path", "call_path", ""),
    ("messages", "messages", "messages"),
    ("bytes", "bytes", "B"),
    ("received", "received", "messages"),
    ("time", "time", "s"),
)
NOTHING = {"object": "", "file": None, "line": 0, "waited_for": None, "waited_for_region": None, "open": False}
NO_WAITS = "no waits were recorded; `spartito run --waits` records those of threads, and `--trace` those of MPI"
NO_TRACE = "the waits of MPI are missing: they need a trace, which `spartito run --trace` records"


def path_columns(stack: Sequence[str]) -> dict[str, str | None]:
    return {"region": stack[-1] if stack else None, "call_path": SEPARATOR.join(stack)}


def _of_threads(found: dict[str, Any], info: dict[str, Any]) -> list[dict[str, Any]]:
    names = locktable.Names(found, info)
    return [
        {
            **wait,
            **path_columns(wait["stack"]),
            "waiter": "thread",
            "object": names.of_lock(wait["lock"], wait["kind"]),
            "process": info["locations"][wait["location"]]["process"],
            "waited_for": wait["holder"],
            "waited_for_region": wait["holder_stack"][-1] if wait["holder_stack"] else None,
        }
        for wait in found["waits"]
    ]


def _of_tasks(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**NOTHING, **wait, **path_columns(wait["path"]), "waiter": "task", "object": wait["what"] or "", "location": None}
        for wait in awaits.rows(found)
    ]


def _of_ranks(found: dict[str, Any]) -> list[dict[str, Any]]:
    kinds = mpiwaits.kind_names(found["metrics"])
    return [
        {
            **NOTHING,
            **row,
            **path_columns(found["stacks"][row["path"]]),
            "waiter": "rank",
            "kind": kinds[row["kind"]],
            "waited_for": row["on_location"],
        }
        for row in found["rows"]
    ]


def waits(model: Model, info: dict[str, Any]) -> Columns:
    """The table of waits. Refused: no waits were recorded."""
    found = model.locks()
    rows, notes = [*_of_threads(found, info), *_of_tasks(found)], locktable.deadlocks(found, info)
    if not rows and not locktable.recorded(info) and not (info["worlds"] and info["traced"]):
        raise Refused(NO_WAITS)
    if info["worlds"] and info["traced"]:
        of_mpi = model.waits()
        rows += _of_ranks(of_mpi)
        notes += [*mpitable.missing_sentences(of_mpi["found"]), *mpitable.clock_sentences(of_mpi["found"])]
    elif info["worlds"]:
        notes.append(NO_TRACE)
    rows.sort(key=lambda row: -row["time"])
    return of_rows(rows, WAIT, notes)


def messages(model: Model, info: dict[str, Any]) -> Columns:
    """The table of MPI messages. Refused: there is no trace, or no MPI in it."""
    if not info["worlds"]:
        raise Refused("no MPI was recorded")
    if not info["traced"]:
        raise Refused("messages are read from a trace, which `spartito run --trace` records")
    try:
        found = model.messages(("all", "comm"))
    except Error as e:
        raise Refused(str(e)) from None
    communicators = {row["comm"]: row["name"] or f"number {row['comm']}" for row in found["rows"]["comm"]}
    ranks = [rank_number(info, i) for i in range(len(info["processes"]))]
    rows = [
        {
            **row,
            **path_columns(found["stacks"][row["path"]]),
            "communicator": communicators[row["comm"]],
            "from_rank": None if row["from"] is None else ranks[row["from"]],
            "to_rank": None if row["to"] is None else ranks[row["to"]],
        }
        for row in found["rows"]["all"]
    ]
    return of_rows(rows, MESSAGE, [*mpitable.missing_sentences(found), *mpitable.clock_sentences(found)])
