# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report lines`: functions line by line, with their source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused, complain, printable
from spartito.base.text import Column, Output, count, name, percent, plural, seconds
from spartito.options.kinds import Usage
from spartito.report import parts
from spartito.report.lines.source import Sources, extent
from spartito.report.lines.text import text, timed
from spartito.report.protocol import Query, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spartito._analyse import Model
    from spartito.report.parts import Part

NONE = (
    "no lines were recorded; `spartito run --lines PATTERN` records those of the functions, classes and modules "
    "that the pattern names, as do @spartito.lines and `spartito-kernprof -l`"
)
COLUMNS = (
    Column("line"),
    Column("hits"),
    Column("total"),
    Column("per hit", rank=2),
    Column("total %"),
    Column("self", rank=1),
    Column("in callees", rank=1),
    Column("source", left=True),
)
# minimum percent of the function's time, and style of such a line
HEAT = ((40.0, "bold red"), (20.0, "red"), (10.0, "dark_orange"), (5.0, "yellow"), (0.0, ""))
TAB = 8  # columns, as in Python's tokenizer


def matches(pattern: str, function: dict[str, Any]) -> bool:
    """Whether --match selects a function."""
    from spartito._analyse import name_matches

    return name_matches(pattern, *(function[key].replace("\0", "") for key in ("name", "module", "file")))


def functions(model: Model, location: int, process: int, match: str) -> list[dict[str, Any]]:
    """The functions with recorded lines, most time first. match: --match, or ""."""
    found = model.lines(location=location, process=process)
    if match:
        found = [f for f in found if matches(match, f)]
    return sorted(found, key=lambda f: -(f["excl"] + f["callees"]))


def chosen(
    model: Model, match: str, whole: Sequence[Part], lacks: Callable[[str], Refused] = Refused
) -> list[list[dict[str, Any]]]:
    """The functions of each part. Refused: no part has functions. lacks: makes that exception."""
    found = [functions(model, part.location, part.process, match) for part in whole]
    if not any(found):
        if match and model.lines():
            raise Refused(f"--match: no function whose lines were recorded matches {match!r}")
        raise lacks("no lines were recorded there" if model.lines() else NONE)
    return found


def _rows(f: dict[str, Any], sources: Sources) -> list[dict[str, Any]]:
    """A row for each line of a function, also for lines that did not run; without its source, only for lines that ran."""
    time = f["excl"] + f["callees"]
    ran = {line[0]: line for line in f["lines"]}
    rows = []
    lines = sources.of(f["file"]).lines
    for number, source in extent(lines, f["line"], ran, f["function"] == "<module>"):
        _, hits, excl, callees = ran.get(number, (number, 0, 0.0, 0.0))
        rows.append(
            {
                "line": number,
                "hits": hits,
                "incl": excl + callees,
                "excl": excl,
                "callees": callees,
                "percent": 100 * (excl + callees) / time if time else 0.0,
                "source": source if number <= len(lines) else None,
            }
        )
    return rows


def _record(f: dict[str, Any], sources: Sources) -> dict[str, Any]:
    kept = ("name", "module", "function", "file", "line", "excl", "callees")
    found = {key: f[key] for key in kept}
    found["incl"] = f["excl"] + f["callees"]
    found["remark"] = sources.of(f["file"]).remark or None
    found["lines"] = _rows(f, sources)
    return found


def gather(info: dict[str, Any], functions: list[list[dict[str, Any]]], whole: Sequence[Part], limit: int) -> list[dict[str, Any]]:
    """For each part its functions line by line. functions: the result of chosen(). limit: functions of a part, 0: all."""
    sources = Sources(info["dir"], info["end"])
    found = []
    for part, all_of_it in zip(whole, functions):
        shown = all_of_it[:limit] if limit else all_of_it
        found.append(
            {
                "title": part.title,
                "location": part.location,
                "process": part.process,
                "functions": [_record(f, sources) for f in shown],
                "hidden": len(all_of_it) - len(shown),
            }
        )
    return found


def _style(share: float) -> str:
    return next(style for least, style in HEAT if share >= least)


def _ran(row: dict[str, Any]) -> bool:
    """Whether a line ran. A sampled line has a time, but no hits."""
    return bool(row["hits"] or row["incl"])


def _cells(row: dict[str, Any], total: float) -> tuple[str, ...]:
    source = name((row["source"] or "").expandtabs(TAB).rstrip())
    if not _ran(row):
        return (str(row["line"]), *[""] * 6, source)
    return (
        str(row["line"]),
        count(row["hits"]) if row["hits"] else "",
        seconds(row["incl"]),
        seconds(row["incl"] / row["hits"]) if row["hits"] else "",
        percent(row["incl"], total),
        seconds(row["excl"]),
        seconds(row["callees"]) if row["callees"] else "",
        source,
    )


def _write_function(out: Output, f: dict[str, Any]) -> None:
    place = f"{f['file']}:{f['line']}" if f["file"] else "(file not known)"
    out.line(f"{name(f['name'])}  total {seconds(f['incl'])}, self {seconds(f['excl'])}  {name(place)}", "bold")
    if f["remark"]:
        out.line(name(f["remark"]), "yellow")
    rows = f["lines"]
    styles = [_style(row["percent"]) if _ran(row) else "dim" for row in rows]
    out.table(COLUMNS, [_cells(row, f["incl"]) for row in rows], styles)
    out.line()


def write(out: Output, found: Sequence[dict[str, Any]]) -> None:
    """Writes the tables. found: the result of gather()."""
    for part in found:
        if part["title"]:
            out.line(part["title"] + ("" if part["functions"] else ": no lines"), "bold")
        for f in part["functions"]:
            _write_function(out, f)
        if part["hidden"]:
            out.line(f"{plural(part['hidden'], 'function')} with less time not shown (--limit)")
            out.line()
    out.line(
        "self: time in the line itself; in callees: in the functions that it called; total: both. If a function calls itself, the "
        "time of inner calls is in the lines of these calls only"
    )


class Lines(Report):
    name = "lines"

    def check(self, options: dict[str, object]) -> None:
        parts.check(options)
        for key in ("json", "threads", "processes"):
            if options.get("plain") and options.get(key):
                raise Usage(f"--plain and --{key} exclude each other")

    def gather(self, query: Query) -> dict[str, Any]:
        whole = parts.parts(query)
        found = chosen(query.model, query.match, whole, query.lacks)
        if query.given("plain"):
            return {"plain": found[0]}
        return {"parts": gather(query.info, found, whole, query.limit)}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        if "plain" not in found:
            write(out, found["parts"])
            return
        sources = Sources(query.info["dir"], query.info["end"])
        functions = found["plain"][: query.limit or None] if "limit" in query.options else found["plain"]
        print_text(out.stream, text(timed(functions), sources))
        for remark in dict.fromkeys(filter(None, (sources.of(f["file"]).remark for f in functions))):
            complain(remark)


def print_text(stream: Any, lines: Any) -> None:
    for line in lines:
        stream.write(printable(line, stream.encoding) + "\n")
