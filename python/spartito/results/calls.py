# SPDX-License-Identifier: BSD-3-Clause
"""The tables of regions, call paths and lines."""

from __future__ import annotations

from spartito.base.messages import Refused
from spartito.experiments import contents
from spartito.report.lines import table as linetable
from spartito.results.columns import Columns, of_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

REGION = (
    ("region", "name", ""),
    ("module", "module", ""),
    ("qualname", "qualname", ""),
    ("file", "file", ""),
    ("line", "line", ""),
    ("kind", "kind", ""),
)
NUMBERS = (
    ("visits", "visits", "visits"),
    ("resumptions", "resumed", "resumptions"),
    ("exclusive_time", "excl", "s"),
    ("inclusive_time", "incl", "s"),
    ("mean_time", "mean", "s"),
    ("min_time", "min", "s"),
    ("max_time", "max", "s"),
    ("std_time", "std", "s"),
)
PATH = (("parent", "above", ""), ("depth", "depth", ""))
LINE = (
    ("region", "name", ""),
    ("module", "module", ""),
    ("file", "file", ""),
    ("first_line", "first_line", ""),
    ("line", "line", ""),
    ("hits", "hits", "hits"),
    ("exclusive_time", "excl", "s"),
    ("inclusive_time", "incl", "s"),
)
NOT_A_ROW = -1  # parent of outermost call paths


def _add_metrics(table: Columns, rows: list[dict[str, Any]], info: dict[str, Any]) -> Columns:
    for metric in info["metrics"]:
        name, exponent = metric["name"], metric["exponent"]
        for word, key in (("exclusive", "excl"), ("inclusive", "incl")):
            values = [row["metrics"][name][key] for row in rows]
            if exponent:
                scale = 10.0**exponent if exponent < 0 else 10**exponent
                values = [value * scale for value in values]
            table[f"{word}_{name}"] = values
            table.units[f"{word}_{name}"] = metric["unit"]
    return table


def regions(model: Model, info: dict[str, Any], process: int = -1, location: int = -1) -> Columns:
    rows = contents.known(model.flat(process=process, location=location), info)
    return _add_metrics(of_rows(rows, (*REGION, *NUMBERS)), rows, info)


def call_paths(model: Model, info: dict[str, Any], process: int = -1, location: int = -1) -> Columns:
    """The table of call paths. A caller is before its callees."""
    rows = contents.known(model.tree(threshold=0, process=process, location=location), info)
    at = {row["path"]: i for i, row in enumerate(rows)}
    for row in rows:
        row["above"] = at.get(row["parent"], NOT_A_ROW)
    table = of_rows(rows, (*PATH, *REGION, *NUMBERS))
    table["parameters"] = [", ".join(f"{p['name']}={p['value']}" for p in row.get("parameters", ())) for row in rows]
    return _add_metrics(table, rows, info)


def lines(model: Model, info: dict[str, Any], process: int = -1, location: int = -1) -> Columns:
    """The table of lines. Refused: the experiment contains no lines."""
    functions = model.lines(process=process, location=location)
    if not functions and not model.lines():
        raise Refused(linetable.NONE)
    counted = not contents.taken(info)  # samples do not count how often a line ran
    rows = [
        {
            **f,
            "first_line": f["line"],
            "line": line,
            "hits": hits if hits or counted else None,
            "excl": excl,
            "incl": excl + callees,
        }
        for f in functions
        for line, hits, excl, callees in f["lines"]
    ]
    return of_rows(rows, LINE)
