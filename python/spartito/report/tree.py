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


class Tree(CallReport):
    name = "tree"

    def rows(self, query: Query, part: Part) -> list[dict[str, Any]]:
        sort, threshold = query.sort, query.options.get("threshold", THRESHOLD)
        assert isinstance(threshold, (int, float))
        limit = query.number("limit", 0)
        by_memory = not sort and contents.is_all(query.info)
        rows = query.model.tree(
            sort=sort or "incl",
            depth=query.number("depth", 0),
            threshold=0 if by_memory else threshold / 100,
            limit=0 if by_memory else limit,
            location=part.location,
            process=part.process,
        )
        return memorytable.tree(rows, threshold / 100, limit) if by_memory else rows

    def table(self, query: Query, part: Part, rows: list[dict[str, Any]], out: Output) -> None:
        calltable.write_tree(out, rows, part.busy, query.options, query.info)
