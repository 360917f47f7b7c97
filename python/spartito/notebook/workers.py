# SPDX-License-Identifier: BSD-3-Clause
"""Finds worker processes that a cell uses but did not start: joblib, dask and concurrent.futures keep workers from cell to cell.
Their work is not in the cell's result, so the result has a note about it. Only kernels import this module."""

from __future__ import annotations

import contextlib
import os
import sys

from spartito.base.text import plural, seconds

# Seconds of CPU time in a cell below which a process counts as idle. Idle workers of the pools in IDLE_OF use nearly none.
IDLE = 0.05
IDLE_OF = {"joblib": 0.0005, "multiprocessing": 0.0005}
TICK = os.sysconf("SC_CLK_TCK")
TRACKER = "resource tracker"
# text in the name or the command line of a process: its kind
KINDS = (
    ("resource_tracker", TRACKER),
    ("Dask ", "dask"),
    ("distributed", "dask"),
    ("loky", "joblib"),
    ("ipyparallel", "ipyparallel"),
    ("multiprocessing", "multiprocessing"),
)
ENGINES = "what engines of ipyparallel do is in a cell's result only if that cell has started them"


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as f:
                found += map(int, f.read().split())
    except (OSError, ValueError):
        pass  # the process has ended, or the operating system does not list children
    return found


def _precisely(pid: int) -> float:
    """CPU time in seconds of the existing threads of a process, with a resolution of ns; 0: the operating system does not have
    it."""
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
    return total / 1e9


def _cpu(pid: int) -> tuple[int, tuple[float, float]] | None:
    """The begin of a process in clock ticks, and two values of its CPU time in seconds: with a resolution of clock ticks including
    ended threads, and precisely."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            words = f.read().rpartition(")")[2].split()
        return int(words[19]), ((int(words[11]) + int(words[12])) / TICK, _precisely(pid))
    except (OSError, ValueError, IndexError):
        return None


def running() -> dict[tuple[int, int], tuple[float, float]]:
    """CPU times (see _cpu()) of all descendants of this process, by their id and begin."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    waiting = _children(os.getpid())
    while waiting:
        pid = waiting.pop()
        known = _cpu(pid)
        if known is not None and (pid, known[0]) not in found:
            found[pid, known[0]] = known[1]
            waiting += _children(pid)
    return found


def _names() -> dict[int, str]:
    """Names that multiprocessing gave its processes. Dask's workers are recognised by them, as their command line is not
    specific."""
    found = {}
    for process in list(getattr(sys.modules.get("multiprocessing.process"), "_children", ())):
        with contextlib.suppress(ValueError):  # the process object is closed
            found[process.pid] = process.name
    return found


def _kind(pid: int, names: dict[int, str]) -> str:
    """The kind of a process as in KINDS; "": unknown."""
    text = names.get(pid, "")
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
        text += "\n" + f.read()
    return next((kind for mark, kind in KINDS if mark in text), "multiprocessing" if pid in names else "")


def unmeasured(before: dict[tuple[int, int], tuple[float, float]]) -> list[str]:
    """A note about the processes that have worked for the cell without being measured. before: running() at the begin of the
    cell."""
    names, worked = _names(), []
    for (pid, begin), now in running().items():
        then = before.get((pid, begin), now)
        time, kind = max(now[0] - then[0], now[1] - then[1]), _kind(pid, names)
        if kind != TRACKER and time >= IDLE_OF.get(kind, IDLE):
            worked.append((kind, time))
    if not worked:
        return []
    kinds = sorted({kind for kind, _ in worked if kind})
    of = f" of {' and '.join(kinds)}" if kinds else ""
    one = len(worked) == 1
    return [
        f"{plural(len(worked), 'process')}{of} from before this cell worked for "
        f"{seconds(sum(time for _, time in worked))} of CPU time meanwhile and {'is' if one else 'are'} not in the result: "
        f"start {'it' if one else 'them'} in the cell that is measured"
    ]


def engines() -> list[str]:
    return [ENGINES] if "ipyparallel" in sys.modules else []
