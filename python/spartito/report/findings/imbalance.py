# SPDX-License-Identifier: BSD-3-Clause
"""The finding that threads, processes or ranks with the same work have unequal amounts of it."""

from __future__ import annotations

from spartito.base.text import name, plural, seconds
from spartito.report.balance import Units
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Container
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


def _is_uneven(run: Run, mean: float, most: float) -> bool:
    return run.of_run(most - mean).enough and most >= (1 + thresholds.IMBALANCE) * mean


def _candidates(run: Run, table: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """{call path: row of Run.paths}: those that are uneven as the clock on the wall counts."""
    known = {row["path"]: row for row in run.paths}
    excluded = _with_waits(run)
    found = {}
    for row in table["rows"]:
        of_tree = known.get(row["path"])
        if of_tree is None or row["units"] < thresholds.MIN_WORKERS or row["path"] in excluded:
            continue
        if of_tree["module"].partition(".")[0] in STARTING or of_tree["kind"] not in WORK:
            continue
        if _is_uneven(run, row["incl"]["mean"] * len(table["units"]) / row["units"], row["incl"]["max"]):
            found[row["path"]] = of_tree
    return found


def _times(run: Run, table: dict[str, Any], paths: Container[int]) -> dict[int, dict[int, float]]:
    """{call path: {index in the units of the table: its time in s}}, without preemption: other programs decide about that."""
    times: dict[int, dict[int, float]] = {}
    for i, unit in enumerate(table["units"]):
        part = {"location": unit} if table["over"] == "threads" else {"process": unit}
        for row in run.model.tree(threshold=UNIT_SHARE, **part):
            if row["path"] in paths and row["visits"]:
                preempted = row["metrics"].get("preempted", {}).get("incl", 0) * 1e-9
                times.setdefault(row["path"], {})[i] = row["incl"] - preempted
    return times


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
    means = {}
    times = _times(run, table, candidates)
    for path, of_units in times.items():
        mean = sum(of_units.values()) / len(of_units)
        if len(of_units) >= thresholds.MIN_WORKERS and _is_uneven(run, mean, max(of_units.values())):
            means[path] = mean
    found = []
    for path, mean in means.items():
        row, most = candidates[path], max(times[path].values())
        lives = [_lives(run, over, table["units"][i]) for i in times[path]]
        if any(caller in means for caller in _callers(row)):
            continue
        if max(begin for begin, _ in lives) >= min(end for _, end in lives):
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
