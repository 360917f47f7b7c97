# SPDX-License-Identifier: BSD-3-Clause
"""Where the time goes, in plain sentences: the first thing that a person reads. Few, short, and each one true of the numbers that
the tables show: exclusive time ("itself") is never mixed with time of callees, nor time of all threads together with the run's
length."""

from __future__ import annotations

import os

from spartito.base.text import count, name, percent, plural, seconds, shortened, size
from spartito.experiments import contents
from spartito.experiments.naming import rank_number
from spartito.report import locktable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

LARGE = 0.1  # of the time: a function that deserves a sentence
SOME = 0.05  # one that is named beside it
UNEVEN = 0.1  # the busiest over the mean
COSTLY = 0.1  # of the time taken by measuring
THROUGH = 0.5  # of the time below one call path
NO_WORK = ("off", "collapsed", "root")
# functions of the interpreter's library whose exclusive time is waiting; those in Python call what waits, which is a part of them
# unless C calls are recorded
WAITING = frozenset(
    (
        *(f"selectors:{which}Selector.select" for which in ("Epoll", "Kqueue", "Poll", "Select")),
        "subprocess:Popen._try_wait",
        "threading:Condition.wait",
        "threading:Thread._wait_for_tstate_lock",
        "<built-in method posix.waitpid>",
        "<built-in method select.select>",
        "<built-in method time.sleep>",
        "<method 'acquire' of '_thread.RLock' objects>",
        "<method 'acquire' of '_thread.lock' objects>",
        "<method 'get' of '_queue.SimpleQueue' objects>",
        "<method 'join' of '_thread._ThreadHandle' objects>",
        "<method 'poll' of 'select.epoll' objects>",
        "<method 'poll' of 'select.poll' objects>",
    )
)


SHELL = ("display", "traceback")  # regions of a cell in which the notebook shows its value or its error


class Sentence:
    """region: index of the function that it is about, None: no single one."""

    __slots__ = ("region", "text")

    def __init__(self, text: str, region: int | None = None) -> None:
        self.text = text
        self.region = region


def spoken(said: list[Sentence]) -> dict[str, Any]:
    """sentences, and the region that each is about."""
    return {"sentences": [s.text for s in said], "about": [s.region for s in said]}


def share(part: float, whole: float) -> str:
    """62 %; below ten with one digit; never 100 for what is less, nor 0 for what is more than nothing."""
    p = 100 * part / whole if whole > 0 else 0.0
    if p >= 99.5 and part < whole:
        return "over 99 %"
    if p < 9.95:
        return "less than 0.1 %" if 0 < p < 0.05 else f"{p:.1f} %"
    return f"{p:.0f} %"


def place(row: dict[str, Any]) -> str:
    """(solver.py:41), where that is known and says more than the name."""
    if not row["file"] or row["file"].startswith("<"):
        return ""
    base = name(os.path.basename(row["file"]))
    return f" ({base}:{row['line']})" if row["line"] else f" ({base})"


def _whole(info: dict[str, Any], total: float) -> str:
    """What shares are of."""
    n, processes = len(info["locations"]), info["processes"]
    if n < 2:
        return seconds(total)
    what = "threads"
    if n == len(processes):
        what = "ranks" if all(p["rank"] is not None for p in processes) else "processes"
    return f"the {seconds(total)} of all {count(n)} {what} together"


def _of_function(row: dict[str, Any], total: float, whole: str) -> str:
    part, where = _capital(share(row["excl"], total)), f"{name(row['name'])}{place(row)}"
    calls = f", in {plural(row['visits'], 'call')}" if row["visits"] else ""
    if row["qualname"] == "<module>" and row["file"]:
        base = name(os.path.basename(row["file"]))
        return f"{part} of {whole} is spent in {base} outside of functions ({name(row['name'])})."
    if row["name"] in WAITING or (row["kind"] == "c" and row["qualname"] in WAITING):
        return f"{part} of {whole} is spent waiting in {where}{calls}."
    if row["kind"] in ("mpi", "c", "io"):
        return f"{part} of {whole} is spent in {where}{calls}."
    return f"{part} of {whole} is spent in {where} itself{calls}."


