# SPDX-License-Identifier: BSD-3-Clause
"""Processor time of whole processes, beside that of the recorded threads: the rest is in threads that Python did not start."""

from __future__ import annotations

from spartito.base.text import plural, seconds

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any


class Usage:
    """A process. cpu: user and system time of all its threads while it was measured, in s; recorded: that of the recorded threads;
    native: threads at its end that were not recorded; cpus: processors on which it may run."""

    def __init__(self, info: dict[str, Any], process: int) -> None:
        p = info["processes"][process]
        locations = [loc for loc in info["locations"] if loc["process"] == process]
        meta = p["meta"]
        self.index = process
        self.cpu = int(meta["cpu_time"]) * 1e-9
        self.recorded = float(sum(loc["cpu"] or 0.0 for loc in locations))
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
    recorded = seconds(sum(u.recorded for u in known))
    return f"{seconds(sum(u.cpu for u in known))} of processor time, {recorded} of it in recorded threads{without}"
