# SPDX-License-Identifier: BSD-3-Clause
"""Sentences about what changed since another run: the summary that the viewer shows first when two runs are compared."""

from __future__ import annotations

from spartito.base.text import name, plural, seconds
from spartito.compare import conditions
from spartito.compare.difference import factor
from spartito.view import payload
from spartito.view.words import Sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from spartito._analyse import Model

MAX_NAMED = 3  # functions named as slower, and as faster
NOTABLE = 0.01  # fraction of the longer run's time: smallest change of a function that is named
SAME = 0.005  # fraction of the longer run's time: smaller changes of the duration count as none


def difference(now: float, before: float) -> str:
    """Text such as "1.20 s less (-60 %)". now, before: seconds."""
    text = f"{seconds(abs(now - before))} {'less' if now < before else 'more'}"
    if before <= 0:
        return text
    growth = now / before - 1
    return f"{text} ({factor(growth) or f'{100 * growth:+.0f} %'})"


def _length(now: float, before: float) -> Sentence:
    both = f"This run took {seconds(now)}, the other one {seconds(before)}"
    if abs(now - before) <= SAME * max(now, before):
        return Sentence(f"{both}: about the same.")
    return Sentence(f"{both}: {difference(now, before)}.")


def _moved(names: list[str], rows: Sequence[tuple[int, float, float]], whole: float) -> list[Sentence]:
    """Sentences about the functions whose exclusive time changed most. rows: (region, exclusive time now, before). whole: seconds
    of the longer run."""
    found = []
    for word, sign in (("slower", 1), ("faster", -1)):
        those = [r for r in rows if sign * (r[1] - r[2]) >= NOTABLE * whole]
        those.sort(key=lambda r: -sign * (r[1] - r[2]))
        if not those:
            continue
        parts = [f"{name(names[region])} {difference(now, before)}" for region, now, before in those[:MAX_NAMED]]
        more = f", and {plural(len(those) - MAX_NAMED, 'more function')}" if len(those) > MAX_NAMED else ""
        found.append(Sentence(f"Exclusive time of what became {word}: {'; '.join(parts)}{more}.", those[0][0]))
    return found


def _alone(flat: dict[str, memoryview]) -> list[Sentence]:
    """A sentence about the functions that ran in only one of the runs."""
    here = there = 0
    times = [0.0, 0.0]
    resumed = flat.get("resumed") or [0.0] * len(flat["visits"])
    for now, again, before, excl, base in zip(*(flat["visits"], resumed, flat["base_visits"], flat["excl"], flat["base_excl"])):
        if (now or again or excl) and not (before or base):
            here += 1
            times[0] += excl
        elif (before or base) and not (now or again or excl):
            there += 1
            times[1] += base
    parts = []
    if here:
        parts.append(f"{plural(here, 'function')} ran in this run alone ({seconds(times[0])})")
    if there:
        parts.append(f"{plural(there, 'function')} in the other one alone ({seconds(times[1])})")
    return [Sentence(f"{', '.join(parts)}.")] if parts else []


def _preempted(meta: dict[str, Any]) -> list[Sentence]:
    """A sentence about the time that no number of the comparison contains."""
    if "preempted" not in meta:
        return []
    both = f"{seconds(meta['preempted'])} in this run and {seconds(meta['base_preempted'])} in the other one"
    return [Sentence(f"Times of functions are without preemption, which took {both}.")]


def _renamed(regions: dict[str, Any]) -> list[Sentence]:
    pairs = [(r["before"], r["after"], r["regions"]) for r in (regions["renamed"] or regions["renamed_modules"])]
    if not pairs:
        return []
    before, after, n = pairs[0]
    text = f"{name(before)} is now {name(after)} ({plural(n, 'function')})"
    more = f", and {plural(len(pairs) - 1, 'more file')} with other names" if len(pairs) > 1 else ""
    return [Sentence(f"Compared although renamed: {text}{more}.")]



def recorded(base: tuple[str, dict[str, Any]], run: tuple[str, dict[str, Any]], compensated: bool) -> dict[str, Any]:
    """Sentences about the conditions of both runs; base, run: (directory, info). "unlike": differences of settings and machine;
    "headline": these in a few words; "costs": the cost of measuring."""
    sides = [("the other run", [base]), ("this run", [run])]
    texts = {"unlike": conditions.unlike(sides), "costs": conditions.costs(sides, compensated)}
    written = {key: [f"{text[0].upper()}{text[1:]}." for text in lines] for key, lines in texts.items()}
    return {**written, "headline": conditions.headline(sides)}


def sentences(model: Model, info: dict[str, Any], base: dict[str, Any]) -> list[Sentence]:
    """All sentences about the changes. model: viewed against the other run, whose info is base."""
    meta, flat = payload.unpack(model.view("flat"))
    regions, _ = payload.unpack(model.view("regions"))
    now, before = info["end"] - info["begin"], base["end"] - base["begin"]
    whole = max(sum(loc["busy"] for loc in one["locations"]) for one in (info, base))
    rows = list(zip(flat["region"], flat["excl"], flat["base_excl"]))
    return [_length(now, before), *_moved(regions["names"], rows, whole), *_alone(flat), *_preempted(meta), *_renamed(regions)]


class Same:
    """Mapping from the other run (base) to this run. processes, locations: for each index of the base the index here, None: no
    counterpart. names: names of functions that differ. functions: (name, file, line) of all functions."""

    def __init__(self, model: Model, base: Model) -> None:
        """model: viewed against base."""
        self.processes, self.locations = _places(model.info(), base.info())
        meta, columns = payload.unpack(model.view("regions"))
        before, numbers = payload.unpack(base.view("regions"))
        self.names: dict[str, str] = {}
        self.functions: dict[tuple[str, str, int], tuple[str, str, int]] = {}
        for i, at in enumerate(columns["of_base"]):
            was, now = before["names"][i], meta["names"][at]
            if was != now:
                self.names.setdefault(was, now)
            self.functions[was, before["files"][numbers["file"][i]], numbers["line"][i]] = (
                now,
                meta["files"][columns["file"][at]],
                columns["line"][at],
            )


def _places(info: dict[str, Any], base: dict[str, Any]) -> tuple[list[int | None], list[int | None]]:
    """Indices of processes and locations here for those of the base. Ranks match by rank number, other processes and threads by
    their order, as in sp_against_selection()."""

    def keys(processes: list[dict[str, Any]]) -> list[tuple[object, ...]]:
        alone = 0
        found: list[tuple[object, ...]] = []
        for p in processes:
            found.append((alone,) if p["rank"] is None else (p["world"], p["rank"]))
            alone += p["rank"] is None
        return found

    def threads(one: dict[str, Any]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in one["processes"]]
        for i, loc in enumerate(one["locations"]):
            found[loc["process"]].append(i)
        return found

    here: dict[tuple[object, ...], int] = {}
    for i, key in enumerate(keys(info["processes"])):
        here.setdefault(key, i)
    processes = [here.get(key) for key in keys(base["processes"])]
    own = threads(info)
    locations: list[int | None] = [None] * len(base["locations"])
    for process, those in zip(processes, threads(base)):
        for k, i in enumerate(those if process is not None else []):
            locations[i] = own[process][k] if process is not None and k < len(own[process]) else None
    return processes, locations
