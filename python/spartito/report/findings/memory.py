# SPDX-License-Identifier: BSD-3-Clause
"""Findings from recorded memory: memory that grew until the end, and a peak that lasts for a short time."""

from __future__ import annotations

from spartito.base.text import plural, seconds, size
from spartito.experiments import naming
from spartito.report import memorytable
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Gain, Run

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

LINES = 3  # named
PEAK = "the peak"


def _growth(run: Run, found: dict[str, Any], process: dict[str, Any], sites: list[dict[str, Any]]) -> list[Finding]:
    """Lines whose memory grew until the end of the program and was not released."""
    findings = []
    lines = memorytable.by_line([site for site in sites if site["kept"] == "growing"])
    for row in memorytable.largest(lines, "left_bytes", thresholds.MAX_FINDINGS):
        gain = Gain(row["left_bytes"], process["peak_bytes"], PEAK, "B")
        if not gain.enough:
            continue
        first, last = min(site["first"] for site in row["sites"]), max(site["last"] for site in row["sites"])
        evidence = [
            f"still allocated when the program ended: {plural(row['left'], 'block')} of {size(row['left_bytes'])}",
            f"grew from {seconds(first)} to {seconds(last)} after the begin of the run",
        ]
        title = f"memory allocated in {memorytable.place(row)} grew until the end, to {size(row['left_bytes'])}"
        advice = "release what is not needed any more, limit the size of a cache or list, or write the data to a file meanwhile"
        stack = found["stacks"][row["sites"][0]["path"]]
        findings.append(Finding("memory-growth", title, gain, evidence, advice, run.report("memory"), row, stack))
    return findings


def _usual(process: dict[str, Any]) -> tuple[float, float]:
    """The largest size of the heap, in bytes, that the process had for at least the share PEAK_TIME of its time, and the time in s
    for which the heap was larger. A point holds until the next one. The size at the end of the program counts as lasting."""
    points = memorytable.points(process)
    end = process["ended"] if process["ended"] is not None else points[-1][0]
    points = [point for point in points if point[0] <= end]
    ends = [*(at for at, _, _ in points[1:]), end]
    lasting = sorted(((heap, until - at) for (at, heap, _), until in zip(points, ends)), reverse=True)
    least = thresholds.PEAK_TIME * (ends[-1] - points[0][0])
    above = 0.0
    for heap, time in lasting:
        if above + time >= least or heap <= points[-1][1]:
            return heap, above
        above += time
    return lasting[-1][0], above


def _peak(run: Run, process: dict[str, Any], sites: list[dict[str, Any]]) -> list[Finding]:
    """A peak of which at least half is needed for a short time only."""
    if not process["series"] or not process["peak_bytes"]:
        return []
    usual, time = _usual(process)
    gain = Gain(process["peak_bytes"] - usual, process["peak_bytes"], PEAK, "B")
    if not gain.enough or gain.share < thresholds.PEAK_SHARE:
        return []
    lines = memorytable.largest(memorytable.by_line(sites), "peak_bytes", LINES)
    evidence = [f"the heap was larger than {size(int(usual))} for {seconds(time)} alone, around {seconds(process['peak_time'])}"]
    evidence += [f"at the peak: {size(row['peak_bytes'])} by {memorytable.place(row)}" for row in lines]
    title = f"the heap had its peak of {size(process['peak_bytes'])} for a short time"
    advice = "work on parts of the data, use an iterator instead of a list, or release an object before the next one is made"
    return [Finding("memory-peak", title, gain, evidence, advice, run.report("memory"), lines[0] if lines else None)]


def memory(run: Run) -> list[Finding]:
    """The findings of each process. Error: the data are not in a merged experiment."""
    found = run.model.memory()
    by_process: dict[int, list[dict[str, Any]]] = {}
    for site in memorytable.with_own(run.model, found):
        by_process.setdefault(site["process"], []).append(site)
    findings = []
    for process in found["processes"]:
        sites = by_process.get(process["process"], [])
        of_process = [*_growth(run, found, process, sites), *_peak(run, process, sites)]
        if len(found["processes"]) > 1:
            for finding in of_process:
                finding.title += f" in {naming.title(run.info, process['process'])}"
        findings += of_process
    return findings
