# SPDX-License-Identifier: BSD-3-Clause
"""The base class of the reports of functions (flat.py) and call paths (tree.py): a table for each part of the experiment, a
footer."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused
from spartito.base.text import count, plural, seconds
from spartito.experiments import contents, sampled
from spartito.experiments.cost import cost_place, cost_sentence
from spartito.report import mpitable
from spartito.report.parts import Part, check, gathered, parts
from spartito.report.protocol import Query, Report
from spartito.report.summary import of_mpi

if TYPE_CHECKING:
    from spartito.base.text import Output


class CallReport(Report):
    def check(self, options: dict[str, object]) -> None:
        check(options)

    @abstractmethod
    def rows(self, query: Query, part: Part) -> list[dict[str, Any]]:
        """The rows of one part, from Model.flat() or Model.tree()."""

    @abstractmethod
    def table(self, query: Query, part: Part, rows: list[dict[str, Any]], out: Output) -> None:
        """Writes the rows of one part."""

    def remark(self, query: Query, shown: int) -> str:
        """A line below the tables, or "". shown: rows of the longest one."""
        return ""

    def gather(self, query: Query) -> dict[str, Any]:
        whole = parts(query)
        rows = {i: contents.known(self.rows(query, part), query.info) for i, part in enumerate(whole)}
        if query.match and not any(rows.values()):
            raise Refused(f"--match: no recorded function matches {query.match!r}")
        return {**gathered(query, rows, whole), "notes": mpitable.remarks(query.model, query.info)}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        whole = parts(query)
        rows = [part["rows"] for part in found["parts"]] if "parts" in found else [found["rows"]]
        for i, part in enumerate(whole):
            if i:
                out.line()
            if part.title:
                out.line(f"{part.title}: {part.time}", "bold")
            self.table(query, part, rows[i], out)
        remark = self.remark(query, max(map(len, rows), default=0))
        if remark:
            out.line(remark)
        _footer(query, found["notes"], out)


def _forked(query: Query) -> list[str]:
    """A line about total times that contain those of other processes."""
    forked = sum(p["forked"] for p in query.info["processes"])
    if not forked or query.process >= 0 or any(map(query.given, ("processes", "threads", "roles"))):
        return []
    were = "processes were" if forked > 1 else "process was"
    total = "the total time of a function that was open then contains theirs"
    return [f"{count(forked)} {were} forked: {total}; --process N shows one"]


def _footer(query: Query, notes: list[str], out: Output) -> None:
    info = query.info
    called = any(loc["visits"] or loc["resumed"] for loc in info["locations"])
    if not called and not contents.without_calls(info):
        lines = "; `spartito report lines` shows the lines" if query.model.lines() else ""
        memory = "; `spartito report memory` shows the memory" if contents.is_recorded(info) else ""
        out.line("no calls were recorded" + lines + memory)
    out.line()
    every = "all ranks: " if query.process >= 0 else ""
    for line in (*_forked(query), *sampled.notes(info), *(every + text for text in of_mpi(info)), *notes):
        out.line(line)
    cost = f"; {cost_sentence(info)}, which {cost_place(query.given('compensate'))}" if called else ""
    out.line(
        f"{plural(len(info['processes']), 'process')}, {plural(len(info['locations']), 'thread')}, "
        f"{seconds(info['end'] - info['begin'])} from first to last{cost}"
    )
