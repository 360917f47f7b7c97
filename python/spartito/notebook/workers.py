# SPDX-License-Identifier: BSD-3-Clause
"""Processes that a cell uses and that were there before it: workers of joblib, dask and concurrent.futures that are kept from cell
to cell. What they do is in no result of this cell, which says so. Imported in kernels alone."""

from __future__ import annotations

import contextlib
import os
import sys

from spartito.base.text import plural, seconds

# s of CPU time in a cell below which a process has only waited; pools' workers wait without any
WORKED = 0.05
QUIET = {"joblib": 0.0005, "multiprocessing": 0.0005}
TICK = os.sysconf("SC_CLK_TCK")
TRACKER = "resource tracker"
# what stands in the name or the command line of such a process
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
        pass  # it has ended, or this kernel does not list them
    return found


def _precisely(pid: int) -> float:
    """CPU time in seconds of the threads that it has; 0: this kernel does not tell."""
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
    return total / 1e9


def _cpu(pid: int) -> tuple[int, tuple[float, float]] | None:
    """When it began, in ticks, and its CPU time in seconds: in ticks, with that of threads that have ended, and precisely."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            words = f.read().rpartition(")")[2].split()
        return int(words[19]), ((int(words[11]) + int(words[12])) / TICK, _precisely(pid))
    except (OSError, ValueError, IndexError):
        return None


def running() -> dict[tuple[int, int], tuple[float, float]]:
    """CPU time of all processes below this one, by their id and begin."""
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
    """What multiprocessing calls its processes: the command line of dask's workers does not tell that they are."""
    found = {}
    for process in list(getattr(sys.modules.get("multiprocessing.process"), "_children", ())):
        with contextlib.suppress(ValueError):  # it is closed
            found[process.pid] = process.name
    return found


def _kind(pid: int, names: dict[int, str]) -> str:
    """"": not known."""
    said = names.get(pid, "")
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
        said += "\n" + f.read()
    return next((kind for mark, kind in KINDS if mark in said), "multiprocessing" if pid in names else "")


def told(before: dict[tuple[int, int], tuple[float, float]]) -> list[str]:
    """before: what running() gave when the cell began. A line about those that have worked since, and are not measured here."""
    names, worked = _names(), []
    for (pid, begin), now in running().items():
        then = before.get((pid, begin), now)
        time, kind = max(now[0] - then[0], now[1] - then[1]), _kind(pid, names)
        if kind != TRACKER and time >= QUIET.get(kind, WORKED):
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
