# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report`, or `spartito report flat`: the functions with the most time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.text import count, plural
from spartito.experiments import contents
from spartito.report import calltable
from spartito.report.callreport import CallReport

if TYPE_CHECKING:
    from spartito.base.text import Output
    from spartito.report.parts import Part
    from spartito.report.protocol import Query


class Flat(CallReport):
    name = "flat"

    def rows(self, query: Query, part: Part) -> list[dict[str, Any]]:
        sort, match = query.sort, query.match
        if sort or not contents.is_all(query.info):
            return query.model.flat(sort=sort or "running", limit=query.limit, match=match, **part.where())
        rows = query.model.flat(limit=0, match=match, **part.where())
        rows.sort(key=lambda row: -row["metrics"]["allocated"]["excl"])
        return rows[: query.limit or len(rows)]

    def table(self, query: Query, part: Part, rows: list[dict[str, Any]], out: Output) -> None:
        calltable.write_flat(out, rows, part, query.info)

    def remark(self, query: Query, shown: int) -> str:
        functions = query.info["regions"]
        if query.match or not shown == query.limit < functions:
            return ""
        return f"shown: {count(shown)} of {plural(functions, 'function')} (--limit)"