def _functions(rows: list[tuple[int, dict[str, Any]]], total: float, whole: str) -> list[Sentence]:
    """Of the functions with the most exclusive time."""
    if not rows:
        return []
    region, first = rows[0]
    if first["excl"] < LARGE * total:
        text = f"No function stands out: the largest exclusive time is {share(first['excl'], total)} of {whole}"
        return [Sentence(f"{text}, in {name(first['name'])}{place(first)}.", region)]
    said = [Sentence(_of_function(first, total, whole), region)]
    more = [(i, r) for i, r in rows[1:4] if r["excl"] >= SOME * total]
    if more:
        names = [f"{name(r['name'])} ({share(r['excl'], total)})" for _, r in more]
        said.append(Sentence(f"Next by exclusive time: {', '.join(names)}.", more[0][0]))
    return said


def _way(model: Model, total: float, top: str) -> list[Sentence]:
    """The longest way from the outermost call through which at least half of the time passes, unless it ends in what was named."""
    row: dict[str, Any] | None = None
    names: list[str] = []
    at = None
    for r in model.tree(threshold=THROUGH):  # a caller before its callees
        if r["kind"] == "root" or r["parent"] != (0 if at is None else at):
            continue
        row, at = r, r["path"]
        names.append(r["name"])
    if row is None or len(names) < 2 or row["name"] == top or row["incl"] < THROUGH * total or _is_the_shell(row):
        return []
    if row["file"].startswith("In[") and row["qualname"] == "<module>":  # all of a cell passes through that
        return []
    return [Sentence(f"{_capital(share(row['incl'], total))} passes through {shortened(names)}{place(row)}.")]


def _mpi(model: Model, info: dict[str, Any]) -> list[Sentence]:
    """How much of the time is in functions of MPI, and the rank that has the most."""
    if not info["worlds"]:
        return []
    busy, mpi = [0.0] * len(info["processes"]), [0.0] * len(info["processes"])
    for loc in info["locations"]:
        busy[loc["process"]] += loc["busy"]
        mpi[loc["process"]] += loc["mpi"]
    if sum(mpi) < SOME * sum(busy):
        return [Sentence(f"MPI takes {share(sum(mpi), sum(busy))} of the time.")]
    said = [Sentence(f"MPI takes {share(sum(mpi), sum(busy))} of the time of all ranks together.")]
    ranks = [i for i in range(len(busy)) if busy[i] > 0 and rank_number(info, i) is not None]
    most = max(ranks, key=lambda i: mpi[i] / busy[i], default=None)
    if most is None or len(ranks) < 2:
        return said
    part = share(mpi[most], busy[most])
    text = f"The rank with the largest share of MPI is rank {rank_number(info, most)}: {part} of its time"
    rows = [r for r in model.flat(process=most, match="MPI_*", limit=1) if r["kind"] == "mpi"]
    if rows and rows[0]["excl"] >= SOME * busy[most]:
        text += f", {share(rows[0]['excl'], busy[most])} in {rows[0]['name']} alone"
    said.append(Sentence(f"{text}."))
    return said


def _spread(info: dict[str, Any]) -> list[Sentence]:
    """The busiest rank (outside of MPI, where ranks wait for each other), process or thread."""
    processes, locations = info["processes"], info["locations"]
    work = [0.0] * len(processes)
    for loc in locations:
        work[loc["process"]] += loc["busy"] - loc["mpi"]
    those = [(work[i], f"Rank {rank_number(info, i)}") for i in range(len(processes)) if rank_number(info, i) is not None]
    what, outside = "ranks", " outside of MPI"
    if len(those) < 2:
        those = [(t, f"Process {p['pid']}") for t, p in zip(work, processes)]
        what, outside = "processes", ""
    if len(those) < 2:
        those = [(loc["busy"], f"Thread {name(loc['name'])}") for loc in locations]
        what = "threads"
    if len(those) < 2:
        return []
    longest, who = max(those, key=lambda one: one[0])
    mean = sum(t for t, _ in those) / len(those)
    if longest <= 0:
        return []
    if longest - mean <= UNEVEN * mean:
        over = share(longest - mean, mean) if longest > mean else "0 %"
        return [Sentence(f"The work is even over {count(len(those))} {what}: the busiest has {over} more than the mean.")]
    text = f"{who} is the busiest of {count(len(those))} {what}{outside}: {seconds(longest)}, the mean is {seconds(mean)}."
    return [Sentence(text)]


