# SPDX-License-Identifier: BSD-3-Clause
"""The tables of processes and locations, the description of an experiment, and what it lacks."""

from __future__ import annotations

from datetime import datetime, timezone

from spartito.base.text import plural
from spartito.experiments import contents, cost, losses, sampled
from spartito.experiments.description import command, launcher
from spartito.experiments.naming import rank_number
from spartito.report import iotable, locktable
from spartito.results.columns import Columns, of_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

LOCATION = (
    ("process", "process", ""),
    ("rank", "rank", ""),
    ("pid", "pid", ""),
    ("host", "host", ""),
    ("name", "name", ""),
    ("role", "role", ""),
    ("runs", "runs", ""),
    ("helper", "helper", ""),
    ("thread_id", "tid", ""),
    ("creator", "creator", ""),
    ("begin", "begin", "s"),
    ("end", "end", "s"),
    ("inclusive_time", "busy", "s"),
    ("running_time", "running", "s"),
    ("mpi_time", "mpi", "s"),
    ("visits", "visits", "visits"),
    ("resumptions", "resumed", "resumptions"),
    ("lost_events", "lost_events", "events"),
)
PROCESS = (
    ("rank", "rank", ""),
    ("pid", "pid", ""),
    ("parent", "parent", ""),
    ("host", "host", ""),
    ("role", "role", ""),
    ("name", "name", ""),
    ("helper", "helper", ""),
    ("command", "command", ""),
    ("python", "python", ""),
    ("begin", "begin", "s"),
    ("end", "stop", "s"),
    ("ended", "end", ""),
    ("exit_status", "status", ""),
    ("signal", "signal", ""),
)


def _python(process: dict[str, Any]) -> str:
    return str(process["meta"].get("python", "")).split(" ")[0]


def processes(model: Model, info: dict[str, Any]) -> Columns:
    rows = [{**p, "rank": rank_number(info, i), "python": _python(p)} for i, p in enumerate(info["processes"])]
    return of_rows(rows, PROCESS)


def locations(model: Model, info: dict[str, Any]) -> Columns:
    rows = []
    for location in info["locations"]:
        process = info["processes"][location["process"]]
        of_process = {"rank": rank_number(info, location["process"]), "pid": process["pid"], "host": process["host"]}
        # the number of calls is not known if there are only samples
        counted = {} if process["counted"] or not process["sampled"] else {"visits": None, "resumed": None}
        rows.append({**location, **of_process, **counted, "lost_events": location["lost"]["events"]})
    return of_rows(rows, LOCATION)


def _recorded(model: Model, info: dict[str, Any]) -> list[str]:
    tasks = model.tasks(limit=1)
    found = {
        "calls": any(loc["visits"] or loc["resumed"] for loc in info["locations"]),
        "samples": contents.taken(info),
        "trace": info["traced"],
        "lines": bool(model.lines()),
        "memory": contents.is_recorded(info),
        "waits": locktable.recorded(info),
        "io": any(metric["name"] == iotable.READ for metric in info["metrics"]),
        "tasks": tasks["count"] > 0 or tasks["never"] > 0,
        "mpi": bool(info["worlds"]),
        "counters": bool(info["counters"]),
    }
    return [what for what, there in found.items() if there]


def describe(model: Model, info: dict[str, Any], directory: str, compensated: bool) -> dict[str, Any]:
    known, problem = launcher(directory)
    return {
        "command": command(known, info),
        "begin": datetime.fromtimestamp(info["begin"], timezone.utc),
        "duration": info["end"] - info["begin"],
        "python": _python(info["processes"][0]) if info["processes"] else "",
        "spartito": contents.first_meta(info).get("spartito", ""),
        "hosts": list(dict.fromkeys(p["host"] for p in info["processes"])),
        "processes": len(info["processes"]),
        "threads": len(info["locations"]),
        "ranks": sum(p["rank"] is not None for p in info["processes"]),
        "recorded": _recorded(model, info),
        "metrics": {metric["name"]: metric["what"] for metric in info["metrics"]},
        "inclusive_time": sum(loc["busy"] for loc in info["locations"]),
        "running_time": sum(loc["running"] for loc in info["locations"]),
        "measuring_cost": cost.measuring_cost(info),
        "measuring_error": cost.measuring_error(info),
        "compensated": compensated,
        "complete": not losses.is_incomplete(info, directory, problem),
        "running": any(p["end"] == "running" for p in info["processes"]),
    }


def warnings(info: dict[str, Any], directory: str) -> list[str]:
    """Sentences about losses, damage and early ends, as `spartito report` prints them on standard error."""
    known, problem = launcher(directory)
    return [*filter(None, [*losses.sentences(info), problem, *losses.of_ranks(directory), losses.ending(known)])]


def notes(info: dict[str, Any], compensated: bool) -> list[str]:
    """Sentences about samples and about the cost of measuring."""
    found = sampled.notes(info)
    if any(loc["visits"] or loc["resumed"] for loc in info["locations"]):
        where = "is not in the times" if compensated else "is in the times; load() subtracts it with compensate=True"
        found.append(f"{cost.cost_sentence(info)}, which {where}")
    if deeper := sum(p["lost"].get("deeper", 0) for p in info["processes"]):
        found.append(f"{plural(deeper, 'call')} below the depth limit: their time is that of their callers")
    return found
