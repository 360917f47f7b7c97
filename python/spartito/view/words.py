# SPDX-License-Identifier: BSD-3-Clause
"""The summary of a run: sentences about where the time is spent, which the viewer shows first. They are few and short, and agree
with the tables: they do not mix exclusive time ("itself") with time of callees, nor time of all threads with the run's duration."""

from __future__ import annotations

import os

from spartito.base.messages import Refused
from spartito.base.text import count, name, percent, plural, seconds, shortened, size
from spartito.experiments import contents, waiting
from spartito.experiments.naming import rank_number
from spartito.experiments.roles import grouped, process_label
from spartito.report import locktable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

# smallest fractions of the time
LARGE = 0.1  # of a function that gets a sentence
SOME = 0.05  # of a function that is named beside it
UNEVEN = 0.1  # of the mean, by which the busiest thread exceeds it
COSTLY = 0.1  # of the cost of measuring
MOSTLY = 0.9  # of the time in which the threads waited: then that comes first
THROUGH = 0.5  # of a call path with its callees
NO_WORK = ("off", "collapsed", "root")  # kinds of regions that are no functions
SHELL = ("display", "traceback")  # regions of a cell in which the notebook displays the cell's value or error


class Sentence:
    """region: index of the function that the sentence is about, None: no single function."""

    __slots__ = ("region", "text")

    def __init__(self, text: str, region: int | None = None) -> None:
        self.text = text
        self.region = region


def as_members(found: list[Sentence]) -> dict[str, Any]:
    """The members `sentences` and `about` of an answer's meta."""
    return {"sentences": [s.text for s in found], "about": [s.region for s in found]}


def share(part: float, whole: float) -> str:
    """A percentage such as "62 %"; with one decimal below 10. Less than all is never "100 %", more than nothing never "0.0 %"."""
    p = 100 * part / whole if whole > 0 else 0.0
    if p >= 99.5 and part < whole:
        return "over 99 %"
    if p < 9.95:
        return "less than 0.1 %" if 0 < p < 0.05 else f"{p:.1f} %"
    return f"{p:.0f} %"


def place(row: dict[str, Any]) -> str:
    """The source location such as " (solver.py:41)"; "" if there is no file."""
    if not row["file"] or row["file"].startswith("<"):
        return ""
    base = name(os.path.basename(row["file"]))
    return f" ({base}:{row['line']})" if row["line"] else f" ({base})"


def _whole(info: dict[str, Any], total: float) -> str:
    """The total time in words, for sentences with shares of it."""
    n, processes = len(info["locations"]), info["processes"]
    waited = _waited(info) >= SOME
    if n < 2:
        return f"the {seconds(total)} of running" if waited else seconds(total)
    what = "threads"
    if n == len(processes):
        what = "ranks" if all(p["rank"] is not None for p in processes) else "processes"
    return f"the {seconds(total)} {'that' if waited else 'of'} all {count(n)} {what} together{' ran' if waited else ''}"


def _waited(info: dict[str, Any]) -> float:
    """The fraction of the time of all threads in which they waited or were preempted."""
    busy, running = (sum(loc[key] for loc in info["locations"]) for key in ("busy", "running"))
    return 1 - running / busy if busy > 0 else 0.0


def _waiting(model: Model, info: dict[str, Any]) -> list[Sentence]:
    """A sentence about where the threads waited longest."""
    try:
        all_waits = waiting.rows(model, waiting.LEAST) if contents.split(info) and _waited(info) >= SOME else []
    except Refused as e:  # the user's list of functions cannot be read: the page does not depend on it
        return [Sentence(f"{e}.")]
    found = [row for row in all_waits if not _shows_a_cell(row)]
    total, busy = sum(row["waiting"] for row in found), sum(loc["busy"] for loc in info["locations"])
    if not found or total < SOME * busy:
        return []
    who = "The thread" if len(info["locations"]) == 1 else "The threads"
    kind = "" if found[0]["kind"] == waiting.OTHER else f" ({found[0]['kind']})"
    where = f"{share(found[0]['waiting'], total)} of it in {name(found[0]['name'])}{place(found[0])}{kind}"
    return [Sentence(f"{who} waited for {share(total, busy)} of the {seconds(busy)} that were recorded: {where}.")]


def _preempted(info: dict[str, Any]) -> list[Sentence]:
    """A sentence about the time in which threads had no processor."""
    total, busy = contents.preempted(info), sum(loc["busy"] for loc in info["locations"])
    if total <= 0 or total < SOME * busy:
        return []
    who = "The thread was" if len(info["locations"]) == 1 else "The threads were"
    part = f"{share(total, busy)} of the {seconds(busy)} that were recorded"
    return [Sentence(f"{who} preempted for {part}: ready to run, but the processors ran something else.")]


