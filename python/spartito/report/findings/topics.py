# SPDX-License-Identifier: BSD-3-Clause
"""The topics of findings, what each needs, and the ranking. Modules for what not every run records are loaded when it is there."""

from __future__ import annotations

from spartito._analyse import Error
from spartito.experiments import contents
from spartito.report.findings import calls, garbage, imports, oversubscription, thresholds
from spartito.report.findings.finding import Run

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito._analyse import Model
    from spartito.report.findings.finding import Finding


def _topics(run: Run) -> list[Callable[[Run], list[Finding]]]:
    """The topics whose data the experiment has."""
    info = run.info
    found: list[Callable[[Run], list[Finding]]] = [calls.small_functions, calls.overhead, imports.imports]
    if "args" in contents.settings(info).get("label", "").split(","):
        found.append(calls.same_arguments)
    ranks = sum(p["rank"] is not None for p in info["processes"])
    # if waits are not known, a thread that waits for the network or a lock would count as one that works; of ranks, MPI is known
    if ranks > 1 or (len(info["locations"]) > 1 and "waiting" in run.metrics):
        from spartito.report.findings import imbalance

        found.append(imbalance.uneven)
    if len(info["processes"]) > 1 or info["children"]:
        from spartito.report.findings import processes

        found += [processes.serialization, processes.children]
    if "preempted" in run.metrics:
        found.append(oversubscription.threads)
    if info["worlds"] and info["traced"]:
        from spartito.report.findings import mpi

        found.append(mpi.late_senders)
    if "gil_wait" in run.metrics:
        from spartito.report.findings import contention

        found.append(contention.gil)
        if "wait_time" in run.metrics:
            found.append(contention.locks)
    if "io_bytes_read" in run.metrics:
        from spartito.report.findings import smallio

        found.append(smallio.small_transfers)
    if contents.is_recorded(info):
        from spartito.report.findings import memory

        found.append(memory.memory)
    if info["collections"]:
        found.append(garbage.collections)
    if info["exceptions"] >= thresholds.EXCEPTIONS:
        from spartito.report.findings import exceptions

        found.append(exceptions.exceptions)
    if any(loc["resumed"] for loc in info["locations"]):
        from spartito.report.findings import eventloop

        found.append(eventloop.blocking)
    return found


def ranked(model: Model, compensated: bool, limit: int = thresholds.MAX_FINDINGS) -> tuple[list[Finding], list[str]]:
    """The findings of an experiment, the largest share first, at most `limit` (0: all), and sentences about data that cannot be
    read. compensated: the cost of measuring is subtracted from the model's times."""
    run = Run(model, compensated)
    found: list[Finding] = []
    notes = []
    for topic in _topics(run):
        try:
            found += topic(run)
        except Error as e:
            notes.append(str(e))
    found.sort(key=lambda finding: -finding.gain.share)
    return found[: limit or None], notes


def without_line(model: Model, compensated: bool, limit: int) -> list[Finding]:
    """The first findings for a summary, at most `limit`. Imports are left out: a summary has a line about them."""
    return [finding for finding in ranked(model, compensated, 0)[0] if finding.topic != "imports"][:limit]


def summary(model: Model) -> list[str]:
    """A line for each of the first findings, for the summary of a run."""
    return [finding.sentence() for finding in without_line(model, False, thresholds.IN_SUMMARY)]
