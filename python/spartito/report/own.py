# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report own`: the time of the program's own functions, each with the libraries that it calls, and whose code took the
time of the run."""

from __future__ import annotations

from typing import Any

from spartito.base.text import Column, Output, count, name, percent, plural, seconds
from spartito.experiments import contents, owners
from spartito.report.calltable import PLACE, calls, place
from spartito.report.protocol import Query, Report

NUMBERS = (Column("sum"), Column("%"), Column("self"), Column("libraries"), Column("standard library"))
WAITING = Column("waiting", rank=6)  # if times are split
WAITERS = 3  # own functions in the line about waiting
NOTABLE = 0.05  # share of the waiting of own functions from which that line names one
NOT_KNOWN = Column("not known")  # only if some function leads to such code
FUNCTION = (Column("calls", rank=5), Column("own function", left=True, style="cyan"), PLACE)
LINE_COLUMNS = (
    Column("sum"),
    Column("%"),
    Column("self"),
    Column("in callees"),
    Column("line of own code", left=True, style="cyan"),
)


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
        own, parts = owners.split(query.model, query.process)
        if sum(parts.values()) <= 0:
            raise query.lacks("no time in functions was recorded")
        rows = contents.known(own["rows"], query.info)
        return {
            "split": parts,
            "without_own": {key: rows[0][key] for key in (*owners.OWNERS, "waiting")},
            "packages": [{"name": package, "excl": time} for package, time in own["packages"]],
            "rows": [{**row, "sum": owners.total(row)} for row in rows[1:]],
            "lines": _lines(query, rows[1:]),
            "notes": owners.missing(query.info, query.process),
        }

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        total = sum(found["split"].values())
        shown = found["rows"][: query.limit or None]
        split = contents.split(query.info)
        _write_functions(out, shown, found["without_own"], total, split)
        if len(shown) < len(found["rows"]):
            out.line(f"shown: {count(len(shown))} of {plural(len(found['rows']), 'own function')} (--limit)")
        waits = _waits(found["rows"]) if split else ""
        if waits:
            out.line(waits)
        if found["lines"]:
            _write_lines(out, found["lines"][: query.limit or None], total)
        out.line()
        packages = _most(found["packages"], total)
        out.table(
            [Column("time"), Column("%"), Column("whose code", left=True)],
            [
                (seconds(time), percent(time, total), owners.PARTS[key] + (packages if key == "libraries" else ""))
                for key, time in found["split"].items()
                if time or key != "other"
            ],
        )
        for sentence in found["notes"]:
            out.line(sentence, "yellow")


def _most(packages: list[dict[str, Any]], total: float) -> str:
    named = [f"{name(p['name'])} {percent(p['excl'], total)} %" for p in packages[:3] if p["excl"] > 0]
    return f": {', '.join(named)}" if named else ""


def _waits(rows: list[dict[str, Any]]) -> str:
    """A line about the own functions that waited most, which the order by running time may not show; empty: none waited."""
    whole = sum(row["waiting"] for row in rows)
    most = sorted(rows, key=lambda row: -row["waiting"])[:WAITERS]
    notable = [row for row in most if row["waiting"] and row["waiting"] >= NOTABLE * whole]
    named = [f"{name(row['name'])} {seconds(row['waiting'])}" for row in notable]
    return f"own functions waited {seconds(whole)}, most in {', '.join(named)}" if named else ""


def _write_functions(out: Output, rows: list[dict[str, Any]], without: dict[str, float], total: float, split: bool) -> None:
    unknown = any(row["other"] for row in (*rows, without))
    keys = owners.OWNERS if unknown else owners.OWNERS[:-1]

    def times(row: dict[str, Any]) -> list[str]:
        waiting = [seconds(row["waiting"])] if split else []
        return [seconds(owners.total(row)), percent(owners.total(row), total), *(seconds(row[key]) for key in keys), *waiting]

    lines = [(*times(row), calls(row), name(row["name"]), place(row)) for row in rows]
    if owners.total(without) or (split and without["waiting"]):
        lines.append((*times(without), "", "(called by no own function)", ""))
    out.table([*NUMBERS, *([NOT_KNOWN] if unknown else ()), *([WAITING] if split else ()), *FUNCTION], lines)
    without_these = "without waiting and imports" + ("; waiting: of the same functions" if split else "")
    out.line(f"sum: self, and the library functions that it leads to, until the next own function; {without_these}")


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
