# SPDX-License-Identifier: BSD-3-Clause
"""The cost of measuring, as numbers and sentences."""

from __future__ import annotations

from spartito.base.text import seconds
from spartito.experiments import contents

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any


def measuring_cost(info: dict[str, Any]) -> float:
    """Seconds that measuring added to all threads in total. A resumption costs as much as a call."""
    each = [p["cost_in"] + p["cost_out"] for p in info["processes"]]
    return float(sum(each[loc["process"]] * (loc["visits"] + loc["resumed"]) for loc in info["locations"]))


def error_per_call(process: dict[str, Any]) -> float | None:
    """The uncertainty of cost_in + cost_out in seconds; None: it was not recorded."""
    text = process.get("meta", {}).get("cost_error", "")
    return float(text) * 1e-12 if text.isascii() and text.isdigit() and len(text) < 16 else None


def measuring_error(info: dict[str, Any]) -> float | None:
    """The uncertainty of measuring_cost() in seconds: that of a call, for all calls. None: it is unknown for some of them."""
    each = [error_per_call(p) for p in info["processes"]]
    total = 0.0
    for loc in info["locations"]:
        calls, error = loc["visits"] + loc["resumed"], each[loc["process"]]
        if calls and error is None:
            return None
        total += calls * (error or 0.0)
    return total


def with_error(value: str, error: str | None) -> str:
    return value if error is None else f"{value} ± {error}"


def cost_sentence(info: dict[str, Any]) -> str:
    """The words "measuring took about 12 ms ± 2 ms". The cost of recording allocations and waits is not known; if there are any,
    the text says so."""
    metrics = {metric["name"] for metric in info["metrics"]}
    beside = [what for what, metric in (("memory", "allocations"), ("waits", "waits")) if metric in metrics]
    of = f"measuring calls, without {' and '.join(beside)}," if beside else "measuring"
    error = measuring_error(info)
    return f"{of} took about {with_error(seconds(measuring_cost(info)), None if error is None else seconds(error))}"


def cost(info: dict[str, Any], compensated: bool) -> tuple[float, float]:
    """Seconds that measuring took, and its share of the running time of all threads, or of their time if that is not split.
    compensated: info has the seconds subtracted already."""
    taken, key = measuring_cost(info), "running" if contents.split(info) else "busy"
    measured = sum(loc[key] for loc in info["locations"]) + (taken if compensated else 0.0)
    return taken, taken / measured if measured > 0 else 0.0


def cost_place(compensated: bool) -> str:
    """Whether the times include the cost of measuring, as the end of a sentence."""
    return "has been taken out of the times" if compensated else "is in the times; --compensate takes it out"
