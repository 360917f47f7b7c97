# SPDX-License-Identifier: BSD-3-Clause
"""The cost of measuring, as numbers and sentences."""

from __future__ import annotations

from spartito.base.text import seconds

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any


def measuring_cost(info: dict[str, Any]) -> float:
    """Seconds that measuring added to all threads in total. A resumption costs as much as a call."""
    each = [p["cost_in"] + p["cost_out"] for p in info["processes"]]
    return float(sum(each[loc["process"]] * (loc["visits"] + loc["resumed"]) for loc in info["locations"]))


def cost_sentence(info: dict[str, Any]) -> str:
    """The words "measuring took about 12 ms". The cost of recording allocations and waits is not known; if there are any, the text
    says so."""
    metrics = {metric["name"] for metric in info["metrics"]}
    beside = [what for what, metric in (("memory", "allocations"), ("waits", "waits")) if metric in metrics]
    of = f"measuring calls, without {' and '.join(beside)}," if beside else "measuring"
    return f"{of} took about {seconds(measuring_cost(info))}"


def cost(info: dict[str, Any], compensated: bool) -> tuple[float, float]:
    """Seconds that measuring took, and its share of the measured time of all threads. compensated: info has it subtracted
    already."""
    taken, busy = measuring_cost(info), sum(loc["busy"] for loc in info["locations"])
    measured = busy + (taken if compensated else 0.0)
    return taken, taken / measured if measured > 0 else 0.0


def cost_place(compensated: bool) -> str:
    """Whether the times include the cost of measuring, as the end of a sentence."""
    return "has been taken out of the times" if compensated else "is in the times; --compensate takes it out"
