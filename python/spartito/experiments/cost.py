# SPDX-License-Identifier: BSD-3-Clause
"""What measuring cost a run, in numbers and sentences."""

from __future__ import annotations

from spartito.base.text import seconds

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from typing import Any


def measuring_cost(info: dict[str, Any]) -> float:
    """Seconds that measuring added to all threads together. A resumption costs what a call costs."""
    each = [p["cost_in"] + p["cost_out"] for p in info["processes"]]
    return float(sum(each[loc["process"]] * (loc["visits"] + loc["resumed"]) for loc in info["locations"]))


def cost_sentence(info: dict[str, Any]) -> str:
    """measuring took about 12 ms; what allocations and waits took is not known, and said to be left out."""
    metrics = {metric["name"] for metric in info["metrics"]}
    beside = [what for what, metric in (("memory", "allocations"), ("waits", "waits")) if metric in metrics]
    of = f"measuring calls, without {' and '.join(beside)}," if beside else "measuring"
    return f"{of} took about {seconds(measuring_cost(info))}"


def cost(info: dict[str, Any], compensated: bool) -> tuple[float, float]:
    """Seconds that measuring took, and its share of the time of all threads as it was measured."""
    taken, busy = measuring_cost(info), sum(loc["busy"] for loc in info["locations"])
    measured = busy + (taken if compensated else 0.0)
    return taken, taken / measured if measured > 0 else 0.0


def cost_place(compensated: bool) -> str:
    """Where the cost of measuring is."""
    return "has been taken out of the times" if compensated else "is in the times; --compensate takes it out"
