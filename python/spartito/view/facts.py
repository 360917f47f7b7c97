# SPDX-License-Identifier: BSD-3-Clause
"""The facts about a run for the viewer's first screen: its summary, processes, threads, metrics and settings."""

from __future__ import annotations

import os

from spartito._version import __version__
from spartito.experiments import contents, cost, losses
from spartito.experiments.description import command, launcher, what_ran
from spartito.experiments.roles import process_label, titles
from spartito.report import iotable, locktable, mpitable
from spartito.view import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

METRIC_KEYS = ("name", "unit", "exponent", "what", "exclusive", "level", "source", "total")  # of Model.info()
FIRST = 10  # functions that ran longest, which sentences may be about
ONE_PACKAGE = 0.8  # share of the time of these functions from which they differ by function, not by module
MAIN = "main thread"  # a role that says no more than the thread's name


def _processes(info: dict[str, Any]) -> list[dict[str, Any]]:
    names = mpitable.Ranks(info).names
    roles = titles(info, "processes", list(range(len(names))))
    return [
        {
            "name": f"Rank {label}" if label.isdigit() else process_label(p) if p["label"] else f"Process {p['pid']}",
            "rank": p["rank"],
            "world": p["world"],
            "pid": p["pid"],
            "parent": p["parent"],
            "host": p["host"],
            "begin": p["begin"],
            "end": p["stop"],
            "ended": p["end"],
            "command": p["command"],
            "role": role,
            "helper": p["helper"],
        }
        for label, role, p in zip(names, roles, info["processes"])
    ]


def _title(loc: dict[str, Any]) -> str:
    """A thread's name, with its role: "ThreadPoolExecutor worker (ThreadPoolExecutor-0_0)"."""
    name = loc["name"] or f"thread {loc['tid']}"
    return f"{loc['role']} ({name})" if loc["role"] not in ("", MAIN) else name


def _locations(info: dict[str, Any]) -> list[dict[str, Any]]:
    roles = titles(info, "threads", list(range(len(info["locations"]))))
    names = [_title(loc) for loc in info["locations"]]
    # a notebook's cell must hold the facts of very many threads: what most of them do not need is absent
    return [
        {
            "process": loc["process"],
            "name": name,
            "begin": loc["begin"],
            "end": loc["end"],
            "busy": loc["busy"],
            "running": loc["running"],
            "mpi": loc["mpi"],
            **({"role": role} if role != name else {}),
            **({"helper": True} if loc["helper"] else {}),
        }
        for name, role, loc in zip(names, roles, info["locations"])
    ]


def _cost(info: dict[str, Any], compensated: bool) -> dict[str, float]:
    """The cost of measuring. "in", "out": seconds that a call adds to its exclusive time and to its caller's, means over all calls.
    "total": seconds. "share": fraction of the running time of all threads, or of their time if that is not split."""
    calls = [loc["visits"] + loc["resumed"] for loc in info["locations"]]
    n = sum(calls)
    each = {"in": 0.0, "out": 0.0}
    for c, loc in zip(calls, info["locations"]):
        for key in each:
            each[key] += c / n * info["processes"][loc["process"]][f"cost_{key}"] if n else 0.0
    total, share = cost.cost(info, compensated)
    return {**each, "total": total, "share": share}


def _top(model: Model) -> list[tuple[int, dict[str, Any]]]:
    """(index of the region, row of Model.flat()) of the functions in which the threads ran longest, without imports."""
    return [(row["index"], row) for row in model.flat(sort="running", limit=FIRST, imports=False)]


def _colour(top: list[tuple[int, dict[str, Any]]]) -> str:
    """What colours tell the functions apart: those of modules, unless nearly all time is in one package."""
    packages: dict[str, float] = {}
    for _, row in top:
        package = row["module"].split(".", 1)[0]
        packages[package] = packages.get(package, 0.0) + row["running"]
    whole = sum(packages.values())
    return "function" if whole and max(packages.values()) >= ONE_PACKAGE * whole else "module"


def _versions(info: dict[str, Any]) -> dict[str, str]:
    first: dict[str, str] = info["processes"][0]["meta"] if info["processes"] else {}
    found = {"viewer": __version__, "spartito": first.get("spartito", ""), "python": first.get("python", "")}
    found["mpi"] = " ".join(first.get("mpi_library", "").split(",")[0].replace("Version:", "").split())
    return {key: text for key, text in found.items() if text}


def _has(model: Model, info: dict[str, Any]) -> dict[str, bool]:
    ranks = sum(p["rank"] is not None for p in info["processes"])
    tasks = model.tasks(limit=1)
    return {
        "trace": info["traced"],
        "time": info["traced"] or contents.taken(info),
        "states": contents.taken(info),
        "counters": info["traced"] and bool(info["counters"]),
        "metrics": info["traced"] and any(not metric["exclusive"] for metric in info["metrics"]),
        "lines": bool(model.lines()),
        "mpi": ranks > 0,
        "io": any(metric["name"] == iotable.READ for metric in info["metrics"]),
        "locks": locktable.recorded(info),
        "memory": contents.is_recorded(info),
        "tasks": tasks["count"] > 0 or tasks["never"] > 0,
        "messages": info["traced"] and ranks > 0,
        "waits": info["traced"] and ranks > 0,
        "off_cpu": contents.split(info),
    }


def _reported(problem: str, lost: list[str]) -> bool:
    """Whether a sentence about lost data has the problem already. These sentences name only the first of many problems."""
    text = problem.split(losses.NOT_RECORDED, 1)[-1]
    return any(text in sentence for sentence in lost)


def facts(model: Model, directory: str, has: dict[str, bool], compensated: bool = False) -> dict[str, Any]:
    """All facts (Facts in src/view/contract.json). has: further views that the page can show. compensated: the cost of measuring is
    subtracted from the times."""
    info = model.info()
    known, problem = launcher(directory)
    ran = command(known, info)
    cost = _cost(info, compensated)
    top = _top(model)
    sentences = words.sentences(model, info, top, 0.0 if compensated else cost["total"])
    lost = [*losses.sentences(info), *losses.of_ranks(directory), *filter(None, (losses.ending(known), problem))]
    sentences += words.damage([*lost, *info["problems"]])
    return {
        "title": what_ran(directory, ran),
        "directory": os.path.abspath(info["dir"]),
        "command": ran,
        "host": info["processes"][0]["host"] if info["processes"] else "",
        "hosts": len({p["host"] for p in info["processes"]}),
        "start": info["begin"],
        "duration": info["end"] - info["begin"],
        "busy": sum(loc["busy"] for loc in info["locations"]),
        "visits": sum(loc["visits"] for loc in info["locations"]),
        "regions": info["regions"],
        "paths": info["paths"],
        "events": info["events"],
        "bytes": info["bytes"],
        "python": _versions(info).get("python", "").split(" ")[0],
        "traced": info["traced"],
        **words.as_members(sentences),
        "colour": _colour(top),
        "cost": cost,
        "compensated": compensated,
        "lost": lost,
        "problems": [text for text in info["problems"] if not _reported(text, lost)],
        "processes": _processes(info),
        "locations": _locations(info),
        "metrics": [{key: m[key] for key in METRIC_KEYS} for m in info["metrics"]],
        "has": {**_has(model, info), **has},
        "settings": {key: text for key, text in contents.settings(info).items() if text},
        "versions": _versions(info),
    }
