# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report own`: the time of the program's own functions, each with the libraries that it calls, and whose code took the
time of the run."""

from __future__ import annotations

from spartito.base.text import Column, Output, count, name, percent, plural, seconds
from spartito.experiments import contents
from spartito.report.calltable import PLACE, calls, place
from spartito.report.protocol import Query, Report

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

COLUMNS = (
    Column("sum"),
    Column("%"),
    Column("self"),
    Column("libraries"),
    Column("standard library"),
    Column("calls", rank=5),
    Column("own function", left=True, style="cyan"),
    PLACE,
)
LINE_COLUMNS = (Column("sum"), Column("%"), Column("self"), Column("in callees"), Column("line of own code", left=True, style="cyan"))
# columns of a row of Model.own(), and with the two that Model.own() does not attribute to functions, the parts of the run
OWNERS = ("own", "libraries", "standard", "other")
PARTS = {
    "own": "own code",
    "libraries": "libraries",
    "standard": "standard library",
    "imports": "imports",
    "frame": "interpreter start and end",
    "other": "not known",
}
LEAST = 0.005  # share of the time from which the summary names a part
# what a process records, and what follows if some process did not
FACTS = {
    "cwd": "the working directory: own code is only what is below the script's directory, or what --own names",
    "library": "the directory of the standard library: files outside of own code and environments count as not known",
    "prefix": "the directory of the environment: its commands may count as own code",
}


def _sum(row: dict[str, Any]) -> float:
    return float(sum(row[key] for key in OWNERS))


def split(model: Model, process: int = -1) -> tuple[dict[str, Any], dict[str, float]]:
    """Model.own() without imports, and the time of each part of the run in s, by the keys of PARTS."""
    found, whole = (model.own(process=process, imports=imports) for imports in (False, True))
    parts = {key: float(sum(row[key] for row in found["rows"])) for key in OWNERS}
    parts["frame"] = found["frame"]
    parts["imports"] = sum(map(_sum, whole["rows"])) + whole["frame"] - sum(parts.values())
    return found, {key: parts[key] for key in PARTS}


def line(model: Model) -> str:
    """A sentence about whose code took the time of the run, for its end; empty: no time was measured."""
    found, parts = split(model)
    total = sum(parts.values())
    if total <= 0:
        return ""
    named = []
    for key, title in PARTS.items():
        text = f"{title} {percent(parts[key], total)} %"
        if key == "libraries" and found["packages"] and found["packages"][0][1] >= LEAST * total:
            package, time = found["packages"][0]
            text += f" (most: {name(package)} {percent(time, total)} %)"
        if parts[key] >= LEAST * total:
            named.append(text)
    return f"time: {', '.join(named)}"


def missing(info: dict[str, Any], process: int) -> list[str]:
    """Sentences about what the processes did not record, so that whose code it is remains uncertain."""
    processes = [p["meta"] for i, p in enumerate(info["processes"]) if process in (-1, i)]
    without = {key: sum(not meta.get(key) for meta in processes) for key in FACTS}
    return [f"{plural(without[key], 'process')} did not record {text}" for key, text in FACTS.items() if without[key]]


def _lines(query: Query, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of own functions that were recorded or sampled, most time first."""
    own = {(row["name"], row["file"], row["line"]): row["calls_own"] for row in rows}
    found = []
    for f in query.model.lines(process=query.process):
        calls_own = own.get((f["name"], f["file"], f["line"]))
        if calls_own is None:
            continue  # a function of others
        for number, _, excl, callees in f["lines"]:
            key = {"name": f["name"], "file": f["file"], "line": number}
            found.append({**key, "excl": excl, "callees": callees, "calls_own": calls_own})
    return sorted(found, key=lambda row: -(row["excl"] + row["callees"]))


class Own(Report):
    name = "own"

    def gather(self, query: Query) -> dict[str, Any]:
        own, parts = split(query.model, query.process)
        if sum(parts.values()) <= 0:
            raise query.lacks("no time in functions was recorded")
        rows = contents.known(own["rows"], query.info)
        return {
            "parts": parts,
            "without_own": {key: rows[0][key] for key in OWNERS},
            "packages": [{"name": package, "excl": time} for package, time in own["packages"]],
            "rows": [{**row, "sum": _sum(row)} for row in rows[1:]],
            "lines": _lines(query, rows[1:]),
            "notes": missing(query.info, query.process),
        }

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        total = sum(found["parts"].values())
        shown = found["rows"][: query.limit or None]
        _write_functions(out, shown, found["without_own"], total)
        if len(shown) < len(found["rows"]):
            out.line(f"shown: {count(len(shown))} of {plural(len(found['rows']), 'own function')} (--limit)")
        if found["lines"]:
            _write_lines(out, found["lines"][: query.limit or None], total)
        out.line()
        out.table(
            [Column("time"), Column("%"), Column("whose code", left=True)],
            [
                (seconds(time), percent(time, total), PARTS[key] + (_most(found["packages"], total) if key == "libraries" else ""))
                for key, time in found["parts"].items()
                if time or key != "other"
            ],
        )
        for sentence in found["notes"]:
            out.line(sentence, "yellow")


def _most(packages: list[dict[str, Any]], total: float) -> str:
    named = [f"{name(p['name'])} {percent(p['excl'], total)} %" for p in packages[:3] if p["excl"] > 0]
    return f": {', '.join(named)}" if named else ""


def _write_functions(out: Output, rows: list[dict[str, Any]], without: dict[str, float], total: float) -> None:
    def times(row: dict[str, Any]) -> list[str]:
        return [seconds(_sum(row)), percent(_sum(row), total), *(seconds(row[key]) for key in OWNERS[:3])]

    lines = [(*times(row), calls(row), name(row["name"]), place(row)) for row in rows]
    if _sum(without):
        lines.append((*times(without), "", "(called by no own function)", ""))
    out.table(COLUMNS, lines)
    out.line("sum: with the functions of others that it calls, until they call own functions; imports are apart")


def _write_lines(out: Output, rows: list[dict[str, Any]], total: float) -> None:
    out.line()
    table = []
    for row in rows:
        time = row["excl"] + row["callees"]
        where = f"{name(row['file'])}:{row['line']}" + (" *" if row["calls_own"] else "")
        table.append((seconds(time), percent(time, total), seconds(row["excl"]), seconds(row["callees"]), where))
    out.table(LINE_COLUMNS, table)
    if any(row["calls_own"] for row in rows):
        out.line("*: the function also calls own functions, whose time is within that of its lines")
