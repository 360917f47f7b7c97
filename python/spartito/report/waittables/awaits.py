# SPDX-License-Identifier: BSD-3-Clause
"""The waits of asyncio, trio and anyio tasks in `spartito report waits`.

The recorder stores the innermost coroutine, its call path, and the type of the object that it awaits, which is nearly always a
future. The library functions on the call path show for what kind of object the program waits."""

from __future__ import annotations

from typing import Any

from spartito.base.text import Column, Output, count, name, plural, seconds, shortened
from spartito.report import locktable

LIBRARIES = ("asyncio", "trio", "anyio")
# kinds by the class of a library function, in any module
CLASSES = {
    "Lock": "lock", "StrictFIFOLock": "lock", "_LockImpl": "lock",
    "Condition": "condition",
    "Semaphore": "semaphore", "BoundedSemaphore": "semaphore", "CapacityLimiter": "semaphore",
    "Event": "event",
    "Barrier": "barrier",
    "Queue": "queue", "PriorityQueue": "queue", "LifoQueue": "queue",
    "MemoryReceiveChannel": "queue", "MemorySendChannel": "queue",
    "MemoryObjectReceiveStream": "queue", "MemoryObjectSendStream": "queue",
    "TaskGroup": "task", "NurseryManager": "task", "Nursery": "task",
}  # fmt: skip
# kinds by name of a function outside of classes, in any module
FUNCTIONS = {
    "sleep": "sleep", "__sleep0": "sleep", "sleep_until": "sleep", "sleep_forever": "sleep",
    "wait": "task", "_wait": "task",
}  # fmt: skip
# kinds by module, for all other functions
MODULES = {
    "asyncio.streams": "stream", "asyncio.sslproto": "stream",
    "asyncio.subprocess": "process", "asyncio.base_subprocess": "process",
    "asyncio.threads": "thread",
    "asyncio.base_events": "socket", "asyncio.selector_events": "socket", "asyncio.unix_events": "socket",
    "trio._highlevel_generic": "stream", "trio._highlevel_socket": "stream", "trio._unix_pipes": "stream",
    "trio._core._io_epoll": "socket", "trio._socket": "socket",
    "trio._subprocess": "process",
    "trio._threads": "thread", "anyio.to_thread": "thread",
}  # fmt: skip
# before all others: trio lets other tasks run in each of its functions, also if it need not wait for the lock or the queue
CHECKPOINTS = ("cancel_shielded_checkpoint", "checkpoint", "checkpoint_if_cancelled")
# used if none of the above applies: functions that create a task or await their argument, and types of the awaited object
TIMED = {"wait_for": "task", "timeout": "task"}
TYPES = {"Task": "task", "_GatheringFuture": "task", "Future": "future"}


def _library(function: str) -> str:
    """The library of a function: "asyncio" for asyncio.locks:Lock.acquire; empty: it is of no library."""
    package = function.partition(":")[0].partition(".")[0].lstrip("_")
    return package if package in LIBRARIES else ""


def _function(function: str) -> str:
    return function.partition(":")[2]


def _of_function(function: str) -> str:
    """The kind of wait that a library function means; empty: none in particular."""
    module, _, qualname = function.partition(":")
    owner = qualname.rpartition(".")[0].rpartition(".")[2]
    return CLASSES.get(owner) or FUNCTIONS.get(qualname) or MODULES.get(module, "")


def classify(wait: dict[str, Any]) -> tuple[str, str, list[str]]:
    """Classifies a row of Model.locks()["awaits"]. Returns the kind of the awaited object, its library (empty: not known), and the
    part of the call path from the task's coroutine to the program's innermost function."""
    stack = list(wait["stack"]) or [part for part in (wait["task"], wait["where"]) if part]
    if wait["task"] in stack:
        stack = stack[stack.index(wait["task"]) :]
    end = len(stack)
    while end and _library(stack[end - 1]):
        end -= 1
    inner = stack[end:]  # library functions, outermost first: the first one is awaited by the program
    what = str(wait["what"] or "")
    kind = "checkpoint" if any(_function(f) in CHECKPOINTS for f in inner) else ""
    kind = kind or next(filter(None, map(_of_function, inner)), "")
    kind = kind or next((TIMED[f] for f in map(_function, inner) if f in TIMED), "")
    # if no library function is on the path, the library of the event loop
    library = next(filter(None, map(_library, [*inner, *reversed(wait["stack"])])), "")
    return kind or TYPES.get(what.rpartition(".")[2], "other"), library, stack[:end] or stack


def rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of Model.locks()["awaits"] with `kind`, `library` and `path` of classify(), most time first."""
    awaits = []
    for wait in found["awaits"]:
        kind, library, path = classify(wait)
        awaits.append({**wait, "kind": kind, "library": library, "path": path})
    return sorted(awaits, key=lambda w: (-w["time"], w["path"], w["kind"]))


class _Sum:
    def __init__(self) -> None:
        self.time = self.longest = 0.0
        self.count = 0

    def add(self, wait: dict[str, Any]) -> None:
        self.time += wait["time"]
        self.count += wait["count"]
        self.longest = max(self.longest, wait["longest"])


def _title(wait: dict[str, Any]) -> str:
    return f"{wait['library']} {wait['kind']}".strip()


def write(out: Output, awaits: list[dict[str, Any]], limit: int) -> None:
    """Writes the tables of waits of tasks. awaits: from rows(); without rows it writes nothing."""
    if not awaits:
        return
    kinds: dict[str, _Sum] = {}
    places: dict[tuple[tuple[str, ...], str], _Sum] = {}
    for wait in awaits:
        kinds.setdefault(_title(wait), _Sum()).add(wait)
        places.setdefault((tuple(wait["path"]), _title(wait)), _Sum()).add(wait)
    whole = sum(wait["count"] for wait in awaits)
    out.line()
    out.line(f"tasks waited {plural(whole, 'time')}; their threads continued meanwhile", "bold")
    columns = [Column("waited"), Column("waits"), Column("longest", rank=2), Column("for", left=True, style="cyan")]
    by_time = sorted(kinds.items(), key=lambda item: (-item[1].time, item[0]))
    locktable.table(out, columns, [(seconds(s.time), count(s.count), seconds(s.longest), name(t)) for t, s in by_time], limit)
    out.line()
    columns = [
        Column("waited"), Column("waits"), Column("longest", rank=2), Column("for", left=True, rank=2),
        Column("call path", left=True, style="cyan", rank=1),
    ]  # fmt: skip
    table = [
        (seconds(s.time), count(s.count), seconds(s.longest), name(title), shortened(list(path)) or "(not known)")
        for (path, title), s in sorted(places.items(), key=lambda item: (-item[1].time, item[0]))
    ]
    locktable.table(out, columns, table, limit)