def _of_function(row: dict[str, Any], total: float, whole: str) -> str:
    part, where = _capital(share(row["running"], total)), f"{name(row['name'])}{place(row)}"
    calls = f", in {plural(row['visits'], 'call')}" if row["visits"] else ""
    if row["qualname"] == "<module>" and row["file"]:
        base = name(os.path.basename(row["file"]))
        return f"{part} of {whole} is spent in {base} outside of functions ({name(row['name'])})."
    if row["kind"] in ("mpi", "c", "io"):
        return f"{part} of {whole} is spent in {where}{calls}."
    return f"{part} of {whole} is spent in {where} itself{calls}."


def _functions(rows: list[tuple[int, dict[str, Any]]], total: float, whole: str) -> list[Sentence]:
    """Sentences about the functions in which the threads ran longest."""
    if not rows:
        return []
    region, first = rows[0]
    if first["running"] < LARGE * total:
        text = f"No function stands out: the longest is {share(first['running'], total)} of {whole}"
        return [Sentence(f"{text}, in {name(first['name'])}{place(first)}.", region)]
    found = [Sentence(_of_function(first, total, whole), region)]
    more = [(i, r) for i, r in rows[1:4] if r["running"] >= SOME * total]
    if more:
        names = [f"{name(r['name'])} ({share(r['running'], total)})" for _, r in more]
        found.append(Sentence(f"Next: {', '.join(names)}.", more[0][0]))
    return found


def _ran(row: dict[str, Any]) -> float:
    """The time in s in which a call path and what it called ran; all its time if that is not known."""
    return float(row.get("running_incl", row["incl"]))


def _call_path(model: Model, total: float, worth: float, top: str) -> list[Sentence]:
    """A sentence about the longest call path with at least THROUGH of the running time, unless it ends in the function `top`, which
    has a sentence already. total: the time of all threads, worth: the part of it in which they ran, in s."""
    row: dict[str, Any] | None = None
    names: list[str] = []
    at = None
    for r in model.tree(threshold=contents.of_running(THROUGH, worth, total)):  # a caller before its callees
        if r["kind"] == "root" or r["parent"] != (0 if at is None else at) or _ran(r) < THROUGH * worth:
            continue
        row, at = r, r["path"]
        names.append(r["name"])
    if row is None or len(names) < 2 or row["name"] == top or _is_the_shell(row):
        return []
    if row["file"].startswith("In[") and row["qualname"] == "<module>":  # all time of a cell passes through its module
        return []
    return [Sentence(f"{_capital(share(_ran(row), worth))} passes through {shortened(names)}{place(row)}.")]


def _mpi(model: Model, info: dict[str, Any]) -> list[Sentence]:
    """Sentences about the share of MPI functions, and the rank with the largest share."""
    if not info["worlds"]:
        return []
    busy, mpi = [0.0] * len(info["processes"]), [0.0] * len(info["processes"])
    for loc in info["locations"]:
        busy[loc["process"]] += loc["busy"]
        mpi[loc["process"]] += loc["mpi"]
    if sum(mpi) < SOME * sum(busy):
        return [Sentence(f"MPI takes {share(sum(mpi), sum(busy))} of the time.")]
    found = [Sentence(f"MPI takes {share(sum(mpi), sum(busy))} of the time of all ranks together.")]
    ranks = [i for i in range(len(busy)) if busy[i] > 0 and rank_number(info, i) is not None]
    most = max(ranks, key=lambda i: mpi[i] / busy[i], default=None)
    if most is None or len(ranks) < 2:
        return found
    part = share(mpi[most], busy[most])
    text = f"The rank with the largest share of MPI is rank {rank_number(info, most)}: {part} of its time"
    rows = [r for r in model.flat(process=most, match="MPI_*", limit=1) if r["kind"] == "mpi"]
    if rows and rows[0]["excl"] >= SOME * busy[most]:
        text += f", {share(rows[0]['excl'], busy[most])} in {rows[0]['name']} alone"
    found.append(Sentence(f"{text}."))
    return found


def _spread(info: dict[str, Any]) -> list[Sentence]:
    """A sentence about the busiest rank (without MPI, in which ranks wait for each other), or about the busiest of the processes
    or threads with the same role."""
    processes, locations = info["processes"], info["locations"]
    work = [0.0] * len(processes)
    for loc in locations:
        work[loc["process"]] += loc["busy"] - loc["mpi"]
    those = [(work[i], f"Rank {rank_number(info, i)}") for i in range(len(processes)) if rank_number(info, i) is not None]
    what, outside = "ranks", " outside of MPI"
    if len(those) < 2:
        outside = ""
        titles = [_capital(name(process_label(p))) for p in processes]
        running = [sum(loc["running"] for loc in locations if loc["process"] == i) for i in range(len(processes))]
        what, those = _equals(info, "processes", list(zip(running, titles)))
    if len(those) < 2:
        threads = [(loc["running"], f"Thread {name(loc['name'])}") for loc in locations]
        what, those = _equals(info, "threads", threads)
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


