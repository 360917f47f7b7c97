# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report tree`: the call tree, callers above what they call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.experiments import contents
from spartito.report import calltable, memorytable
from spartito.report.callreport import CallReport

if TYPE_CHECKING:
    from spartito.base.text import Output
    from spartito.report.parts import Part
    from spartito.report.protocol import Query

THRESHOLD = 1.0  # percent


def _below(rows: list[dict[str, Any]], match: str) -> list[dict[str, Any]]:
    """The outermost call paths that match, with those below them. rows: the whole tree."""
    from spartito._analyse import name_matches

    found: list[dict[str, Any]] = []
    top = -1  # depth of the matching path above the current row; -1: no path above matches
    for row in rows:
        if top < 0 or row["depth"] <= top:
            top = row["depth"] if name_matches(match, row["name"], row["module"], row["file"]) else -1
            if top >= 0:
                row = {**row, "parent": None}
        if top >= 0:
            found.append({**row, "depth": row["depth"] - top})
    return found


def _running(rows: list[dict[str, Any]]) -> float:
    """Inclusive running time in s of the outermost call paths; without a split all their time."""
    return float(sum(row["hidden_running"] if row["kind"] == "root" else row["running_incl"] for row in rows if row["depth"] == 0))


def _large(rows: list[dict[str, Any]], depth: int, threshold: float, limit: int) -> list[dict[str, Any]]:
    """The rows as Model.tree() selects them. threshold: share of the running time of all (0 to 1)."""
    least = threshold * _running(rows)
    first = sorted(range(len(rows)), key=lambda i: -rows[i]["incl"])[: limit or len(rows)]
    large = {i for i in first if rows[i]["incl"] >= least and (not depth or rows[i]["depth"] < depth)}
    root = calltable.root(rows[0], 0, 0.0) if rows else {}
    shown: list[dict[str, Any]] = []
    above: list[tuple[dict[str, Any], bool]] = [(root, True)]  # of each depth: the last row that is shown; whether all are
    for i, row in enumerate(rows):
        del above[row["depth"] + 1 :]
        caller, is_shown = above[-1]
        if i in large and is_shown:
            caller = {**row, "hidden": 0, "hidden_time": 0.0, "hidden_running": 0.0, "hidden_waiting": 0.0}
            shown.append(caller)
        else:
            caller["hidden"] += 1
            if is_shown:
                caller["hidden_time"] += row["incl"]
                caller["hidden_running"] += row["running_incl"]
                caller["hidden_waiting"] += row["waiting_incl"]
            is_shown = False
        above.append((caller, is_shown))
    return [root, *shown] if root and root["hidden"] else shown


class Tree(CallReport):
    name = "tree"

    def rows(self, query: Query, part: Part) -> list[dict[str, Any]]:
        sort, threshold = query.sort, query.options.get("threshold", THRESHOLD)
        assert isinstance(threshold, (int, float))
        limit, depth = query.number("limit", 0), query.number("depth", 0)
        by_memory = not sort and contents.is_all(query.info)
        whole = by_memory or bool(query.match)
        rows = query.model.tree(
            sort=sort or ("running" if contents.split(query.info) else "incl"),
            depth=0 if query.match else depth,
            threshold=0 if whole else contents.of_running(threshold / 100, part.running, part.busy),
            limit=0 if whole else limit,
            **part.where(),
        )
        if query.match:
            rows = _below(rows, query.match)
        if by_memory:
            return memorytable.tree(rows, threshold / 100, limit)
        return _large(rows, depth, threshold / 100, limit) if query.match else rows

    def table(self, query: Query, part: Part, rows: list[dict[str, Any]], out: Output) -> None:
        calltable.write_tree(out, rows, _running(rows) if query.match else part.running, query.options, query.info)
