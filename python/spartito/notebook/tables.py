# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of a result as tables: for a notebook's text, and for pandas."""

from __future__ import annotations

import io
from importlib import import_module

from spartito.base.text import Column, Output, count, name, percent, plain_table, plural, seconds, size
from spartito.experiment import contents, sampled
from spartito.report import calltable, locktable, memorytable
from spartito.view import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

TOP = 10  # functions in the text of a result
ROWS, SHARE = 20, 1.0  # as of `spartito diff`
ALL = (1 << 32) - 2  # paths
COLUMNS = (
    Column("own"),
    Column("own %"),
    Column("total"),
    Column("calls"),
    Column("function", left=True),
    Column("defined at", left=True),
)

MEMORY = (Column("at the peak"), Column("at the end"), Column("allocated"), Column("blocks"), Column("where", left=True))


def _cells(row: dict[str, Any], busy: float) -> tuple[str, ...]:
    own, total = row["excl"], row["incl"]
    return seconds(own), percent(own, busy), seconds(total), calltable.calls(row), name(row["name"]), calltable.place(row)


def functions(model: Model, busy: float) -> list[str]:
    """Lines of a table: the functions with the most own time. busy: what shares are of."""
    rows = contents.known(model.flat(limit=TOP), model.info())
    return plain_table(COLUMNS, [_cells(row, busy) for row in rows]) if rows else []


def static(model: Model, facts: dict[str, Any]) -> str:
    """The same in HTML, without scripts and styles, for where none are allowed."""
    from html import escape

    def cell(tag: str, text: str) -> str:
        return f"<{tag}>{escape(text.encode('utf-8', 'replace').decode())}</{tag}>"

    rows = contents.known(model.flat(limit=TOP), model.info())
    head = "".join(cell("th", column.title) for column in COLUMNS)
    body = "".join("<tr>" + "".join(cell("td", text) for text in _cells(row, facts["busy"])) + "</tr>" for row in rows)
    words = f"{name(facts['title'])} took {seconds(facts['duration'])}. {' '.join(facts['sentences'])}".rstrip()
    return cell("p", words) + (f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else "")


def collections(model: Model, info: dict[str, Any]) -> list[str]:
    """Lines about what was recorded beside calls: samples, memory, waits of threads."""
    lines = sampled.told(info)
    if contents.is_recorded(info):
        lines += _memory(model, info)
    if locktable.recorded(info):
        out = io.StringIO()
        locktable.write(Output(out), model.locks(), info, TOP)
        lines += ["", *out.getvalue().rstrip("\n").split("\n"), ""]
    return lines


def _memory(model: Model, info: dict[str, Any]) -> list[str]:
    found = memorytable.gather(model, info, TOP)
    totals = found["totals"]
    peak = sum(p["peak_bytes"] for p in found["processes"])
    lines = [
        "",
        f"memory: {size(totals['bytes'])} allocated in {plural(totals['count'], 'block')}; {size(peak)} there at the peak, "
        f"{size(totals['left_bytes'])} at the end",
    ]
    rows = [
        (size(row["peak_bytes"]), size(row["left_bytes"]), size(row["bytes"]), count(row["count"]), memorytable.place(row))
        for row in found["allocated"]
    ]
    lines += plain_table(MEMORY, rows)
    return [*lines, *memorytable.notes(found, info), ""]


def difference(directories: list[str], models: list[Model], compensated: bool) -> str:
    """What `spartito diff` says of two. compensated: the models have the cost of measuring taken out."""
    from spartito._analyse import compare
    from spartito.compare.difference import Group, write

    groups = [Group(letter, [d], [m.info()]) for letter, d, m in zip("AB", directories, models)]
    out = io.StringIO()
    found = compare(models, [1, 1], share=SHARE / 100)
    write(Output(out), found, groups, ROWS, SHARE, False, compensated)
    return out.getvalue().rstrip("\n")


# ---- for pandas

# columns as pandas has them, the names in the model, and units
FUNCTIONS = (
    ("function", "name", ""),
    ("module", "module", ""),
    ("qualname", "qualname", ""),
    ("file", "file", ""),
    ("line", "line", ""),
    ("kind", "kind", ""),
    ("calls", "visits", "calls"),
    ("resumed", "resumed", "resumptions"),
    ("own", "excl", "s"),
    ("total", "incl", "s"),
    ("mean", "mean", "s"),
    ("min", "min", "s"),
    ("max", "max", "s"),
    ("std", "std", "s"),
)


def _functions(model: Model) -> tuple[dict[str, Any], dict[str, str]]:
    info = model.info()
    rows = contents.known(model.flat(), info)
    columns: dict[str, Any] = {title: [r[key] for r in rows] for title, key, _ in FUNCTIONS}
    units = {title: unit for title, _, unit in FUNCTIONS if unit}
    for m in info["metrics"]:
        scale = 10.0 ** m["exponent"] if m["exponent"] < 0 else 10 ** m["exponent"]
        for which, key in (("own", "excl"), ("total", "incl")):
            columns[f"{which} {m['name']}"] = [r["metrics"][m["name"]][key] * scale for r in rows]
            units[f"{which} {m['name']}"] = m["unit"]
    return columns, units


def _paths(model: Model) -> tuple[dict[str, Any], dict[str, str]]:
    """The tree, a row a path: a caller stands before its callees."""
    regions, region = payload.unpack(model.view("regions"))
    tree = payload.unpack(model.view("tree", limit=ALL))[1]
    depth: list[int] = []
    for parent in tree["parent"]:
        depth.append(0 if parent == payload.NONE else depth[parent] + 1)
    at = tree["region"]
    columns = {
        "caller": [-1 if parent == payload.NONE else parent for parent in tree["parent"]],
        "depth": depth,
        "function": [regions["names"][r] for r in at],
        "file": [regions["files"][region["file"][r]] for r in at],
        "line": [region["line"][r] for r in at],
        "calls": [int(n) for n in tree["visits"]],
        "own": list(tree["excl"]),
        "total": list(tree["incl"]),
    }
    return columns, {"caller": "row of the table, -1: none", "calls": "calls", "own": "s", "total": "s"}


def _lines(model: Model) -> tuple[dict[str, Any], dict[str, str]]:
    titles = ("function", "file", "line", "hits", "own", "callees")
    rows = [(f["name"], f["file"], *line) for f in model.lines() for line in f["lines"]]
    return {title: [row[i] for row in rows] for i, title in enumerate(titles)}, {"hits": "times", "own": "s", "callees": "s"}


KINDS = {"functions": _functions, "paths": _paths, "lines": _lines}


def dataframe(model: Model, of: str) -> Any:
    """ImportError: there is no pandas; ValueError: of is no table."""
    if of not in KINDS:
        raise ValueError(f"there is no table of {of!r}; there are {', '.join(KINDS)}")
    try:
        pandas: Any = import_module("pandas")
    except ImportError:
        raise ImportError("to_dataframe() needs pandas, which is not installed: pip install pandas") from None
    columns, units = KINDS[of](model)
    table = pandas.DataFrame(columns)
    table.attrs["units"] = units
    return table
