# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report callers --match NAME`: the callers and callees of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused
from spartito.experiments import contents
from spartito.options.kinds import Usage
from spartito.report import calltable
from spartito.report.protocol import Query, Report

if TYPE_CHECKING:
    from spartito.base.text import Output


class Callers(Report):
    name = "callers"

    def check(self, options: dict[str, object]) -> None:
        if not options.get("match"):
            raise Usage("--match NAME is missing: the functions whose callers are shown")

    def gather(self, query: Query) -> dict[str, Any]:
        found = query.model.callers(query.match, limit=query.limit)
        if not found:
            raise Refused(f"--match: no recorded function matches {query.match!r}")
        return {
            "callers": [
                {
                    "region": contents.known([item["region"]], query.info)[0],
                    "callers": contents.known(item["callers"], query.info),
                    "callees": contents.known(item["callees"], query.info),
                }
                for item in found
            ]
        }

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        calltable.write_callers(out, found["callers"], query.info)
