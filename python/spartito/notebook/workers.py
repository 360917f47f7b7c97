# SPDX-License-Identifier: BSD-3-Clause
"""Processes that a cell uses and that were there before it: workers of joblib, dask and concurrent.futures that are kept from cell
to cell. What they do is in no result of this cell, which says so. Imported in kernels alone."""

from __future__ import annotations

import os
import sys

from spartito.base.text import plural, seconds

WORKED = 0.05  # s of CPU time in a cell: what a worker that waits takes is below that
TICK = os.sysconf("SC_CLK_TCK")
KINDS = (("loky", "joblib"), ("distributed", "dask"), ("multiprocessing", "multiprocessing"))
ENGINES = "engines of ipyparallel are processes that were started elsewhere, so what they do is in no cell's result"


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as f:
                found += map(int, f.read().split())
    except (OSError, ValueError):
        pass  # it has ended, or this kernel does not list them
    return found


def _cpu(pid: int) -> tuple[int, float] | None:
    """When it began, in ticks, and its CPU time in seconds."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            words = f.read().rpartition(")")[2].split()
        return int(words[19]), (int(words[11]) + int(words[12])) / TICK
    except (OSError, ValueError, IndexError):
        return None


def running() -> dict[tuple[int, int], float]:
    """CPU time of all processes below this one, by their id and begin."""
    found: dict[tuple[int, int], float] = {}
    waiting = _children(os.getpid())
    while waiting:
        pid = waiting.pop()
        known = _cpu(pid)
        if known is not None and (pid, known[0]) not in found:
            found[pid, known[0]] = known[1]
            waiting += _children(pid)
    return found


def _kind(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
            command = f.read()
    except OSError:
        return ""
    return next((name for mark, name in KINDS if mark in command), "")


def told(before: dict[tuple[int, int], float]) -> list[str]:
    """before: what running() gave when the cell began. A line about those that have worked since, and are not measured here."""
    now = running()
    worked = {key: now[key] - time for key, time in before.items() if now.get(key, time) - time >= WORKED}
    if not worked:
        return []
    kinds = sorted(filter(None, {_kind(pid) for pid, _ in worked}))
    of = f" of {' and '.join(kinds)}" if kinds else ""
    one = len(worked) == 1
    return [
        f"{plural(len(worked), 'process')}{of} from before this cell worked for "
        f"{seconds(sum(worked.values()))} of CPU time meanwhile and {'is' if one else 'are'} not in the result: "
        f"start {'it' if one else 'them'} in the cell that is measured"
    ]


def engines() -> list[str]:
    return [ENGINES] if "ipyparallel" in sys.modules else []