def _equals(info: dict[str, Any], over: str, busy: list[tuple[float, str]]) -> tuple[str, list[tuple[float, str]]]:
    """What to call the units with one role, and their times and names: of the role with the most time. busy: of all units."""
    groups, _ = grouped(info, over, list(range(len(busy))))
    title, units = max(groups, key=lambda group: (len(group[1]) > 1, sum(busy[i][0] for i in group[1])), default=("", []))
    return over if len(units) == len(busy) else f"{over} with the role {name(title)}", [busy[i] for i in units]


def _lines(model: Model) -> list[Sentence]:
    """A sentence about the recorded line with the most time."""
    most: tuple[float, dict[str, Any], tuple[int, int, float, float]] | None = None
    for function in model.lines():
        passes = function["name"].endswith(":<module>")  # most time of a module is in the line that calls its main function
        for line in function["lines"]:
            time = line[2] + (0 if passes else line[3])
            if most is None or time > most[0]:
                most = (time, function, line)
    if most is None or most[0] <= 0:
        return []
    time, f, line = most
    whole = f["excl"] + f["callees"]
    text = f"The longest line is {line[0]} of {name(f['name'])}: {share(time, whole)} of that function's {seconds(whole)}."
    return [Sentence(text)]


def damage(problems: list[str]) -> list[Sentence]:
    """A sentence that data are missing in the numbers. problems: texts about lost data and other problems."""
    if not any("damaged" in text or "cannot be read" in text for text in problems):
        return []
    return [Sentence("Part of the recording is damaged and missing in these numbers. Details are below.")]


def _memory(model: Model, info: dict[str, Any]) -> list[Sentence]:
    """A sentence about memory if only memory was recorded."""
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
    """Sentences about deadlock cycles, and about the longest waits."""
    if not locktable.recorded(info):
        return [], []
    found = model.locks()
    # an indented line of a deadlock begins with a thread's name, which is not capitalized
    dead = [f"{line.strip() if line.startswith(' ') else _capital(line)}." for line in locktable.deadlocks(found, info)]
    longest = locktable.longest(found, info)
    return [Sentence(text) for text in dead], [Sentence(f"{_capital(longest)}.")] if longest else []


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_the_shell(row: dict[str, Any]) -> bool:
    """Whether a region of a notebook's cell has no code of the cell: display, traceback, and the region around the cell."""
    return row["kind"] == "user" and _shows_a_cell(row)


def _shows_a_cell(row: dict[str, Any]) -> bool:
    return row["file"].startswith("In[") and row["name"] in (*SHELL, row["file"])


def sentences(model: Model, info: dict[str, Any], rows: list[tuple[int, dict[str, Any]]], cost: float) -> list[Sentence]:
    """All sentences. rows: (index of the region, row of Model.flat()), most exclusive time first. cost: of measuring, in
    seconds."""
    deadlocks, waits = _waits(model, info)
    return [*deadlocks, *_of_time(model, info, rows, cost), *waits]


def _of_time(model: Model, info: dict[str, Any], rows: list[tuple[int, dict[str, Any]]], cost: float) -> list[Sentence]:
    total = sum(loc["busy"] for loc in info["locations"])
    visits = sum(loc["visits"] for loc in info["locations"])
    lines = _lines(model)
    of_samples = total and contents.taken(info)
    if not visits and not of_samples and (lines or not total):  # for lines only, times of outer frames are no result
        return lines or _memory(model, info) or [Sentence("Nothing was recorded: no function was called while recording was on.")]
    off = sum(r["incl"] for _, r in rows if r["kind"] == "off")
    worked = [(i, r) for i, r in rows if r["kind"] not in NO_WORK]
    shell = sum(r["running"] for _, r in worked if _is_the_shell(r))
    worth = sum(loc["running"] for loc in info["locations"])
    if 0 < shell < worth:
        # in a cell, leave out the time for displaying its value, which the table has
        worked, worth = [(i, r) for i, r in worked if not _is_the_shell(r)], worth - shell
    found, waits = _functions(worked, worth, _whole(info, worth)), _waiting(model, info)
    found = waits + found if _waited(info) >= MOSTLY else found + waits
    found += _preempted(info)
    found += _call_path(model, total - shell, worth, worked[0][1]["name"] if worked else "")
    found += [*_mpi(model, info), *_spread(info), *lines]
    if off >= SOME * total:
        found.append(Sentence(f"For {share(off, total)} of the time recording was off."))
    if cost >= COSTLY * total:
        often = "functions called very often appear longer than they are"
        found.append(Sentence(f"Measuring took about {share(cost, total)} of it: {often}."))
    return found
