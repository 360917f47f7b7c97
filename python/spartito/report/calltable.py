# SPDX-License-Identifier: BSD-3-Clause
"""Tables of functions and call paths. The ranks of columns decide which ones a narrow terminal shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.text import Column, Output, labelled, name, percent, plural, quantity, seconds, visits_text
from spartito.experiments import contents

if TYPE_CHECKING:
    from spartito.report.parts import Part

NUMBERS = (
    Column("self"),
    Column("self %"),
    Column("total"),
    Column("total %", rank=8),
    Column("calls"),
)
# with times split into running and waiting, instead of the first two
SPLIT = (Column("running"), Column("running %"), Column("waiting", rank=12))
OF_CALLS = (Column("mean", rank=5), Column("min", rank=2), Column("max", rank=3), Column("std", rank=1))
TREE_NUMBERS = (Column("total"), Column("%"), Column("self"), Column("calls"))
# with times split: of calls with their callees, and what of it is self time
TREE_SPLIT = (
    Column("running"),
    Column("running %"),
    Column("waiting", rank=17),
    Column("total", rank=8),
    Column("self running"),
    Column("calls"),
)
SHOWN_SPLIT = ("waiting", "sampled_running")  # metrics that tables with split times have in other columns
NAME = Column("function", left=True, style="cyan")
TREE_NAME = Column("function", left=True, style="cyan", min_width=44)  # includes the indentation
PLACE = Column("defined at", left=True, style="dim", rank=4)
UNKNOWN = "-"  # shown for the number of calls if there are only samples
# sources of metrics for which a table has one column, self or total, and only if it has a value
COLLECTED = ("sample", "memory", "wait", "off_cpu")
# ranks of columns: a narrow terminal omits first COUNT (numbers of blocks and samples), then STATE (sampled states), then the
# metrics of --metric (TOTAL, SELF), and last the columns of RANKS
RANKS = {"waiting": 16, "preempted": 16, "peak_bytes": 15, "wait_time": 14, "sampled_cpu": 13, "left_bytes": 12, "allocated": 11}
STATE, COUNT, TOTAL, SELF = 7, 6, 9, 10
NOTABLE = 0.05


def place(row: dict[str, Any]) -> str:
    """The source location of a function."""
    if not row["file"]:
        return ""
    return name(f"{row['file']}:{row['line']}" if row["line"] else row["file"])


def _known(row: dict[str, Any]) -> bool:
    """Whether the number of calls is known. It is not if there are only samples (contents.known())."""
    return row["visits"] is not None


def calls(row: dict[str, Any]) -> str:
    """Calls and resumptions: 1+99."""
    if not _known(row):
        return UNKNOWN
    return visits_text(row)


def _of_calls(row: dict[str, Any]) -> list[str]:
    there = _known(row) and row["visits"] + row["resumed"]
    return [seconds(row[key]) if there else UNKNOWN for key in ("mean", "min", "max", "std")]


def _numbers(row: dict[str, Any], part: Part, split: bool) -> list[str]:
    excl, incl = row["excl"], row["incl"]
    own = [seconds(excl), percent(excl, part.busy)]
    if split:
        own = [seconds(row["running"]), percent(row["running"], part.running), seconds(row["waiting"])]
    return [*own, seconds(incl), percent(incl, part.busy), calls(row)]


class Counted:
    """The columns of metrics: the inclusive value, and in the table of functions (flat) also the exclusive one. A metric with a
    source in COLLECTED has only one of the two, unless the table shows nothing else (alone). Bytes, which only MPI and file I/O
    functions count, have only the inclusive value, and only if one is not 0."""

    def __init__(self, metrics: list[dict[str, Any]], rows: list[dict[str, Any]], flat: bool, alone: bool = False) -> None:
        self.of: list[tuple[dict[str, Any], str]] = []
        self.columns: list[Column] = []
        for m in metrics:
            one = m["source"] in COLLECTED and not alone
            if one or m["source"] == "bytes":
                key = "excl" if flat and one else "incl"
                if any(row["metrics"][m["name"]][key] for row in rows):
                    self._add(m, key, "")
                continue
            if flat:
                self._add(m, "excl", "self ")
            self._add(m, "incl", "total ")

    def _add(self, metric: dict[str, Any], key: str, which: str) -> None:
        title = str(metric["name"])
        rank = SELF if which == "self " else TOTAL
        if metric["source"] in COLLECTED:
            rank = RANKS.get(title, STATE if metric["unit"] == "s" else COUNT) + (which == "self ")
        self.of.append((metric, key))
        self.columns.append(Column(f"{which}{title.removeprefix('sampled_')}", rank=rank))

    def cells(self, row: dict[str, Any]) -> list[str]:
        return [quantity(row["metrics"][m["name"]][key], m) for m, key in self.of]


def is_preempted(info: dict[str, Any]) -> bool:
    """Whether threads were preempted for so long that tables have a column for it. Threads that wait do not count."""
    preempted = contents.preempted(info)
    return preempted > 0 and preempted >= NOTABLE * (preempted + sum(loc["running"] for loc in info["locations"]))


def _notable(info: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics for columns, in tables with split times. Every thread is preempted now and then: that is left out below NOTABLE
    of the time in which the threads could run."""
    shown = ("preempted",) if is_preempted(info) else ()
    return [m for m in info["metrics"] if m["name"] not in SHOWN_SPLIT and (m["source"] != "off_cpu" or m["name"] in shown)]


