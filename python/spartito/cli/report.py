# SPDX-License-Identifier: BSD-3-Clause
"""spartito report: where the time went."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused, complain
from spartito.base.text import Output, name, plural, seconds, standard_output
from spartito.experiment import contents, family, losses, sampled
from spartito.experiment.naming import chosen, title
from spartito.experiment.reading import load, one_experiment
from spartito.options.table import Usage
from spartito.report import awaittable, balance, calltable, iotable, linetable, locktable, memorytable, mpitable, tasktable
from spartito.report.cost import cost_told, measuring_cost, told
from spartito.report.summary import of_mpi

if TYPE_CHECKING:
    from spartito._analyse import Model

ROWS = 20
TREE_THRESHOLD = 1.0  # percent


class Part:
    """What one table is about: everything, one process or one thread."""

    def __init__(self, title: str, busy: float, location: int = -1, process: int = -1) -> None:
        self.title = title
        self.busy = busy
        self.location = location
        self.process = process


def _parts(info: dict[str, Any], values: dict[str, object]) -> list[Part]:
    locations, processes = info["locations"], info["processes"]
    if values.get("threads"):
        return [
            Part(
                f"thread {name(loc['name'])} ({loc['tid']}) of {title(info, loc['process'])}",
                loc["busy"],
                location=i,
            )
            for i, loc in enumerate(locations)
        ]
    if values.get("processes"):
        return [
            Part(
                f"{title(info, i)}, {name(family.origin(info, i))}",
                sum(loc["busy"] for loc in locations if loc["process"] == i),
                process=i,
            )
            for i in range(len(processes))
        ]
    if (process := chosen(info, values)) >= 0:
        busy = sum(loc["busy"] for loc in locations if loc["process"] == process)
        return [Part(title(info, process), busy, process=process)]
    return [Part("", sum(loc["busy"] for loc in locations))]


# the views; what may stand beside each
VIEWS = {
    "tree": {"threads", "processes", "process", "rank"},
    "callers": set(),
    "io": set(),
    "memory": {"process", "rank"},
    "tasks": set(),
    "lines": {"threads", "processes", "process", "rank", "match"},
    "balance": {"tree", "threads", "processes", "match"},
    "messages": {"csv"},
    "waits": set(),
    "critical_path": set(),
    "table": {"process", "rank"},
}
ORDERS = {"memory": "bytes", "balance": "imbalance time", "messages": "bytes", "table": "first call"}


def _view(values: dict[str, object]) -> str:
    """The view that is asked for; "flat": none of VIEWS."""
    if values.get("balance"):
        return "balance"
    return next((view for view in VIEWS if values.get(view)), "flat")


def _given(values: dict[str, object], key: str) -> bool:
    """0 is a process and a rank like any other."""
    return key in values if key in ("process", "rank") else bool(values.get(key))


def _check(values: dict[str, object]) -> None:
    view = _view(values)
    for one, other in (("threads", "processes"), *((o, t) for o in ("threads", "processes") for t in ("process", "rank"))):
        if values.get(one) and _given(values, other):
            raise Usage(f"--{one} and --{other} do not go together")
    if values.get("csv") and view != "messages":
        raise Usage("--csv is for --messages")
    if values.get("csv") and values.get("json"):
        raise Usage("--csv and --json do not go together")
    if values.get("plain"):
        if view != "lines":
            raise Usage("--plain is for --lines")
        for key in ("json", "threads", "processes"):
            if values.get(key):
                raise Usage(f"--plain and --{key} do not go together")
    for key in ("depth", "threshold"):
        if key in values and view != "tree" and (key, view) != ("depth", "table"):
            raise Usage(f"--{key} is for --tree" + (" alone" if values.get("tree") else ""))
    if view == "table" and "limit" in values:
        raise Usage("--limit is not for --table, which shows all calls: --depth shows the outer ones")
    if view == "flat":
        return
    if "sort" in values and view != "tree":
        raise Usage(f"--sort is not for {mpitable.option(view)}: it orders by {ORDERS.get(view, 'time')}")
    if view == "tree" and values.get("match"):
        raise Usage("--match chooses rows of the table of functions, and a tree without their callers is none: --callers NAME")
    for key in (*VIEWS, "threads", "processes", "match", "process", "rank"):
        if _given(values, key) and key != view and key not in VIEWS[view]:
            raise Usage(f"{mpitable.option(view)} and {mpitable.option(key)} do not go together")
    if view in mpitable.VIEWS and values.get("compensate"):
        raise Usage(f"--compensate is not for {mpitable.option(view)}: its times are those of the trace")
    if view == "lines" and values.get("compensate"):
        raise Usage("--compensate is not for --lines: what measuring costs is known for calls, not for lines")


def _rows(model: Model, info: dict[str, Any], values: dict[str, object], part: Part) -> list[dict[str, Any]]:
    limit = values.get("limit")
    sort = values.get("sort")
    if values.get("tree"):
        depth, threshold = values.get("depth", 0), values.get("threshold", TREE_THRESHOLD)
        assert isinstance(depth, int) and isinstance(threshold, (int, float))
        most = limit if isinstance(limit, int) else 0
        by_memory = not sort and contents.is_all(info)
        rows = model.tree(
            sort=str(sort or "incl"),
            depth=depth,
            threshold=0 if by_memory else threshold / 100,
            limit=0 if by_memory else most,
            location=part.location,
            process=part.process,
        )
        return memorytable.tree(rows, threshold / 100, most) if by_memory else rows
    match = str(values.get("match") or "")
    if sort or not contents.is_all(info):
        return model.flat(sort=str(sort or "excl"), limit=_limit(values), match=match, location=part.location, process=part.process)
    rows = model.flat(limit=0, match=match, location=part.location, process=part.process)
    rows.sort(key=lambda row: -row["metrics"]["allocated"]["excl"])
    return rows[: _limit(values) or len(rows)]


def _limit(values: dict[str, object]) -> int:
    limit = values.get("limit")
    return limit if isinstance(limit, int) else ROWS


def _waits_alone(view: str, info: dict[str, Any]) -> bool:
    """Whether there are waits of threads, and no trace of MPI that tells of waits of ranks."""
    return view == "waits" and locktable.recorded(info) and not (info["traced"] and info["worlds"])


def _json(model: Model, info: dict[str, Any], values: dict[str, object], parts: list[Part]) -> None:
    found: dict[str, Any] = {"experiment": info["dir"], "unit": "s", "compensated": bool(values.get("compensate"))}
    if values.get("callers"):
        found["callers"] = [
            {
                "region": contents.known([item["region"]], info)[0],
                "callers": contents.known(item["callers"], info),
                "callees": contents.known(item["callees"], info),
            }
            for item in _found(model, values)
        ]
    elif values.get("balance"):
        found["view"] = "balance"
        found.update(balance.gather(model, info, values, _limit(values))[0])
    elif _view(values) in mpitable.VIEWS:
        found["view"] = view = _view(values)
        if view == "waits" and locktable.recorded(info):
            found.update(model.locks())
            found["awaits"] = awaittable.rows(found)
        if not _waits_alone(view, info):
            found.update(mpitable.gather(view, model, info))
    elif values.get("lines"):
        found["view"] = "lines"
        found["parts"] = linetable.gather(model, info, values, _line_parts(parts), _limit(values))
    elif values.get("tasks"):
        found["view"] = "tasks"
        found.update(tasktable.gather(model, _limit(values)))
        found["notes"] = tasktable.notes(found)
    elif values.get("memory"):
        found["view"] = "memory"
        found.update(memorytable.gather(model, info, _limit(values), chosen(info, values)))
        found["notes"] = memorytable.notes(found, info)
    elif values.get("io"):
        found["view"] = "io"
        found["files"], found["paths"] = iotable.gather(model, info, _limit(values))
    else:
        view = "tree" if values.get("tree") else "flat"
        found["view"] = view
        found["notes"] = mpitable.remarks(model, info)
        if not parts or parts[0].title:
            found["parts"] = [
                {
                    "location": p.location,
                    "process": p.process,
                    "title": p.title,
                    "busy": p.busy,
                    "rows": contents.known(_rows(model, info, values, p), info),
                }
                for p in parts
            ]
        else:
            found["busy"], found["rows"] = parts[0].busy, contents.known(_rows(model, info, values, parts[0]), info)
    found["measuring_cost"] = measuring_cost(info)
    found["notes"] = [*found.get("notes", ()), *sampled.told(info), *losses.sentences(info)]
    found["info"] = info
    json.dump(found, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _line_parts(parts: list[Part]) -> list[linetable.Part]:
    return [(p.title, p.location, p.process) for p in parts]


def _found(model: Model, values: dict[str, object]) -> list[dict[str, Any]]:
    match = str(values["callers"])
    found = model.callers(match, limit=_limit(values))
    if not found:
        raise Refused(f"--callers: no recorded function matches {match!r}")
    return found


def _called(info: dict[str, Any]) -> bool:
    return any(loc["visits"] or loc["resumed"] for loc in info["locations"])


def _table(model: Model, info: dict[str, Any], values: dict[str, object]) -> None:
    depth = values.get("depth")
    if values["table"] == "trip_count" and contents.without_calls(info) and not _called(info):
        raise Refused("--table trip_count: samples do not tell how often a function was called; --calls counts the calls as well")
    sys.stdout.write(
        model.table(
            str(values["table"]),
            json=bool(values.get("json")),
            process=chosen(info, values),
            max_depth=depth - 1 if isinstance(depth, int) and depth else -1,
        )
    )


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_experiment("report", operands)
    _check(values)
    model, info = load(directory, bool(values.get("compensate")))
    parts = _parts(info, values)
    if values.get("table"):
        _table(model, info, values)
    elif values.get("json"):
        _json(model, info, values, parts)
    else:
        _print(standard_output(), model, info, values, parts)
    sys.stdout.flush()
    return losses.say_all(model.info(), directory)  # damage of the trace is found when it is read


def _print_lines(out: Output, model: Model, info: dict[str, Any], values: dict[str, object], parts: list[linetable.Part]) -> None:
    if values.get("plain"):
        for remark in linetable.write_plain(model, info, values, parts):
            complain(remark)
    else:
        linetable.write(out, linetable.gather(model, info, values, parts, _limit(values)))


def _print(out: Output, model: Model, info: dict[str, Any], values: dict[str, object], parts: list[Part]) -> None:
    if values.get("callers"):
        calltable.write_callers(out, _found(model, values), contents.without_calls(info))
        return
    if values.get("balance"):
        balance.write(out, *balance.gather(model, info, values, _limit(values)))
        return
    if values.get("lines"):
        _print_lines(out, model, info, values, _line_parts(parts))
        return
    if values.get("memory"):
        memorytable.write(out, model, info, _limit(values), chosen(info, values))
        return
    if values.get("tasks"):
        tasktable.write(out, model, _limit(values))
        return
    view = _view(values)
    if view in mpitable.VIEWS:
        if view == "waits" and locktable.recorded(info):
            locks = model.locks()
            locktable.write(out, locks, info, _limit(values))
            awaittable.write(out, locks, _limit(values))
            if _waits_alone(view, info):
                return
            out.line()
        found = mpitable.gather(view, model, info)
        if values.get("csv"):
            mpitable.write_csv(found)
        else:
            mpitable.write(view, out, found, info, _limit(values))
        return
    if values.get("io"):
        iotable.write(out, model, info, _limit(values))
        return
    tables = [_rows(model, info, values, part) for part in parts]
    if values.get("match") and not any(tables):
        raise Refused(f"--match: no recorded function matches {str(values['match'])!r}")
    for i, (part, rows) in enumerate(zip(parts, tables)):
        if i:
            out.line()
        if part.title:
            out.line(f"{part.title}: {seconds(part.busy)}", "bold")
        if values.get("tree"):
            calltable.write_tree(out, rows, part.busy, values, info)
        else:
            calltable.write_flat(out, rows, part.busy, info)
    called = _called(info)
    if not called and not contents.without_calls(info):
        memory = "; --memory shows the memory" if contents.is_recorded(info) else ""
        out.line("no calls were recorded" + ("; --lines shows the lines" if model.lines() else "") + memory)
    out.line()
    for line in (*sampled.told(info), *of_mpi(info), *mpitable.remarks(model, info)):
        out.line(line)
    cost = f"; {cost_told(info)}, which {told(bool(values.get('compensate')))}" if called else ""
    out.line(
        f"{plural(len(info['processes']), 'process')}, {plural(len(info['locations']), 'thread')}, "
        f"{seconds(info['end'] - info['begin'])} from first to last{cost}"
    )