def _lines(model: Model) -> list[Sentence]:
    """The line with the most time, of those that were recorded."""
    most: tuple[float, dict[str, Any], tuple[int, int, float, float]] | None = None
    for function in model.lines():
        for line in function["lines"]:
            time = line[2] + line[3]
            if most is None or time > most[0]:
                most = (time, function, line)
    if most is None or most[0] <= 0:
        return []
    time, f, line = most
    whole = f["excl"] + f["callees"]
    text = f"The longest line is {line[0]} of {name(f['name'])}: {share(time, whole)} of that function's {seconds(whole)}."
    return [Sentence(text)]


def damage(told: list[str]) -> list[Sentence]:
    """That the numbers above are not of all that happened. told: what was lost, and problems."""
    if not any("damaged" in text or "cannot be read" in text for text in told):
        return []
    return [Sentence("Part of the recording is damaged and missing in these numbers. Details are below.")]


def _memory(model: Model, info: dict[str, Any]) -> list[Sentence]:
    """Of memory that was recorded alone."""
    if not contents.is_recorded(info):
        return []
    peaks = {row["name"]: row["metrics"]["peak_bytes"]["excl"] for row in model.flat()}
    whole = sum(peaks.values())
    if not whole:
        return []
    most = max(peaks, key=lambda function: peaks[function])
    share = f"{size(peaks[most])} of it ({percent(peaks[most], whole)} %) allocated in {name(most)}"
    return [Sentence(f"Memory alone was recorded, and no calls: {size(whole)} were live at the peak, {share}.")]


def _waits(model: Model, info: dict[str, Any]) -> tuple[list[Sentence], list[Sentence]]:
    """Of threads that wait for each other in a deadlock cycle; and of how long all threads waited."""
    if not locktable.recorded(info):
        return [], []
    found = model.locks()
    # a line within a deadlock begins with the name of a thread, which stays as it is
    dead = [f"{line.strip() if line.startswith(' ') else _capital(line)}." for line in locktable.deadlocks(found, info)]
    longest = locktable.longest(found, info)
    return [Sentence(text) for text in dead], [Sentence(f"{_capital(longest)}.")] if longest else []


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_the_shell(row: dict[str, Any]) -> bool:
    """A region of a notebook's cell in which the shell works, and not the cell's code: the one around it all, too."""
    return row["kind"] == "user" and row["file"].startswith("In[") and row["name"] in (*SHELL, row["file"])


def sentences(model: Model, info: dict[str, Any], rows: list[tuple[int, dict[str, Any]]], cost: float) -> list[Sentence]:
    """rows: (index of the region, row of Model.flat()), those with the most exclusive time first. cost: s that measuring took."""
    deadlocks, waits = _waits(model, info)
    return [*deadlocks, *_of_time(model, info, rows, cost), *waits]


def _of_time(model: Model, info: dict[str, Any], rows: list[tuple[int, dict[str, Any]]], cost: float) -> list[Sentence]:
    total = sum(loc["busy"] for loc in info["locations"])
    visits = sum(loc["visits"] for loc in info["locations"])
    lines = _lines(model)
    of_samples = total and contents.taken(info)
    if not visits and not of_samples and (lines or not total):  # lines alone: frames that were open around them say nothing
        return lines or _memory(model, info) or [Sentence("Nothing was recorded: no function was called while recording was on.")]
    off = sum(r["incl"] for _, r in rows if r["kind"] == "off")
    worked = [(i, r) for i, r in rows if r["kind"] not in NO_WORK]
    shell = sum(r["excl"] for _, r in worked if _is_the_shell(r))
    worth = total
    if 0 < shell < total:
        # of a cell: nobody looks for the time that showing its value took, which the table has
        worked, worth = [(i, r) for i, r in worked if not _is_the_shell(r)], total - shell
    said = _functions(worked, worth, _whole(info, worth))
    said += _way(model, worth, worked[0][1]["name"] if worked else "")
    said += [*_mpi(model, info), *_spread(info), *lines]
    if off >= SOME * total:
        said.append(Sentence(f"For {share(off, total)} of the time recording was off."))
    if cost >= COSTLY * total:
        often = "functions called very often appear longer than they are"
        said.append(Sentence(f"Measuring took about {share(cost, total)} of it: {often}."))
    return said
