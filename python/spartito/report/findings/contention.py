# SPDX-License-Identifier: BSD-3-Clause
"""Findings from waits: contention for a lock, and for the GIL."""

from __future__ import annotations

from spartito.base.text import name, plural, seconds, shortened
from spartito.report import locktable
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
        holder = max(holders, key=lambda w: float(w["time"]))
        held = f", which acquired it in {shortened(holder['holder_stack'])}" if holder["holder_stack"] else ""
        evidence.append(f"the holder was {names.of_thread(holder['holder'])}{held}")
        number = plural(sum(w["count"] for w in of_lock), "wait")
        title = f"threads waited {seconds(gain.amount)} for {names.of_lock(lock)}, which another thread held, in {number}"
        advice = "hold the lock for less time, move work that needs no lock out of it, or divide the data over several locks"
        most = of_lock[0]
        row = {**most, "name": most["stack"][-1] if most["stack"] else ""}
        found.append(Finding("lock", title, gain, evidence, advice, run.report("waits"), row, most["stack"]))
    return found


def gil(run: Run) -> list[Finding]:
    """The time in which threads waited for the GIL."""
    metric = run.metrics[GIL]
    unit = 10.0 ** metric["exponent"]
    gain = run.of_threads(metric["total"] * unit)
    if not gain.enough:
        return []
    rows = sorted(run.model.flat(), key=lambda row: -int(row["metrics"][GIL]["excl"]))[:PLACES]
    evidence = [f"{seconds(row['metrics'][GIL]['excl'] * unit)} in {place(row)}" for row in rows if row["metrics"][GIL]["excl"]]
    title = f"threads waited {seconds(gain.amount)} for the GIL"
    advice = (
        "use processes for Python code that computes, or functions of compiled libraries that release the GIL; threads of Python "
        "code take turns"
    )
    row = rows[0] if rows else None
    command = run.report("callers", name(row["name"])) if row else run.report("flat")
    return [Finding("gil", title, gain, evidence, advice, command, row)]
