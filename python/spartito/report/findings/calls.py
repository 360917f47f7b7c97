# SPDX-License-Identifier: BSD-3-Clause
"""Findings from call counts: a small function called from a loop, the same arguments again and again, overhead of measuring."""

from __future__ import annotations

from spartito.base.text import count, name, percent, quoted, seconds
from spartito.experiments.cost import measuring_cost
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

FUNCTIONS = ("python", "c", "native")  # kinds of regions
TOP = 100  # functions that are searched, those with the most time or calls


def _cost_inside(run: Run) -> float:
    """Seconds that measuring adds to the exclusive time of one call, the mean over all calls; 0: it is subtracted."""
    processes, locations = run.info["processes"], run.info["locations"]
    visits = sum(loc["visits"] for loc in locations)
    if run.compensated or not visits:
        return 0.0
    return float(sum(processes[loc["process"]]["cost_in"] * loc["visits"] for loc in locations) / visits)


def small_functions(run: Run) -> list[Finding]:
    """A function with a short exclusive running time that one function of the program calls very often."""
    cost = _cost_inside(run)
    found = []
    for row in run.paths:
        caller, visits = row["caller"], row["visits"]
        if caller is None or row["kind"] not in FUNCTIONS or row["resumed"] or visits < thresholds.SMALL_CALLS:
            continue
        if caller["category"] != "own":
            continue  # the loop is in a library
        own = max(0.0, row["running"] - visits * cost)
        each = visits // max(1, caller["visits"] + caller["resumed"])
        gain = run.of_work(own)
        if own / visits > thresholds.SMALL_TIME or each < thresholds.LOOP_CALLS or not gain.enough:
            continue
        without = f", without the {seconds(cost)} of measuring" if cost else ""
        evidence = [
            f"{count(visits)} calls of {seconds(own / visits)} exclusive running time{without}: {place(row)}",
            f"{count(each)} of them in each call of {place(caller)}, whose exclusive running time of "
            f"{seconds(caller['running'])} contains the time for making the calls",
        ]
        advice = (
            "call it once with all data (a loop inside of it, a comprehension, a vectorised operation), or write its statements "
            "into the loop"
        )
        title = f"{name(row['name'])} is small and is called {count(visits)} times from {name(caller['name'])}"
        command = run.report("callers", row["name"])
        found.append(Finding("small-function", title, gain, evidence, advice, command, row, row["stack"]))
    return found


def _exact(label: str) -> bool:
    """Whether a label shows all values of its arguments: no object without its value, nothing shortened, and not no argument."""
    values = label.partition("(")[2]
    return values not in ("", ")") and "<" not in values and "..." not in values


def same_arguments(run: Run) -> list[Finding]:
    """Calls of a function with equal arguments, from labels with arguments."""
    found = []
    for row in run.model.flat(sort="incl", limit=TOP):
        visits, first = row["visits"], len(run.info["processes"])  # each process has to compute the result once
        if row["kind"] != "python" or row["resumed"] or visits - first < thresholds.SAME_CALLS or not _exact(row["qualname"]):
            continue
        gain = run.of_threads(row["incl"] * (1 - first / visits))
        if gain.enough:
            title = f"{name(row['name'])} was called {count(visits)} times with the same arguments"
            evidence = [f"{count(visits)} calls of {seconds(row['incl'] / visits)} inclusive time: {place(row)}"]
            advice = "if the result depends on the arguments alone, keep it (functools.lru_cache) or compute it before the loop"
            found.append(Finding("same-arguments", title, gain, evidence, advice, run.report("callers", row["name"]), row))
    return found


def _excludable(run: Run) -> list[dict[str, Any]]:
    """The small Python functions with the most calls. Names of --exclude have no labels."""
    rows = [row for row in run.model.flat(sort="visits", limit=TOP) if row["kind"] == "python" and row["visits"]]
    small = [row for row in rows if row["running"] / row["visits"] <= thresholds.SMALL_TIME and "(" not in row["qualname"]]
    return small[: thresholds.OVERHEAD_FUNCTIONS]


def overhead(run: Run) -> list[Finding]:
    """The cost of measuring, if it distorts the times, and the --exclude options that reduce it."""
    taken = measuring_cost(run.info)
    gain = run.of_work(taken)
    share = taken / (run.running + taken) if run.compensated else gain.share
    if share < thresholds.OVERHEAD_SHARE or not gain.enough:
        return []
    rows = _excludable(run)
    evidence = [f"recording {count(run.visits)} calls and resumptions took about {seconds(taken)}"]
    evidence += [f"{percent(row['visits'], run.visits)} % of them: {place(row)}" for row in rows]
    if rows:
        options = " ".join(f"--exclude {quoted(row['name'])}" for row in rows)
        advice = f"measure again without these functions, whose time then counts for their callers: spartito run {options} …"
    else:
        advice = "measure again with --sample, which records no calls"
    title = f"measuring took {percent(share, 1.0)} % of {gain.of}, so that small functions seem to take too long"
    return [Finding("overhead", title, gain, evidence, advice, run.report("flat --sort calls"), rows[0] if rows else None)]
