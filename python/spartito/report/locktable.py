# SPDX-License-Identifier: BSD-3-Clause
"""Waits of threads (`spartito run --waits`) in `spartito report waits`, in the summary of a run and in `spartito doctor PID`."""

from __future__ import annotations

import os
import re

from spartito.base.text import Column, Output, count, name, percent, plural, seconds, shortened

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Holder = tuple[str, int | None]  # the function in which it acquired the lock, "" if unknown; location, None: GONE

TIME = "wait_time"  # the metric that an experiment has if waits were recorded
KINDS = {
    "lock": "Lock",
    "rlock": "RLock",
    "thread": "thread",
    "process_lock": "lock of processes",
    "process": "process",
    "file_lock": "file lock",
    "gil": "GIL",
    "sem": "semaphore of C",
    "cond": "condition of C",
    "mutex": "mutex of C",
    "rwlock": "read-write lock of C",
    "pthread_barrier": "barrier of C",
}
LIFETIME_LOCK = "threading:Thread._set_tstate_lock"  # acquires a lock that a thread holds until it ends
C_THREAD = "pthread_t"  # type of the object in a wait for the end of a C thread
# packages whose threads and processes wait for work of others
HELPERS = ("threading", "queue", "concurrent", "multiprocessing", "selectors", "socket", "subprocess", "asyncio", "joblib")
WORK_ITEM = "concurrent.futures.thread:_WorkItem.run"  # what a worker of a thread pool runs belongs to the program
END_OF_PROGRAM = "threading:_shutdown"  # the main thread waits there for the others
BEGIN_OF_CHILD = "multiprocessing.process:BaseProcess._bootstrap"
PATH = Column("call path", left=True, style="cyan", rank=1)
OUTSIDE = "(outside of Python functions)"  # an empty call path; reports of memory use the same words
# files of the standard library and of installed packages; only the last part of the path is shown
LIBRARY = re.compile(r".*/lib(?:64)?/python[0-9.]+t?/(?:(?:site|dist)-packages/)?(.+)", re.DOTALL)


def recorded(info: dict[str, Any]) -> bool:
    """Whether waits of threads were recorded."""
    return any(m["name"] == TIME for m in info["metrics"])


def _short(path: str) -> str:
    if found := LIBRARY.fullmatch(path):
        return found[1]
    near = os.path.relpath(path) if path.startswith("/") else path
    return near if len(near) < len(path) else path


def _place(file: str | None, line: int) -> str:
    return name(f"{_short(file)}:{line}" if line else _short(file)) if file else ""


def made(lock: dict[str, Any]) -> str:
    """The source location where a lock was created; empty: not known."""
    return _place(lock["made_file"], lock["made_line"])


MANY = 8  # more objects of one type made at one place are one row
NEARLY_ALL = 0.995  # a holder with this share of the waits needs no number
GONE = "a thread that is not in this process"  # holder of a lock that a forked child inherited in locked state


