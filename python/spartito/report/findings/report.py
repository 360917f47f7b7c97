# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report findings`: what costs most and can be changed, with evidence and what to try."""

from __future__ import annotations

from typing import Any

from spartito.base.text import Output, percent
from spartito.experiments import contents
from spartito.report import locktable
from spartito.report.findings import thresholds, topics
from spartito.report.findings.finding import details
from spartito.report.protocol import Query, Report


def _unseen(info: dict[str, Any]) -> list[str]:
    """What to do if the threads waited for long, and it was not recorded for what."""
    waited, busy = contents.waited(info), sum(loc["busy"] for loc in info["locations"])
    if not contents.split(info) or locktable.recorded(info) or waited < thresholds.SHARE * busy:
        return []
    return [
        f"the threads waited for {percent(waited, busy)} % of their time: `spartito report waits` shows in which functions, "
        "`spartito run --waits` records the locks and their holders"
    ]


class Findings(Report):
    name = "findings"

    def gather(self, query: Query) -> dict[str, Any]:
        limit = query.number("limit", thresholds.MAX_FINDINGS)
        found, notes = topics.ranked(query.model, query.given("compensate"), limit)
        return {"rows": [finding.as_dict() | {"gain": str(finding.gain)} for finding in found], "notes": notes}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        for number, row in enumerate(found["rows"], 1):
            out.line(f"{number}. {row['title']}", "bold")
            out.line(f"   saves at most: {row['gain']}")
            for text in details(row):
                out.line(f"   {text}")
            out.line()
        if not found["rows"]:
            out.line("no finding: nothing of what can be found in the recorded data has a large part of the run")
            for text in _unseen(query.info):
                out.line(text)
        for note in found["notes"]:
            out.line(note)
