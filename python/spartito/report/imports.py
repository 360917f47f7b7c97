# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report imports`: what importing modules cost, as a tree of the modules and what each imports."""

from __future__ import annotations

from typing import Any

from spartito.base.text import Column, Output, count, name, percent, plural, seconds
from spartito.experiments import contents
from spartito.report.protocol import Query, Report

COLUMNS = (
    Column("total"),
    Column("%"),
    Column("self"),
    Column("loading", rank=1),
    Column("module", left=True, style="cyan", min_width=44),  # with the indentation
)
# with times split, instead of the first two
SPLIT = (Column("running"), Column("running %"), Column("waiting", rank=3), Column("total", rank=2))
WORTH_A_LINE = 0.01  # share of the run's time from which the summary of a run speaks of imports
NAMED = 3  # modules in that line


def _tree(modules: list[dict[str, Any]], limit: int) -> list[tuple[int, dict[str, Any]]]:
    """(depth, module) in the order of printing: the modules with the most time, at most limit (0: all), each below its importer,
    which has at least the time of what it imports."""
    order = sorted(range(1, len(modules)), key=lambda i: (-modules[i]["incl"], i))
    shown = set(order[: limit or None])
    children: dict[int, list[int]] = {}
    for i in order:
        if i in shown:
            children.setdefault(modules[i]["importer"], []).append(i)
    rows = []
    pending = [(0, i) for i in reversed(children.get(0, []))]
    while pending:
        depth, i = pending.pop()
        rows.append((depth, modules[i]))
        pending += [(depth + 1, k) for k in reversed(children.get(i, []))]
    return rows


def line(modules: list[dict[str, Any]], busy: float, share: bool) -> str:
    """A sentence about the time of imports, for the end of a run; empty: they took nearly nothing. busy: seconds in which all
    threads ran. share: whether to name the part of it that imports took."""
    total = modules[0]["incl"]
    if total < WORTH_A_LINE * busy or total <= 0:
        return ""
    first = sorted((m for m in modules[1:] if m["importer"] == 0), key=lambda m: -m["incl"])[:NAMED]
    most = ", ".join(f"{name(m['module'])} {seconds(m['incl'])}" for m in first)
    part = f" ({percent(total, busy)} %)" if share else ""
    said = f"imports took {seconds(total)}{part}" + (f": {most}" if most else "")
    return f"{said}; the table leaves them out, except modules of the program; spartito report imports shows all"


def _cells(module: dict[str, Any], whole: dict[str, Any], split: bool) -> tuple[str, ...]:
    if not split:
        return seconds(module["incl"]), percent(module["incl"], whole["busy"])
    ran = seconds(module["running_incl"]), percent(module["running_incl"], whole["running"])
    return *ran, seconds(module["waiting_incl"]), seconds(module["incl"])


class Imports(Report):
    name = "imports"

    def gather(self, query: Query) -> dict[str, Any]:
        modules = query.model.imports(process=query.process)
        if len(modules) == 1 and not modules[0]["incl"]:
            raise query.lacks("no imports were recorded: a filter such as --only-mine leaves out the functions that import")
        locations = [loc for loc in query.info["locations"] if query.process in (-1, loc["process"])]
        times = {key: modules[0][key] for key in ("incl", "running_incl", "waiting_incl")}
        whole = {
            **times,
            "loading": sum(m["loading"] for m in modules),
            "busy": sum(loc["busy"] for loc in locations),
            "running": sum(loc["running"] for loc in locations),
        }
        return {"imports": {**whole, "modules": len(modules) - 1}, "rows": modules[1:]}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        whole = found["imports"]
        rows = _tree([whole, *found["rows"]], query.limit)
        split = contents.split(query.info)
        out.table(
            [*SPLIT, *COLUMNS[2:]] if split else COLUMNS,
            [
                (
                    *_cells(m, whole, split),
                    seconds(m["excl"]),
                    seconds(m["loading"]) if m["loading"] else "",
                    "  " * depth + name(m["module"]),
                )
                for depth, m in rows
            ],
        )
        hidden = whole["modules"] - len(rows)
        share = f"{percent(whole['incl'], whole['busy'])} % of the time in all regions"
        if split:
            ran = whole["running_incl"]
            share = f"running {seconds(ran)}, {percent(ran, whole['running'])} % of the running time"
        out.line(
            f"imports took {seconds(whole['incl'])} ({share}): "
            f"{plural(whole['modules'], 'module')}" + (f", {count(hidden)} not shown (--limit)" if hidden else "")
        )
        inclusive = "running, waiting, total" if split else "total"
        out.line(
            f"{inclusive}: with the modules that it imports; self: its own statements; loading: to find and load the modules that "
            "it imports, and compiled modules"
        )
