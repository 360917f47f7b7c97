# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report balance`: how evenly the time is spread over ranks, processes or threads."""

from __future__ import annotations

from typing import Any

from spartito.base.messages import Refused
from spartito.base.text import Column, Output, name, plural, seconds, shortened
from spartito.experiments import contents
from spartito.experiments.naming import rank_names
from spartito.report import parts
from spartito.report.protocol import Query, Report

SENTENCES = 3  # maximum number of sentences
MIN_SHARE = 0.01  # of the busiest thread's time: idle units are reported for functions with at least this share
COLUMNS = (
    Column("imbalance"),
    Column("%"),
    Column("mean"),
    Column("min", rank=2),
    Column("max"),
    Column("std", rank=1),
    Column("min on", rank=3),
    Column("max on"),
)


class Units:
    """The compared ranks, processes or threads. short: their numbers, for sentences. cells: numbers with names, for tables."""

    def __init__(self, info: dict[str, Any], over: str, units: list[int]) -> None:
        self.word = {"ranks": "rank", "processes": "process", "threads": "thread"}[over]
        if over == "threads":
            found = [(str(i), info["locations"][i]["name"]) for i in units]
        elif over == "ranks":
            names = rank_names(info)
            found = [(names[i], "") for i in units]
        else:
            found = [(str(i), "") for i in units]
        self.short = [number for number, _ in found]
        self.cells = [f"{number} {name(text)}".strip() for number, text in found]

    def __len__(self) -> int:
        return len(self.short)

    def some(self, chosen: list[int]) -> str:
        """The numbers of the chosen units as text: "0–3, 7, 12 …"."""
        runs: list[list[int]] = []
        for unit in chosen:
            if runs and unit == runs[-1][-1] + 1:
                runs[-1][1:] = [unit]
            else:
                runs.append([unit])
        texts = [
            self.short[run[0]] if len(run) == 1 else f"{self.short[run[0]]}–{self.short[run[-1]]}" for run in runs[:8]
        ]
        return ", ".join(texts) + (" …" if len(runs) > 8 else "")


def sentences(found: dict[str, Any], info: dict[str, Any], units: Units) -> list[str]:
    """Sentences about units that did no work in a function in which others worked."""
    busiest = max((loc["running"] for loc in info["locations"]), default=0.0)
    out = []
    for row in found["idle"][:SENTENCES]:
        most = row["incl"]["max"]
        if most < MIN_SHARE * busiest:
            continue
        out.append(
            f"{len(row['idle'])} of {plural(len(units), units.word)} ({units.some(row['idle'])}) did no work in "
            f"{name(row['name'])}, which took up to {seconds(most)} (on {units.cells[row['incl']['max_unit']]})"
        )
    return out


def _units(query: Query, found: dict[str, Any]) -> Units:
    return Units(query.info, found["over"], found["units"])


def _kind(exclusive: bool, info: dict[str, Any]) -> str:
    if not exclusive:
        return "inclusive"
    return "running" if contents.split(info) else "exclusive"


class Balance(Report):
    name = "balance"

    def check(self, options: dict[str, object]) -> None:
        parts.check(options)

    def gather(self, query: Query) -> dict[str, Any]:
        over = "threads" if query.given("threads") else "processes" if query.given("processes") else "auto"
        by = str(query.options.get("by", "region"))
        time = "incl" if by == "path" else "excl"
        found = query.model.balance(by=by, time=time, over=over, limit=query.limit, match=query.match)
        units = _units(query, found)
        if len(units) < 2:
            raise Refused(f"balance compares ranks, processes or threads, and this experiment has only one {units.word}")
        if query.match and not found["rows"]:
            raise Refused(f"--match: no recorded function matches {query.match!r}")
        return {**found, "time": time, "names": units.short, "notes": sentences(found, query.info, units)}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        units = _units(query, found)
        exclusive = found["time"] == "excl"
        rows = []
        for row in found["rows"]:
            x = row[found["time"]]
            times = [seconds(x[key]) for key in ("mean", "min", "max", "std")]
            where = (units.cells[x["min_unit"]], units.cells[x["max_unit"]])
            text = shortened(row["stack"]) if "stack" in row else name(row["name"])
            rows.append((seconds(x["imbalance"]), f"{x['percent']:.1f}", *times, *where, text))
        out.table([*COLUMNS, Column("function" if exclusive else "call path", left=True, style="cyan")], rows)
        out.line()
        for sentence in found["notes"]:
            out.line(sentence)
        out.line(
            f"{_kind(exclusive, query.info)} time over {plural(len(units), units.word)}; imbalance: max - mean, "
            "%: max / mean - 1"
        )