class Names:
    """Titles of the locks and threads of an experiment."""

    def __init__(self, found: dict[str, Any], info: dict[str, Any]) -> None:
        self.locks = found["locks"]
        self.waits = found["waits"]
        self.locations = info["locations"]
        self.processes = info["processes"]
        # {lock: thread}: locks that a thread held until its end, from waits for them; the thread may have ended since
        until_end = [w for w in self.waits if w["holder_stack"][-1:] == [LIFETIME_LOCK] and w["holder"] is not None]
        self.lives = {w["lock"]: w["holder"] for w in until_end}
        self.titles = [self._title(i, lock) for i, lock in enumerate(self.locks)]
        alike: dict[tuple[int, str], dict[int, int]] = {}  # (process, title): {object: its number among those with this title}
        # for each lock the object that tables show: the lock, or the object that it is a part of
        self.shown = [i if lock["user"] is None else lock["user"] for i, lock in enumerate(self.locks)]
        self._kin = self._find_kin()
        for i, lock in enumerate(self.locks):
            numbers = alike.setdefault((lock["process"], self.titles[i]), {})
            numbers.setdefault(self.shown[i], len(numbers) + 1)
        for i, lock in enumerate(self.locks):
            numbers = alike[lock["process"], self.titles[i]]
            if len(numbers) > 1:
                self.titles[i] += f" #{numbers[self.shown[i]]}"

    def _find_kin(self) -> list[str]:
        """For each lock, the title of the many objects of its process that are like it; empty: there are few. A row for each would
        hide the others: multiprocessing makes a selector for each message."""
        kin = []
        objects: dict[tuple[int, str], set[int]] = {}
        for i, lock in enumerate(self.locks):
            title = re.sub(r" 0x[0-9a-f]+$", "", self.titles[i])
            kin.append((lock["process"], title))
            objects.setdefault(kin[i], set()).add(self.shown[i])
        return [f"{key[1]} ({count(len(objects[key]))} objects)" if len(objects[key]) > MANY else "" for key in kin]

    def row(self, index: int | None, kind: str) -> tuple[int | None, str]:
        """A row of a table, for all waits for one object or for many alike. Returns the object and the title. Object None: there is
        no distinct object, or there are many."""
        if index is not None and self._kin[index]:
            return None, self._kin[index]
        return None if index is None else self.shown[index], self.of_lock(index, kind)

    def of_lock(self, index: int | None, kind: str = "") -> str:
        """The title of a lock, such as "Queue made at app.py:12". index None: the wait has no distinct object, so its kind is the
        title."""
        return KINDS.get(kind, kind) if index is None else self.titles[index]

    def _title(self, i: int, lock: dict[str, Any]) -> str:
        if lock["kind"] == "gil":
            return KINDS["gil"]
        if lock["user"] is None and i in self.lives:
            return f"the end of {self.of_thread(self.lives[i], lock['process'])}"
        if lock["holder_stack"][-1:] == [LIFETIME_LOCK] or (lock["type"] == C_THREAD and lock["holder"] is not None):
            return f"the end of {self.of_thread(lock['holder'], lock['process'])}"
        if lock["type"] == C_THREAD:
            return "the end of a thread of C"
        whole = self.locks[lock["user"]] if lock["user"] is not None else None
        shown = whole or lock
        title = str(shown["type"] or KINDS.get(shown["kind"], shown["kind"]))
        title = title.removeprefix("_thread.").removeprefix("threading.")
        title = {"lock": "Lock", "thread.lock": "Lock"}.get(title, title)
        where = made(shown) or made(lock)
        if where:
            title += f" made at {where}"
        elif lock["address"]:
            title += f" {lock['address']:#x}"
        return name(title)

    def of_thread(self, location: int | None, process: int | None = None) -> str:
        """The name of a thread. Its process is added, unless it is `process`, which the context names already."""
        if location is None:
            return ""
        loc = self.locations[location]
        text = name(loc["name"]) or f"thread {loc['tid']}"
        if len(self.processes) > 1 and loc["process"] != process:
            text += f" of process {self.processes[loc['process']]['pid']}"
        return text


# ---- deadlock cycles ----


def _last_wait(found: dict[str, Any], location: int, lock: int) -> dict[str, Any] | None:
    waits = [w for w in found["waits"] if w["location"] == location and w["lock"] == lock]
    return max(waits, key=lambda w: (w["open"], w["longest"])) if waits else None


def deadlocks(found: dict[str, Any], info: dict[str, Any]) -> list[str]:
    """Lines about deadlock cycles, including those that were interrupted."""
    names = Names(found, info)
    lines = []
    for cycle in found["deadlocks"]:
        process, links = cycle["process"], cycle["links"]
        of = f" in process {info['processes'][process]['pid']}" if len(info["processes"]) > 1 else ""
        end = "until it was interrupted" if cycle["interrupted"] else "at the end"
        if info["processes"][process]["end"] == "running" and not cycle["interrupted"]:
            end = "now"
        if len(links) == 1:
            lines.append(f"deadlock{of} {end}: a thread waits for a lock that it holds itself")
        else:
            lines.append(f"deadlock{of} {end}: {len(links)} threads wait for each other")
        for i, link in enumerate(links):
            wait = _last_wait(found, link["location"], link["lock"])
            at = _place(wait["file"], wait["line"]) if wait else ""
            function = name(wait["stack"][-1]) if wait and wait["stack"] else ""
            after = links[(i + 1) % len(links)]["location"]
            lines.append(
                f"  {names.of_thread(link['location'], process)} waits for {names.of_lock(link['lock'])}, which "
                f"{names.of_thread(after, process)} holds" + (f"; at {at}" if at else "") + (f" in {function}" if function else "")
            )
    return lines


# ---- outstanding waits ----


