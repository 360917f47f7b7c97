# SPDX-License-Identifier: BSD-3-Clause
"""Roles of processes and threads, and groups of those with equal roles. src/model/parts/roles.c has the rules."""

from __future__ import annotations

from spartito.experiments.naming import rank_number

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

    Groups = list[tuple[str, list[int]]]  # of units with equal roles: (title, indices of processes or locations)


def role_of(info: dict[str, Any], process: int = -1, location: int = -1) -> str:
    """The role of a process or of a location, one of which is given by its index: "pytest worker"; "" if none is known. info:
    Model.info()."""
    unit = info["locations"][location] if location >= 0 else info["processes"][process]
    return str(unit["role"])


def process_label(process: dict[str, Any]) -> str:
    """A unique name of a process: "pytest worker gw0 (4711)", or "process 4711" without a role."""
    return f"{process['label']} ({process['pid']})" if process["label"] else f"process {process['pid']}"


def _program(command: str) -> str:
    """The program in a command line of Python: "solver.py"; "-m pytest"; "" if it is not known."""
    words = iter(command.split()[1:])
    for word in words:
        if word in ("-W", "-X"):
            next(words, None)
        elif word == "-m":
            return f"-m {next(words, '')}"
        elif word == "-c" or not word.startswith("-"):
            return word.rsplit("/", 1)[-1]
    return ""


def _of_process(info: dict[str, Any], process: int) -> str:
    """The title of a process's group. Processes without a known role are in one group if they run the same program."""
    p = info["processes"][process]
    return p["role"] or _program(p["command"]) or "process"


def _of_location(info: dict[str, Any], location: int, whole: bool) -> str:
    """The title of a thread's group. whole: with that of its process."""
    loc = info["locations"][location]
    what = loc["role"] or (f"thread of {loc['runs']}" if loc["runs"] else loc["name"])
    return f"{what} in {_of_process(info, loc['process'])}" if whole else what


def titles(info: dict[str, Any], over: str, units: list[int]) -> list[str]:
    """For each unit the title of the group that it belongs to. over, units: see grouped()."""
    if over != "threads":
        return [_of_process(info, unit) for unit in units]
    several = len({info["locations"][unit]["process"] for unit in units}) > 1
    return [_of_location(info, unit, several) for unit in units]


def grouped(info: dict[str, Any], over: str, units: list[int]) -> tuple[Groups, list[int]]:
    """The groups of units with equal roles, in the order of their first units, and the idle helpers, which are in no group. over:
    "ranks" (one group, without helpers), "processes" or "threads". units: indices of processes, or of locations for threads."""
    if over == "ranks":
        return [("rank", units)], []
    those = info["locations" if over == "threads" else "processes"]
    groups: dict[str, list[int]] = {}
    for unit, title in zip(units, titles(info, over, units)):
        if not those[unit]["helper"]:
            groups.setdefault(title, []).append(unit)
    return list(groups.items()), [unit for unit in units if those[unit]["helper"]]


def counted(info: dict[str, Any], over: str, units: list[int]) -> str:
    """The units by their roles, for a sentence: "resource tracker ×2, forkserver"."""
    numbers: dict[str, int] = {}
    for title in titles(info, over, units):
        numbers[title] = numbers.get(title, 0) + 1
    return ", ".join(f"{title} ×{n}" if n > 1 else title for title, n in numbers.items())


def process_titles(info: dict[str, Any]) -> list[str]:
    """For each process "rank 2", "pytest worker gw0 (4711)" or "process 4711"."""
    numbers = [rank_number(info, i) for i in range(len(info["processes"]))]
    return [process_label(p) if n is None else f"rank {n}" for n, p in zip(numbers, info["processes"])]
