# SPDX-License-Identifier: BSD-3-Clause
"""Processor time of whole processes, beside that of the recorded threads and functions: the rest is in threads that Python did not
start, and in the start and end of the interpreters."""

from __future__ import annotations

from spartito.base.text import percent, plural, seconds
from spartito.experiments import contents

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

NOTABLE, LEAST = 0.1, 0.1  # the least part of the processor time, and the least time in s, that the summary reports


class Usage:
    """A process. cpu: user and system time of all its threads while it was measured, in s; recorded: that of the recorded threads;
    functions: that of recorded functions, as far as it was measured; native: threads at its end that were not recorded; cpus:
    processors on which it may run."""

    def __init__(self, info: dict[str, Any], process: int) -> None:
        p = info["processes"][process]
        locations = [loc for loc in info["locations"] if loc["process"] == process]
        meta = p["meta"]
        self.index = process
        self.cpu = int(meta["cpu_time"]) * 1e-9
        self.recorded = float(sum(loc["cpu"] or 0.0 for loc in locations))
        self.functions = min(self.cpu, float(sum(loc["running"] for loc in locations)))
        self.cpus = int(meta.get("cpus", 0))
        alive = sum(loc["end"] >= p["stop"] for loc in locations)
        self.native = max(0, int(meta.get("os_threads", 0)) - alive)

    @property
    def outside(self) -> float:
        """Processor time outside of the recorded threads, in s."""
        return max(0.0, self.cpu - self.recorded)


def usages(info: dict[str, Any]) -> list[Usage]:
    """The processes whose processor time is known: not those that were killed, nor those recorded by an older version."""
    return [Usage(info, i) for i, p in enumerate(info["processes"]) if p["meta"].get("cpu_time", "").isdigit()]


def text(info: dict[str, Any]) -> str:
    """For `spartito info`: the processor time of all processes; empty: no process recorded it."""
    known = usages(info)
    if not known:
        return ""
    missing = len(info["processes"]) - len(known)
    without = f"; {plural(missing, 'process')} did not record it" if missing else ""
    recorded = f"{seconds(sum(u.recorded for u in known))} of it in recorded threads"
    if contents.split(info):
        recorded += f", {seconds(sum(u.functions for u in known))} in recorded functions"
    return f"{seconds(sum(u.cpu for u in known))} of processor time, {recorded}{without}"


def outside_functions(info: dict[str, Any]) -> str:
    """For the end of a run: the processor time that is in no row of the tables; empty: it is short, or not known of all
    processes."""
    known = usages(info) if contents.split(info) else []
    total, outside = sum(u.cpu for u in known), sum(u.cpu - u.functions for u in known)
    unknown = len(known) < len(info["processes"]) or any(loc["cpu"] is None for loc in info["locations"])
    if unknown or outside < max(NOTABLE * total, LEAST):
        return ""
    native = sum(min(u.outside, u.cpu - u.functions) for u in known)
    parts = (("before and after all functions", outside - native), ("in threads that were not recorded", native))
    where = ", ".join(f"{seconds(time)} {what}" for what, time in parts if time >= 0.1 * outside)
    return f"outside of functions: {percent(outside, total)} % of the {seconds(total)} of processor time, {where}"
