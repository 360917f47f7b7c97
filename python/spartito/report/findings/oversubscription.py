# SPDX-License-Identifier: BSD-3-Clause
"""Oversubscription: compiled libraries (BLAS, OpenMP) started more threads than there are processors."""

from __future__ import annotations

from spartito.base.text import name, plural, seconds
from spartito.experiments import processtime
from spartito.experiments.naming import title as process_title
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

SHOWN = 3  # processes


def _computes(usage: processtime.Usage) -> bool:
    """Whether threads of compiled libraries did a large part of a process's work: at least one, with the calling thread."""
    return usage.native > 0 and usage.cpus > 0 and usage.outside >= thresholds.NATIVE_SHARE * usage.cpu


def _at_once(run: Run, usages: list[processtime.Usage]) -> list[processtime.Usage]:
    """Those processes of one host that ran at the same time and together had the most threads."""
    best: list[processtime.Usage] = []
    processes = run.info["processes"]
    for usage in usages:
        p = processes[usage.index]
        now = [
            u for u in usages
            if processes[u.index]["host"] == p["host"] and processes[u.index]["begin"] <= p["begin"] < processes[u.index]["stop"]
        ]  # fmt: skip
        if sum(u.native + 1 for u in now) > sum(u.native + 1 for u in best):
            best = now
    return best


def _preempted(run: Run, process: int) -> float:
    rows: list[dict[str, Any]] = run.model.flat(process=process)
    return 1e-9 * float(sum(row["metrics"]["preempted"]["excl"] for row in rows))


def threads(run: Run) -> list[Finding]:
    """More threads that compute at the same time than processors, while they took the processors from each other."""
    at_once = _at_once(run, [u for u in processtime.usages(run.info) if _computes(u)])
    number = sum(u.native + 1 for u in at_once)
    cpus = max((u.cpus for u in at_once), default=0)
    if number <= cpus:
        return []
    gain = run.of_threads(sum(_preempted(run, u.index) for u in at_once))
    if not gain.enough:
        return []
    at_once.sort(key=lambda u: -u.cpu)
    evidence = [
        f"{name(process_title(run.info, u.index))}: {seconds(u.cpu)} of processor time, {seconds(u.recorded)} of it in threads of "
        f"Python, the rest in {plural(u.native, 'thread')} of compiled libraries"
        for u in at_once[:SHOWN]
    ]
    evidence.append(f"Python's threads in these processes could run, but did not have a processor, for {seconds(gain.amount)}")
    who = plural(len(at_once), "process")
    title = f"{who} with compiled libraries computed in {number} threads on {plural(cpus, 'processor')}"
    each = max(1, cpus // len(at_once))
    advice = (
        f"let each process use {plural(each, 'thread')}: OMP_NUM_THREADS={each} (or OPENBLAS_NUM_THREADS, MKL_NUM_THREADS), or "
        "threadpoolctl.threadpool_limits(), or start fewer processes"
    )
    return [Finding("oversubscription", title, gain, evidence, advice, run.report("balance"))]
