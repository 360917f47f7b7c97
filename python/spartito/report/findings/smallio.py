# SPDX-License-Identifier: BSD-3-Clause
"""The finding that a call path reads or writes a file in small pieces."""

from __future__ import annotations

from spartito.base.text import count, plural, seconds, size
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place
from spartito.report.iotable import READ, WRITTEN

WORDS = ((READ, "reads", "read"), (WRITTEN, "writes", "written"))


def small_transfers(run: Run) -> list[Finding]:
    """Call paths that end in a function of the C library which transfers few bytes in each of many calls."""
    found = []
    for row in run.paths:
        if row["kind"] != "io" or row["visits"] < thresholds.IO_CALLS:
            continue
        calls, caller = row["visits"], row["caller"]
        for metric, does, done in WORDS:
            amount = row["metrics"][metric]["excl"]
            if not amount or amount / calls > thresholds.IO_SMALL:
                continue
            needed = -(-amount // thresholds.IO_BUFFER)  # calls with a full buffer
            gain = run.of_threads(row["incl"] * (1 - needed / calls))
            if gain.enough:
                who = place(caller) if caller else "a thread outside of Python functions"
                evidence = [
                    f"{count(calls)} calls of {row['name']}, {seconds(row['incl'])} in total",
                    f"{size(amount)} {done}: with {size(thresholds.IO_BUFFER)} in each call, {plural(needed, 'call')} would do",
                    f"called by {who}",
                ]
                title = f"{who} {does} {size(amount // calls)} at a time, {count(calls)} times"
                advice = "use a buffered file (open() without buffering=0), without a flush after each piece, or join the pieces"
                found.append(Finding("small-io", title, gain, evidence, advice, run.report("io"), caller, row["stack"]))
    return found
