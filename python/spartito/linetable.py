# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report --lines`: functions line by line, with their source."""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from spartito.linesource import Sources, extent
from spartito.linetext import text, timed
from spartito.say import Refused, printable
from spartito.text import Column, Output, count, name, percent, plural, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spartito._analyse import Model

    Part = tuple[str, int, int]  # title, location, process; -1: all

NONE = (
    "--lines: this experiment holds no lines; `spartito run --lines PATTERN` records those of the functions, classes and modules "
    "that the pattern names, as do @spartito.lines and `spartito-kernprof -l`"
)
COLUMNS = (
    Column("line"),
    Column("hits"),
    Column("time"),
    Column("per hit", rank=2),
    Column("% time"),
    Column("own", rank=1),
    Column("in callees", rank=1),
    Column("source", left=True),
)
# percent of a function's time, and how a line from there on is shown
HEAT = ((40.0, "bold red"), (20.0, "red"), (10.0, "dark_orange"), (5.0, "yellow"), (0.0, ""))
TAB = 8  # as the interpreter counts


def _script_names(function: str, file: str) -> list[str]:
    """The names that others import a script's function by: solver:step of __main__:step (src/model/report/report.c)."""
    if not function.startswith("__main__:") or not file.startswith("/"):
        return []
    parts = os.path.splitext(file)[0].split("/")[1:]
    if parts[-1] == "__main__":
        parts.pop()
    return [".".join(parts[i:]) + function[len("__main__") :] for i in range(len(parts))]


def matches(pattern: str, function: str, file: str) -> bool:
    """As --match does it: a shell pattern, or a part of the name."""
    names = [function, *(_script_names(function, file) if ":" in pattern else [])]
    return any(fnmatchcase(found, pattern) if any(c in pattern for c in "*?[") else pattern in found for found in names)


def functions(model: Model, location: int, process: int, match: str) -> list[dict[str, Any]]:
    """Those with the most time first."""
    found = model.lines(location=location, process=process)
    if match:
        found = [f for f in found if matches(match, f["name"], f["file"])]
    return sorted(found, key=lambda f: -(f["own"] + f["callees"]))


def _chosen(model: Model, values: dict[str, object], parts: Sequence[Part]) -> list[list[dict[str, Any]]]:
    """The functions of each part. Refused: there are none at all."""
    match = str(values.get("match") or "")
    found = [functions(model, location, process, match) for _, location, process in parts]
    if not any(found):
        if match and model.lines():
            raise Refused(f"--match: no function whose lines were recorded matches {match!r}")
        if model.lines():
            raise Refused("--lines: no lines were recorded there")
        raise Refused(NONE)
    return found


def _rows(f: dict[str, Any], sources: Sources) -> list[dict[str, Any]]:
    """Every line of a function from its first to its last, also those that did not run."""
    time = f["own"] + f["callees"]
    ran = {line[0]: line for line in f["lines"]}
    rows = []
    lines = sources.of(f["file"]).lines
    for number, source in extent(lines, f["line"], max(ran, default=0), f["function"] == "<module>"):
        _, hits, own, callees = ran.get(number, (number, 0, 0.0, 0.0))
        rows.append(
            {
                "line": number,
                "hits": hits,
                "time": own + callees,
                "own": own,
                "callees": callees,
                "percent": 100 * (own + callees) / time if time else 0.0,
                "source": source if number <= len(lines) else None,
            }
        )
    return rows


def _record(f: dict[str, Any], sources: Sources) -> dict[str, Any]:
    kept = ("name", "module", "function", "file", "line", "own", "callees")
    found = {key: f[key] for key in kept}
    found["time"] = f["own"] + f["callees"]
    found["remark"] = sources.of(f["file"]).remark or None
    found["lines"] = _rows(f, sources)
    return found


def gather(
    model: Model, info: dict[str, Any], values: dict[str, object], parts: Sequence[Part], limit: int
) -> list[dict[str, Any]]:
    """For each part its functions, as --json has them."""
    sources = Sources(info["dir"], info["end"])
    found = []
    for (title, location, process), all_of_it in zip(parts, _chosen(model, values, parts)):
        shown = all_of_it[:limit] if limit else all_of_it
        found.append(
            {
                "title": title,
                "location": location,
                "process": process,
                "functions": [_record(f, sources) for f in shown],
                "hidden": len(all_of_it) - len(shown),
            }
        )
    return found


def _style(share: float) -> str:
    return next(style for least, style in HEAT if share >= least)


def _cells(row: dict[str, Any], total: float) -> tuple[str, ...]:
    source = name((row["source"] or "").expandtabs(TAB).rstrip())
    if not row["hits"]:
        return (str(row["line"]), *[""] * 6, source)
    return (
        str(row["line"]),
        count(row["hits"]),
        seconds(row["time"]),
        seconds(row["time"] / row["hits"]),
        percent(row["time"], total),
        seconds(row["own"]),
        seconds(row["callees"]) if row["callees"] else "",
        source,
    )


def _write_function(out: Output, f: dict[str, Any]) -> None:
    place = f"{f['file']}:{f['line']}" if f["file"] else "(file not known)"
    out.line(f"{name(f['name'])}  {seconds(f['time'])}, {seconds(f['own'])} of it its own  {name(place)}", "bold")
    if f["remark"]:
        out.line(name(f["remark"]), "yellow")
    rows = f["lines"]
    styles = [_style(row["percent"]) if row["hits"] else "dim" for row in rows]
    out.table(COLUMNS, [_cells(row, f["time"]) for row in rows], styles)
    out.line()


def write(out: Output, parts: Sequence[dict[str, Any]]) -> None:
    for part in parts:
        if part["title"]:
            out.line(part["title"] + ("" if part["functions"] else ": no lines"), "bold")
        for f in part["functions"]:
            _write_function(out, f)
        if part["hidden"]:
            out.line(f"{plural(part['hidden'], 'function')} with less time not shown (--limit)")
            out.line()
    out.line(
        "own: in the line itself; in callees: in what it called; time: both. Inner calls of a function that calls itself are in "
        "their own lines only"
    )


def write_plain(model: Model, info: dict[str, Any], values: dict[str, object], parts: Sequence[Part]) -> list[str]:
    """Prints line_profiler's text, and returns what is to be said about the source."""
    sources = Sources(info["dir"], info["end"])
    (found,) = _chosen(model, values, parts)
    limit = values.get("limit")
    if isinstance(limit, int) and limit:
        found = found[:limit]
    print_text(sys.stdout, text(timed(found), sources))
    return list(dict.fromkeys(filter(None, (sources.of(f["file"]).remark for f in found))))


def print_text(stream: Any, lines: Any) -> None:
    for line in lines:
        stream.write(printable(line, stream.encoding) + "\n")
