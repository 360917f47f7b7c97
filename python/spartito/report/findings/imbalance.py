# SPDX-License-Identifier: BSD-3-Clause
"""The finding that threads, processes or ranks with the same work have unequal amounts of it."""

from __future__ import annotations

from spartito.base.text import name, plural, seconds
from spartito.report.balance import Units
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

# modules that start workers and hand work to them: what they do for a worker is no work of the program
STARTING = ("threading", "multiprocessing", "concurrent", "joblib", "loky", "distributed", "asyncio", "_frozen_importlib", "runpy")
WAITS = ("wait_time", "waiting")  # metrics of waits: those of `run --waits`, and off-CPU time
WORK = ("python", "user", "c", "native")  # kinds of regions that are work
UNIT_SHARE = thresholds.PATH_SHARE / 100  # of the time of a thread, process or rank: one with little work has less than others
ROWS = 200  # call paths that are searched, those with the largest imbalance


def _waits(run: Run, row: dict[str, Any]) -> bool:
    """Whether a row of Model.tree() is a function of MPI, or a part of its time is waiting."""
    if row["kind"] in ("mpi", "off"):
        return True
    times = [row["metrics"][key]["incl"] * 10.0 ** run.metrics[key]["exponent"] for key in WAITS if key in run.metrics]
    return any(time > thresholds.WAITED * row["incl"] for time in times)


def _with_waits(run: Run) -> set[int]:
    """Call paths in which a thread waits, or a function below waits."""
    found = set()
    for row in run.paths:
        if _waits(run, row):
            at = row
            while at is not None and at["path"] not in found:
                found.add(at["path"])
                at = at["caller"]
    return found


def _callers(row: dict[str, Any]) -> list[int]:
    """The call paths of the callers of a row."""
    found = []
    at = row["caller"]
    while at is not None:
        found.append(at["path"])
        at = at["caller"]
    return found


def _candidates(run: Run, table: dict[str, Any]) -> dict[int, tuple[dict[str, Any], float, float]]:
    """{call path: (row of Run.paths, mean over the units that ran it, maximum)}: the outermost ones that are uneven."""
    known = {row["path"]: row for row in run.paths}
    excluded = _with_waits(run)
    found = {}
    for row in table["rows"]:
        of_tree = known.get(row["path"])
        if of_tree is None or row["units"] < thresholds.MIN_WORKERS or row["path"] in excluded:
            continue
        if of_tree["module"].partition(".")[0] in STARTING or of_tree["kind"] not in WORK:
            continue
        mean, most = row["incl"]["mean"] * len(table["units"]) / row["units"], row["incl"]["max"]
        if run.of_run(most - mean).enough and most >= (1 + thresholds.IMBALANCE) * mean:
            found[row["path"]] = (of_tree, mean, most)
    return {path: found[path] for path in found if not any(caller in found for caller in _callers(found[path][0]))}


def _lives(run: Run, over: str, unit: int) -> tuple[float, float]:
    """Begin and end of a thread, or of a process or rank."""
    locations = [loc for i, loc in enumerate(run.info["locations"]) if unit == (i if over == "threads" else loc["process"])]
    return min(loc["begin"] for loc in locations), max(loc["end"] for loc in locations)


def uneven(run: Run) -> list[Finding]:
    """Call paths that several threads, processes or ranks ran at the same time, one of them for longer."""
    table = run.model.balance(by="path", time="incl", over="auto", limit=ROWS)
    candidates = _candidates(run, table)
    if not candidates:
        return []
    over, units = table["over"], Units(run.info, table["over"], table["units"])
    times: dict[int, dict[int, float]] = {path: {} for path in candidates}  # {call path: {index in units: s}}
    for i, unit in enumerate(table["units"]):
        part = {"location": unit} if over == "threads" else {"process": unit}
        for row in run.model.tree(threshold=UNIT_SHARE, **part):
            if row["path"] in times and row["visits"]:
                times[row["path"]][i] = row["incl"]
    found = []
    for path, (row, mean, most) in candidates.items():
        lives = [_lives(run, over, table["units"][i]) for i in times[path]]
        if len(lives) < thresholds.MIN_WORKERS or max(begin for begin, _ in lives) >= min(end for _, end in lives):
            continue  # they did not run at the same time
        ordered = sorted(times[path], key=lambda i: -times[path][i])
        number = plural(len(lives), units.word)
        evidence = [
            f"{place(row)} took {seconds(mean)} on average, {seconds(most)} in {units.word} {units.cells[ordered[0]]}, "
            f"{seconds(times[path][ordered[-1]])} in {units.word} {units.cells[ordered[-1]]}"
        ]
        title = f"{number} ran {name(row['name'])} for different times, {units.word} {units.short[ordered[0]]} longest"
        advice = "divide the work into smaller parts that a free worker takes, or begin with the longest parts"
        command = run.report("balance --by path", row["name"])
        found.append(Finding("imbalance", title, run.of_run(most - mean), evidence, advice, command, row, row["stack"]))
    return found