def waiting(found: dict[str, Any], info: dict[str, Any], process: int, now: float) -> list[str]:
    """A line for each thread of a process about its outstanding wait. now: seconds since the begin of the experiment."""
    names = Names(found, info)
    lines = []
    for i, loc in enumerate(info["locations"]):
        if loc["process"] != process:
            continue
        open_waits = [w for w in found["waits"] if w["location"] == i and w["open"]]
        title = names.of_thread(i, process)
        if not open_waits:
            lines.append(f"{title} ({loc['tid']}): waits for nothing that is recorded")
            continue
        w = max(open_waits, key=lambda w: w["since"])
        since = seconds(max(0.0, now - w["since"]))
        text = f"{title} ({loc['tid']}): waits for {names.of_lock(w['lock'], w['kind'])} since {since}"
        if (place := _place(w["file"], w["line"])) or w["stack"]:
            text += f", at {place}" if place else ""
            text += f" in {shortened(w['stack'])}" if w["stack"] else ""
        lock = found["locks"][w["lock"]] if w["lock"] is not None else None
        if w["timed"]:
            text += "; it has a time limit"
        if w["news"]:
            text += "" if w["timed"] else "; another thread must notify it"
        elif lock and lock["gone"]:
            text += f"; held since the fork by {GONE}"
        elif lock and lock["holder"] is not None:
            holder = "itself" if lock["holder"] == i else names.of_thread(lock["holder"], process)
            text += f"; held by {holder}"
            if lock["since"] is not None:
                text += f" since {seconds(max(0.0, now - lock['since']))}"
            if lock["holder_stack"]:
                text += f", which acquired it in {shortened(lock['holder_stack'])}"
        lines.append(text)
    return lines


# ---- tables ----


def _main_holder(names: Names, held: dict[Holder, float], whole: float) -> str:
    """The function whose threads held the lock when others waited longest, with its share of `whole` if others held the lock, or
    nobody known did."""
    times: dict[Holder, float] = {}
    threads: dict[Holder, set[int | None]] = {}
    for (function, thread), time in held.items():
        key = (function, None if function else thread)  # threads whose function is unknown count separately
        times[key] = times.get(key, 0.0) + time
        threads.setdefault(key, set()).add(thread)
    if not times:
        return ""
    most = max(times, key=lambda key: (times[key], key[0], key[1] or 0))
    who = sorted(threads[most], key=lambda thread: thread or 0)
    text = plural(len(who), "thread") if len(who) > 1 else GONE if who[0] is None else names.of_thread(who[0])
    text += f" in {most[0]}" if most[0] else ""
    return f"{text} ({percent(times[most], whole)} %)" if times[most] < NEARLY_ALL * whole else text


class _Sum:
    def __init__(self) -> None:
        self.time = self.longest = 0.0
        self.count = 0
        self.open = False
        self.held: dict[Holder, float] = {}  # {holder: seconds}
        self.threads: set[int] = set()
        self.locks: set[int] = set()

    def add(self, wait: dict[str, Any], holder: Holder | None) -> None:
        self.time += wait["time"]
        self.count += wait["count"]
        self.open |= wait["open"]
        self.longest = max(self.longest, wait["longest"])
        self.threads.add(wait["location"])
        if wait["lock"] is not None:
            self.locks.add(wait["lock"])
        if holder is not None:
            self.held[holder] = self.held.get(holder, 0.0) + wait["time"]


def _time(s: _Sum, time: float | None = None) -> str:
    """The time of waits. An outstanding wait of a killed process has no time."""
    return seconds(s.time if time is None else time) if s.time or not s.open else "not ended"


def _holder(names: Names, wait: dict[str, Any]) -> Holder | None:
    # a lock that a forked child inherited in locked state had no other holder in this process
    if wait["holder"] is None and not wait["news"] and wait["lock"] is not None and names.locks[wait["lock"]]["gone"]:
        return "", None
    if wait["holder"] is None:
        return None
    return name(wait["holder_stack"][-1]) if wait["holder_stack"] else "", wait["holder"]


def table(out: Output, columns: list[Column], rows: Sequence[tuple[str, ...]], limit: int) -> None:
    """Writes the first `limit` rows (0: all), and how many more there are."""
    shown = rows[:limit] if limit else rows
    out.table(columns, shown)
    if len(shown) < len(rows):
        out.line(f"… {count(len(rows) - len(shown))} more")


