# SPDX-License-Identifier: BSD-3-Clause
"""The table of findings."""

from __future__ import annotations

from spartito.report.findings import topics
from spartito.results.columns import Columns, of_rows
from spartito.results.waiting import path_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

FINDING = (
    ("topic", "topic", ""),
    ("title", "title", ""),
    ("saved_time", "saved_s", "s"),
    ("saved_bytes", "saved_B", "B"),
    ("share", "share", ""),
    ("of", "of", ""),
    ("region", "function", ""),
    ("file", "file", ""),
    ("line", "line", ""),
    ("call_path", "call_path", ""),
    ("evidence", "evidence", ""),
    ("advice", "advice", ""),
    ("command", "command", ""),
)


def findings(model: Model, info: dict[str, Any], compensated: bool) -> Columns:
    """The table of findings, which may be empty."""
    found, notes = topics.ranked(model, compensated)
    rows = []
    for finding in found:
        saved = {"saved_s": None, "saved_B": None, f"saved_{finding.gain.unit}": finding.gain.amount}
        rows.append({**finding.as_dict(), **saved, **path_columns(finding.path)})
    return of_rows(rows, FINDING, notes)
