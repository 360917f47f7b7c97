# SPDX-License-Identifier: BSD-3-Clause
"""Findings from waits: contention for a lock, and for the GIL."""

from __future__ import annotations

from spartito.base.text import name, plural, seconds, shortened
from spartito.experiments import processtime
from spartito.experiments.naming import title as process_title
from spartito.report import locktable
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

LOCKS = ("lock", "rlock", "process_lock", "file_lock", "mutex", "rwlock")  # kinds of waits that end when a holder releases a lock
GIL = "gil_wait"  # metric
PLACES = 3  # call paths or functions named


def locks(run: Run) -> list[Finding]:
    """Locks for which threads waited while others held them."""
    recorded = run.model.locks()
    names = locktable.Names(recorded, run.info)
    waits: dict[int, list[dict[str, Any]]] = {}
    for w in recorded["waits"]:
        if w["kind"] in LOCKS and w["lock"] not in (None, *names.lives) and not w["news"] and w["holder"] != w["location"]:
            waits.setdefault(names.shown[w["lock"]], []).append(w)
    found = []
    for lock, of_lock in waits.items():
        gain = run.of_threads(sum(w["time"] for w in of_lock))
        holders = [w for w in of_lock if w["holder"] is not None]
        if not gain.enough or not holders:
            continue  # without a holder, the lock may be a signal of another thread
        of_lock.sort(key=lambda w: -float(w["time"]))
        evidence = [
            f"{seconds(w['time'])} in {plural(w['count'], 'wait')} of {names.of_thread(w['location'])} in {shortened(w['stack'])}"
            for w in of_lock[:PLACES]
        ]
        evidence += _held(run, holders, sum(w["time"] for w in of_lock), names)
        number = plural(sum(w["count"] for w in of_lock), "wait")
        title = f"threads waited {seconds(gain.amount)} for {names.of_lock(lock)}, which another thread held, in {number}"
        advice = "hold the lock for less time, move work that needs no lock out of it, or divide the data over several locks"
        most = of_lock[0]
        row = {**most, "name": most["stack"][-1] if most["stack"] else ""}
        found.append(Finding("lock", title, gain, evidence, advice, run.report("waits"), row, most["stack"]))
    return found


def _held(run: Run, waits: list[dict[str, Any]], whole: float, names: locktable.Names) -> list[str]:
    """The call path in which the lock was acquired when others waited longest for it, and what runs below it. waits: those with
    a known holder. whole: the time of all waits."""
    times: dict[tuple[str, ...], float] = {}
    holders: dict[tuple[str, ...], set[int]] = {}
    for w in waits:
        stack = tuple(w["holder_stack"])
        times[stack] = times.get(stack, 0.0) + w["time"]
        holders.setdefault(stack, set()).add(w["holder"])
    most = max(times, key=lambda stack: (times[stack], stack))
    part = f"for {seconds(times[most])} of the {seconds(whole)} " if times[most] < locktable.NEARLY_ALL * whole else ""
    who = names.of_thread(min(holders[most])) if len(holders[most]) == 1 else f"one of {len(holders[most])} threads"
    sentences = [f"{part}the holder was {who}" + (f", which acquired it in {shortened(most)}" if most else "")]
    below = [row for row in run.paths if row["caller"] is not None and tuple(row["caller"]["stack"]) == most]
    if below:
        longest = max(below, key=lambda row: (row["incl"], -row["path"]))
        sentences.append(f"most time below that call path: {seconds(longest['incl'])} in {place(longest)}")
    return sentences


def _threads(run: Run, process: int, unit: float) -> list[dict[str, Any]]:
    """The threads of a process that ran or waited for the GIL at least the share ACTIVE as long as the one that did so longest."""
    wanted = []
    for i, loc in enumerate(run.info["locations"]):
        if loc["process"] == process:
            waited = sum(row["metrics"][GIL]["incl"] for row in run.model.tree(location=i, depth=1)) * unit
            wanted.append((waited + (loc["cpu"] or 0.0), loc))
    least = thresholds.ACTIVE * max(time for time, loc in wanted)
    return [loc for time, loc in wanted if time >= least]


def _together(run: Run, usage: processtime.Usage, unit: float) -> str:
    """A sentence that says how many processors the threads of a process used together; "": not known, or a single thread."""
    threads = _threads(run, usage.index, unit)
    if len(threads) < 2 or any(loc["cpu"] is None for loc in threads):
        return ""
    cpu = sum(loc["cpu"] for loc in threads)
    span = max(loc["end"] for loc in threads) - min(loc["begin"] for loc in threads)
    who = f" of {name(process_title(run.info, usage.index))}" if len(run.info["processes"]) > 1 else ""
    used = f"{cpu / span:.2f} of {plural(usage.cpus, 'processor')}" if usage.cpus else f"{cpu / span:.2f} processors"
    return (
        f"{len(threads)} threads{who} used {used} together: {seconds(cpu)} of processor time in the {seconds(span)} from the begin "
        "of the first to the end of the last"
    )


def gil(run: Run) -> list[Finding]:
    """The time in which threads waited for the GIL, and how many processors they used together."""
    metric = run.metrics[GIL]
    unit = 10.0 ** metric["exponent"]
    gain = run.of_threads(metric["total"] * unit)
    if not gain.enough:
        return []
    rows = sorted(run.model.flat(), key=lambda row: -int(row["metrics"][GIL]["excl"]))[:PLACES]
    evidence = [f"{seconds(row['metrics'][GIL]['excl'] * unit)} in {place(row)}" for row in rows if row["metrics"][GIL]["excl"]]
    waited = {
        usage: sum(row["metrics"][GIL]["incl"] for row in run.model.tree(process=usage.index, depth=1))
        for usage in processtime.usages(run.info)
    }
    most = [usage for usage in sorted(waited, key=lambda usage: -waited[usage])[:PLACES] if waited[usage]]
    evidence += filter(None, (_together(run, usage, unit) for usage in most))
    title = f"threads waited {seconds(gain.amount)} for the GIL"
    advice = (
        "use processes for Python code that computes, functions of compiled libraries that release the GIL, or a free-threaded "
        "Python; threads of Python code take turns"
    )
    if most and all(usage.cpus == 1 for usage in most):
        advice = f"first let the process run on more processors, as its main thread may use only 1; then {advice}"
    row = rows[0] if rows else None
    command = run.report("callers", name(row["name"])) if row else run.report("flat")
    return [Finding("gil", title, gain, evidence, advice, command, row)]
