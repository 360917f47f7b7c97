# SPDX-License-Identifier: BSD-3-Clause
"""The parts of an experiment for which a report has separate tables: everything, one process, each process, each thread, or the
threads of each role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.text import count, name, seconds
from spartito.experiments import family, roles
from spartito.experiments.naming import title
from spartito.options.kinds import Usage

if TYPE_CHECKING:
    from spartito.report.protocol import Query


class Part:
    """One part. busy: time of its threads in regions, in s; running: the part of it on a processor. time: both as text. location,
    process: index, -1: all; group: indices of the locations instead."""

    def __init__(
        self, title: str, locations: list[dict[str, Any]], location: int = -1, process: int = -1, group: list[int] | None = None
    ) -> None:
        self.title = title
        self.busy = float(sum(loc["busy"] for loc in locations))
        self.running = float(sum(loc["running"] for loc in locations))
        self.time = seconds(self.running)
        if self.running < self.busy:
            self.time += f" running of {seconds(self.busy)}"
        self.location = location
        self.process = process
        self.group = group

    def where(self) -> dict[str, Any]:
        """The arguments of Model.flat() and Model.tree() that choose the part."""
        return {"locations": self.group} if self.group else {"location": self.location, "process": self.process}


def check(options: dict[str, object]) -> None:
    """Usage: two options choose different parts."""
    chosen = [key for key in ("threads", "processes", "roles") if options.get(key)]
    chosen += [key for key in ("process", "rank") if key in options]
    if len(chosen) > 1:
        raise Usage(f"--{chosen[0]} and --{chosen[1]} exclude each other")


def _locations(info: dict[str, Any], process: int) -> list[dict[str, Any]]:
    return [loc for loc in info["locations"] if process in (-1, loc["process"])]


def _thread(location: dict[str, Any]) -> str:
    """thread Worker (4711); thread 4711 if the thread has no name of the program."""
    nameless = f"thread {location['tid']}"
    return nameless if location["name"] in ("", nameless) else f"thread {name(location['name'])} ({location['tid']})"


def _ordered(info: dict[str, Any], those: list[Part], helper: list[bool]) -> list[Part]:
    if info["worlds"]:
        return those
    return [those[i] for i in sorted(range(len(those)), key=lambda i: (helper[i], -those[i].running))]


def _of_roles(info: dict[str, Any]) -> list[Part]:
    """The threads of each role; the idle helpers together, last."""
    groups, helpers = roles.grouped(info, "threads", list(range(len(info["locations"]))))
    titled = [(f"{title} ×{count(len(those))}" if len(those) > 1 else title, those) for title, those in groups]
    if helpers:
        titled.append((f"idle helpers: {roles.counted(info, 'threads', helpers)}", helpers))
    found = [Part(name(title), [info["locations"][i] for i in those], group=those) for title, those in titled]
    return _ordered(info, found, [part.group is helpers for part in found])


def parts(query: Query) -> list[Part]:
    """The parts that the options select: ranks in their order, others by running time, idle helpers last. Empty only for an
    experiment without threads or processes."""
    info = query.info
    if query.given("threads"):
        threads = [
            Part(f"{_thread(loc)} of {title(info, loc['process'])}", [loc], location=i)
            for i, loc in enumerate(info["locations"])
        ]
        return _ordered(info, threads, [loc["helper"] for loc in info["locations"]])
    if query.given("processes"):
        processes = [
            Part(f"{title(info, i)}, {name(family.origin(info, i))}", _locations(info, i), process=i)
            for i in range(len(info["processes"]))
        ]
        return _ordered(info, processes, [p["helper"] for p in info["processes"]])
    if query.given("roles"):
        return _of_roles(info)
    process = query.process
    return [Part(title(info, process) if process >= 0 else "", _locations(info, process), process=process)]


def gathered(query: Query, rows: dict[int, list[dict[str, Any]]], whole: list[Part]) -> dict[str, Any]:
    """The data for JSON: the rows of everything, or those of each part. rows: by index in `whole`."""
    if len(whole) == 1 and not whole[0].title:
        return {"busy": whole[0].busy, "running": whole[0].running, "rows": rows[0]}
    return {
        "parts": [
            {
                "location": p.location,
                "process": p.process,
                **({} if p.group is None else {"locations": p.group}),
                "title": p.title,
                "busy": p.busy,
                "running": p.running,
                "rows": rows[i],
            }
            for i, p in enumerate(whole)
        ]
    }
