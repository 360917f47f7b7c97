# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report balance`: how evenly the time is spread over ranks, processes or threads."""

from __future__ import annotations

from typing import Any

from spartito.base.messages import Refused
from spartito.base.text import Column, Output, count, name, plural, seconds, shortened
from spartito.experiments import contents, roles
from spartito.experiments.naming import rank_names
from spartito.report import parts
from spartito.report.protocol import Query, Report

SENTENCES = 3  # maximum number of sentences
LISTS = {"ranks": "processes", "processes": "processes", "threads": "locations"}  # of Model.info(), which have the units
MIN_SHARE = 0.01  # of the busiest thread's time: idle units are reported for functions with at least this share
TIMES = {"excl": "exclusive", "incl": "inclusive", "running": "running"}  # by the keys of JSON
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
            found = [(str(i), p["label"][len(p["role"]) :].strip()) for i in units for p in (info["processes"][i],)]
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


def _title(group: dict[str, Any]) -> str:
    return f"{name(group['role'])} ×{count(len(group['units']))}"


class Balance(Report):
    name = "balance"

    def check(self, options: dict[str, object]) -> None:
        parts.check(options)

    def gather(self, query: Query) -> dict[str, Any]:
        over = "threads" if query.given("threads") else "processes" if query.given("processes") else "auto"
        by = str(query.options.get("by", "region"))
        time = "incl" if by == "path" else "running" if contents.split(query.info) else "excl"
        over = query.model.balance(over=over, units=())["over"]
        all_units = [i for i, u in enumerate(query.info[LISTS[over]]) if over != "ranks" or u["rank"] is not None]
        if len(all_units) < 2:
            word = Units(query.info, over, []).word
            raise Refused(f"balance compares ranks, processes or threads, and this experiment has only one {word}")
        groups, helpers = roles.grouped(query.info, over, all_units)
        equal = [(role, units) for role, units in groups if len(units) > 1]
        if not equal:
            known = roles.counted(query.info, over, all_units)
            raise Refused(f"balance compares {over} with the same role, and here no two have one: {known}")
        found = []
        for role, units in equal:
            group = query.model.balance(by=by, time=time, over=over, limit=query.limit, match=query.match, units=units)
            del group["over"]
            names = Units(query.info, over, group["units"])
            found.append({"role": role, **group, "names": names.short, "sentences": sentences(group, query.info, names)})
        if query.match and not any(group["rows"] for group in found):
            raise Refused(f"--match: no recorded function matches {query.match!r}")
        single = [units[0] for _, units in groups if len(units) == 1]
        return {"over": over, "time": time, "groups": found, "single": single, "helpers": helpers}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        over = found["over"]
        titled = len(found["groups"]) > 1 or found["single"] or found["helpers"]
        for group in found["groups"]:
            if titled:
                out.line(_title(group), "bold")
            self._write_group(query.info, over, found["time"], group, out)
            out.line()
        for what, units in (("the only one with its role", found["single"]), ("idle helpers", found["helpers"])):
            if units:
                out.line(f"not compared, {what}: {name(roles.counted(query.info, over, units))}")
        compared = sum(len(group["units"]) for group in found["groups"])
        out.line(
            f"{TIMES[found['time']]} time over "
            f"{plural(compared, Units(query.info, over, []).word)}; imbalance: max - mean, %: max / mean - 1"
        )

    def _write_group(self, info: dict[str, Any], over: str, time: str, group: dict[str, Any], out: Output) -> None:
        units = Units(info, over, group["units"])
        rows = []
        for row in group["rows"]:
            x = row[time]
            times = [seconds(x[key]) for key in ("mean", "min", "max", "std")]
            where = (units.cells[x["min_unit"]], units.cells[x["max_unit"]])
            text = shortened(row["stack"]) if "stack" in row else name(row["name"])
            rows.append((seconds(x["imbalance"]), f"{x['percent']:.1f}", *times, *where, text))
        out.table([*COLUMNS, Column("call path" if time == "incl" else "function", left=True, style="cyan")], rows)
        if group["sentences"]:
            out.line()
        for sentence in group["sentences"]:
            out.line(sentence)
