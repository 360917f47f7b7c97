# SPDX-License-Identifier: BSD-3-Clause
"""Off-CPU time by function in `spartito report waits`, and its line in the summary of a run."""

from __future__ import annotations

from spartito.base.messages import Refused
from spartito.base.text import Column, Output, name, percent, plural, seconds
from spartito.experiments import contents, waiting

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

COLUMNS = (
    Column("waiting"),
    Column("%"),
    Column("for", left=True),
    Column("function", left=True, style="cyan"),
    Column("defined at", left=True, style="dim", rank=1),
)
NOTABLE = 0.05  # smallest share of all threads' time for a line in the summary


def sentence(found: list[dict[str, Any]], info: dict[str, Any]) -> str:
    """Waiting of all threads by kind. found: waiting.rows()."""
    busy, total = sum(loc["busy"] for loc in info["locations"]), contents.waited(info)
    kinds = ", ".join(f"{kind} {seconds(time)}" for kind, time in list(waiting.sums(found).items())[:4])
    what = plural(len(info["locations"]), "thread")
    return f"waiting: {seconds(total)} of the {seconds(busy)} of {what} ({percent(total, busy)} %): {kinds}"


def preempted_sentence(info: dict[str, Any]) -> list[str]:
    """A line about the time in which threads had no processor; empty: it is negligible."""
    busy, total = sum(loc["busy"] for loc in info["locations"]), contents.preempted(info)
    if total <= 0 or total < NOTABLE * busy:
        return []
    what = plural(len(info["locations"]), "thread")
    times = f"{seconds(total)} of the {seconds(busy)} of {what} ({percent(total, busy)} %)"
    return [f"preempted: {times}: ready to run, but the processors ran something else"]


def summary(model: Model, info: dict[str, Any]) -> list[str]:
    """Lines for the summary of a run; empty: the threads hardly waited, and were hardly preempted."""
    return [*_waiting(model, info), *preempted_sentence(info)]


def _waiting(model: Model, info: dict[str, Any]) -> list[str]:
    busy = sum(loc["busy"] for loc in info["locations"])
    if not contents.split(info) or contents.waited(info) < NOTABLE * busy:
        return []  # do not read the call tree
    try:
        found = waiting.rows(model, waiting.LEAST)
    except Refused as e:  # the program has ended: its status and summary do not depend on a file of the user's
        return [str(e)]
    most = ""
    if found and found[0]["waiting"] >= NOTABLE * busy:
        most = f"; most in {name(found[0]['name'])}, {seconds(found[0]['waiting'])}"
    return [f"{sentence(found, info)}{most}"]


def write(out: Output, found: list[dict[str, Any]], info: dict[str, Any], limit: int) -> None:
    """Writes the table of functions. found: waiting.rows()."""
    total = sum(row["waiting"] for row in found)
    rows = [
        (seconds(row["waiting"]), percent(row["waiting"], total), row["kind"], name(row["name"]), _place(row))
        for row in found[: limit or None]
    ]
    out.table(COLUMNS, rows)
    out.line()
    for line in [sentence(found, info), *preempted_sentence(info)]:
        out.line(line)
    locks_unknown = not any(m["name"] == "wait_time" for m in info["metrics"])
    if locks_unknown and waiting.sums(found).get(waiting.OTHER, 0.0) > NOTABLE * total:
        out.line("other: C code that the function called waited; `spartito run --waits` records for what, and who held a lock")
    if any(m["source"] == "off_cpu" for m in info["metrics"]):
        out.line("waits shorter than about 40 µs count as running")


def _place(row: dict[str, Any]) -> str:
    return name(f"{row['file']}:{row['line']}" if row["line"] else row["file"])
