# SPDX-License-Identifier: BSD-3-Clause
"""Whose code took the time of a run: the program's own code, libraries, the standard library, imports."""

from __future__ import annotations

from spartito.base.text import name, percent, plural
from spartito.experiments import contents

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

# columns of a row of Model.own(), and with the two that Model.own() does not attribute to functions, the parts of the run
OWNERS = ("own", "libraries", "standard", "other")
PARTS = {
    "own": "own code",
    "libraries": "libraries",
    "standard": "standard library",
    "imports": "imports",
    "start_end": "interpreter start and end",
    "other": "not known",
}
LEAST = 0.005  # share of the time from which the summary names a part
# what a process records, and what follows if some process did not
FACTS = {
    "cwd": "the working directory: own code is only what is below the script's directory, or what --own names",
    "library": "the directory of the standard library: files outside of own code and environments count as not known",
    "prefix": "the directory of the environment: its commands may count as own code",
}


FILTERED = "a filter left functions out: their time is self time of the functions that called them"


def total(row: dict[str, Any]) -> float:
    """The sum of the times of a row of Model.own(), in s."""
    return float(sum(row[key] for key in OWNERS))


def split(model: Model, process: int = -1) -> tuple[dict[str, Any], dict[str, float]]:
    """Model.own() without imports, and the time of each part of the run in s, by the keys of PARTS."""
    found, whole = (model.own(process=process, imports=imports) for imports in (False, True))
    parts = {key: float(sum(row[key] for row in found["rows"])) for key in OWNERS}
    parts["start_end"] = found["start_end"]
    parts["imports"] = sum(map(total, whole["rows"])) + whole["start_end"] - sum(parts.values())
    return found, {key: parts[key] for key in PARTS}


def filtered(info: dict[str, Any]) -> bool:
    """Whether a filter left functions out, whose time is that of the functions that called them."""
    given = contents.settings(info)
    return given.get("only_mine") == "1" or bool(given.get("filter"))


def line(model: Model, info: dict[str, Any]) -> str:
    """A sentence about whose code took the time of the run, for its end; empty: no time was measured, or not by all functions."""
    if filtered(info):
        return ""
    found, parts = split(model)
    whole = sum(parts.values())
    if whole <= 0:
        return ""
    named = []
    for key, title in PARTS.items():
        text = f"{title} {percent(parts[key], whole)} %"
        if key == "libraries" and found["packages"] and found["packages"][0][1] >= LEAST * whole:
            package, time = found["packages"][0]
            text += f" (most: {name(package)} {percent(time, whole)} %)"
        if parts[key] >= LEAST * whole:
            named.append(text)
    return f"{'running time' if contents.split(info) else 'time'}: {', '.join(named)}"


def missing(info: dict[str, Any], process: int) -> list[str]:
    """Sentences about what the processes did not record, so that whose code it is remains uncertain."""
    processes = [p["meta"] for i, p in enumerate(info["processes"]) if process in (-1, i)]
    without = {key: sum(not meta.get(key) for meta in processes) for key in FACTS}
    said = [f"{plural(without[key], 'process')} did not record {text}" for key, text in FACTS.items() if without[key]]
    return [*([FILTERED] if filtered(info) else ()), *said]
