# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report trip-count` and `spartito report wall-clock`: exactly the tables that timemory prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused
from spartito.experiments import contents
from spartito.report.protocol import Query, Report

if TYPE_CHECKING:
    from spartito.base.text import Output


class _Table(Report):
    metric: str  # as timemory names it
    framed = False

    def _table(self, query: Query, as_json: bool) -> str:
        depth = query.number("depth", 0)
        return query.model.table(self.metric, json=as_json, process=query.process, max_depth=depth - 1 if depth else -1)

    def gather(self, query: Query) -> dict[str, Any]:
        return dict(json.loads(self._table(query, True))) if query.given("json") else {}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        out.stream.write(self._table(query, False))


class TripCount(_Table):
    name = "trip-count"
    metric = "trip_count"

    def gather(self, query: Query) -> dict[str, Any]:
        called = any(loc["visits"] or loc["resumed"] for loc in query.info["locations"])
        if contents.without_calls(query.info) and not called:
            raise Refused("trip-count: samples do not count calls; measure with --calls")
        return super().gather(query)


class WallClock(_Table):
    name = "wall-clock"
    metric = "wall_clock"