def write_flat(out: Output, rows: list[dict[str, Any]], part: Part, info: dict[str, Any]) -> None:
    """Writes a table of functions. rows: Model.flat() after contents.known(). part: whose times are 100 %."""
    timed = contents.timed(info) or not rows
    split = contents.split(info)
    counted = Counted(_notable(info) if timed else info["metrics"], rows, flat=True, alone=not timed)
    called = timed and (not rows or any(map(_known, rows)))
    numbers = (*SPLIT, *NUMBERS[2:]) if split else NUMBERS
    columns = [*(numbers if timed else ()), *(OF_CALLS if called else ()), *counted.columns, NAME, PLACE]
    lines = []
    for row in rows:
        cells = [*(_numbers(row, part, split) if timed else ()), *(_of_calls(row) if called else ())]
        lines.append((*cells, *counted.cells(row), name(row["name"]), place(row)))
    out.table(columns, lines)


def _hidden(n: int, level: int, values: dict[str, object]) -> str:
    """The text of the line for n call paths that are not shown below a path of this level."""
    if values.get("limit"):
        return f"{plural(n, 'path')} not shown"
    if level + 1 == values.get("depth"):
        return plural(n, "deeper path")
    return f"{plural(n, 'path')} below the threshold"


def root(row: dict[str, Any], hidden: int, hidden_time: float) -> dict[str, Any]:
    """The row of the root, as in Model.tree(), for outermost call paths that are left out. row: any row of the same tree."""
    metrics = {metric: {"incl": 0, "excl": 0} for metric in row.get("metrics", ())}
    known = {"kind": "root", "name": "", "depth": 0, "visits": 0, "resumed": 0}
    below = {"hidden": hidden, "hidden_time": hidden_time, "hidden_running": 0.0, "hidden_waiting": 0.0}
    return {**dict.fromkeys(row), **known, **below, **({"metrics": metrics} if "metrics" in row else {})}


def _tree_numbers(row: dict[str, Any], running: float, split: bool) -> tuple[str, ...]:
    if not split:
        return seconds(row["incl"]), percent(row["incl"], running), seconds(row["excl"]), calls(row)
    ran = seconds(row["running_incl"]), percent(row["running_incl"], running), seconds(row["waiting_incl"])
    return *ran, seconds(row["incl"]), seconds(row["running"]), calls(row)


def _hidden_numbers(row: dict[str, Any], running: float, split: bool) -> tuple[str, ...]:
    """The sums of the call paths that are not shown below a row."""
    if not split:
        return seconds(row["hidden_time"]), percent(row["hidden_time"], running), "", ""
    ran = seconds(row["hidden_running"]), percent(row["hidden_running"], running), seconds(row["hidden_waiting"])
    return *ran, seconds(row["hidden_time"]), "", ""


def write_tree(out: Output, rows: list[dict[str, Any]], running: float, values: dict[str, object], info: dict[str, Any]) -> None:
    """Writes the call tree. rows: Model.tree() after contents.known(). running: running time in s that is 100 %, without a split
    all time. values: options, for the texts about hidden paths."""
    timed = contents.timed(info) or not rows
    split = contents.split(info)
    counted = Counted(_notable(info) if timed else info["metrics"], rows, flat=False, alone=not timed)
    lines: list[tuple[str, ...]] = []
    open_notes: list[tuple[int, tuple[str, ...]]] = []  # (level, line) about hidden paths, written after the children of a path
    rows = [row for row in rows if row["kind"] != "root" or row.get("hidden")]
    for row in rows:
        depth = -1 if row["kind"] == "root" else row["depth"]
        while open_notes and open_notes[-1][0] >= depth:
            lines.append(open_notes.pop()[1])
        indent = "  " * row["depth"]
        if row["kind"] != "root":
            cells = _tree_numbers(row, running, split)
            lines.append((*(cells if timed else ()), *counted.cells(row), indent + name(labelled(row))))
        if row.get("hidden"):
            note = f"{indent}  … {_hidden(row['hidden'], depth, values)}"
            cells = _hidden_numbers(row, running, split)
            open_notes.append((depth, (*(cells if timed else ()), *("" for _ in counted.columns), note)))
    lines += [line for _, line in reversed(open_notes)]
    out.table([*((TREE_SPLIT if split else TREE_NUMBERS) if timed else ()), *counted.columns, TREE_NAME], lines)


def write_callers(out: Output, found: list[dict[str, Any]], info: dict[str, Any]) -> None:
    """Writes a table for each region. found: Model.callers() after contents.known()."""
    split = contents.split(info)
    heads = ("running", "waiting", "total", "self running", "calls") if split else ("total", "self", "calls")
    preempted = [Column("preempted", rank=RANKS["preempted"])] if split and is_preempted(info) else []
    columns = [*map(Column, heads), *preempted, NAME]

    def cells(row: dict[str, Any], before: str) -> tuple[str, ...]:
        keys = ("running_incl", "waiting_incl", "incl", "running") if split else ("incl", "excl")
        times = (seconds(row[key]) for key in keys)
        lost = [seconds(max(0.0, row["incl"] - row["running_incl"] - row["waiting_incl"]))] if preempted else []
        return (*times, calls(row), *lost, before + name(row["name"]))

    for i, item in enumerate(found):
        if i:
            out.line()
        rows = [cells(row, "  called by  ") for row in item["callers"]]
        rows.append(cells(item["region"], ""))
        rows += [cells(row, "  calls      ") for row in item["callees"]]
        out.table(columns, rows)