def _objects(out: Output, found: dict[str, Any], names: Names, limit: int) -> None:
    sums: dict[tuple[int | None, str], _Sum] = {}
    for w in found["waits"]:
        sums.setdefault(names.row(w["lock"], w["kind"]), _Sum()).add(w, _holder(names, w))
    rows = []
    for (_, title), s in sorted(sums.items(), key=lambda item: (-item[1].time, str(item[0]))):
        locks = [found["locks"][lock] for lock in s.locks]
        times, length = sum(o["count"] for o in locks), sum(o["held"] for o in locks)
        acquired, held = count(times) if times else "", seconds(length) if length else ""
        numbers = (_time(s), count(s.count), _time(s, s.longest), count(len(s.threads)))
        rows.append((*numbers, acquired, held, title, _main_holder(names, s.held, s.time)))
    columns = [
        Column("waited"), Column("waits"), Column("longest", rank=2), Column("threads", rank=3), Column("acquired", rank=4),
        Column("held", rank=4), Column("for", left=True, style="cyan"), Column("main holder", left=True, rank=1),
    ]  # fmt: skip
    table(out, columns, rows, limit)


def _places(out: Output, found: dict[str, Any], names: Names, limit: int) -> None:
    sums: dict[tuple[tuple[str, ...], str, str], _Sum] = {}
    for w in found["waits"]:
        key = (tuple(w["stack"]), _place(w["file"], w["line"]), names.row(w["lock"], w["kind"])[1])
        sums.setdefault(key, _Sum()).add(w, _holder(names, w))
    rows = [
        (_time(s), count(s.count), what, place, shortened(stack) or OUTSIDE)
        for (stack, place, what), s in sorted(sums.items(), key=lambda item: (-item[1].time, item[0]))
    ]
    columns = [Column("waited"), Column("waits"), Column("for", left=True, rank=2), Column("at", left=True, rank=2), PATH]
    table(out, columns, rows, limit)


def write(out: Output, found: dict[str, Any], info: dict[str, Any], limit: int) -> None:
    names = Names(found, info)
    for line in deadlocks(found, info):
        out.line(line, "" if line.startswith("  ") else "bold red")
    if found["deadlocks"]:
        out.line()
    if not found["waits"]:
        out.line("no thread waited for another, a lock or a time")
        return
    _objects(out, found, names, limit)
    out.line()
    _places(out, found, names, limit)
    still = [w for w in found["waits"] if w["open"]]
    if still:
        out.line()
        ended = "wait now" if any(p["end"] == "running" for p in info["processes"]) else "had not ended at the end"
        out.line(f"{plural(len(still), 'wait')} {ended}; the times are those up to then")


def _is_helper(stack: list[str]) -> bool:
    """Whether a call path is one of a thread or process that serves a pool or queue and runs no function of the program."""
    if BEGIN_OF_CHILD in stack:  # what is above it is the call path of the parent
        stack = stack[len(stack) - stack[::-1].index(BEGIN_OF_CHILD) - 1 :]
    if WORK_ITEM in stack or END_OF_PROGRAM in stack:
        return False
    return all(function.partition(":")[0].partition(".")[0] in HELPERS for function in stack)


def _is_idle(wait: dict[str, Any]) -> bool:
    """Whether a wait is a sleep, or that of an idle thread of a library."""
    if wait["kind"] in ("sleep", "gil", "thread"):
        return bool(wait["kind"] == "sleep")
    return _is_helper(wait["stack"]) if wait["stack"] else bool(wait["news"])


def longest(found: dict[str, Any], info: dict[str, Any]) -> str:
    """A line about the total time of waits and the object with the longest ones; empty: there are only idle waits."""
    waits = [w for w in found["waits"] if not _is_idle(w)]
    whole = sum(w["time"] for w in waits)
    if not whole:
        return ""
    names = Names(found, info)
    times: dict[tuple[int | None, str], float] = {}
    for w in waits:
        key = names.row(w["lock"], w["kind"])
        times[key] = times.get(key, 0.0) + w["time"]
    most = max(times, key=lambda key: times[key])
    return f"threads waited {seconds(whole)} (without sleeps and idle threads), {seconds(times[most])} of it for {most[1]}"


def summary(found: dict[str, Any], info: dict[str, Any]) -> list[str]:
    """Lines for the summary of a run."""
    line = longest(found, info)
    return [*([f"{line}; spartito report waits shows where"] if line else []), *deadlocks(found, info)]
