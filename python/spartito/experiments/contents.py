# SPDX-License-Identifier: BSD-3-Clause
"""Finds out which kinds of data an experiment contains, and how they were recorded."""

from __future__ import annotations

from spartito.base.text import count, plural, size
from spartito.experiments.waiting import SAMPLED

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

EVENT_BYTES = 8  # of an event in the recorder's memory


def is_recorded(info: dict[str, Any]) -> bool:
    """Whether memory was recorded."""
    return any(metric["source"] == "memory" for metric in info["metrics"])


def timed(info: dict[str, Any]) -> bool:
    """Whether calls or times were recorded. `--memory-sample` alone records neither."""
    return any(loc["visits"] or loc["resumed"] or loc["busy"] for loc in info["locations"])


def is_all(info: dict[str, Any]) -> bool:
    """Whether memory is all that was recorded: neither calls nor times."""
    return is_recorded(info) and not timed(info)


def taken(info: dict[str, Any]) -> bool:
    """Whether some process was sampled."""
    return any(p["sampled"] for p in info["processes"])


def without_calls(info: dict[str, Any]) -> bool:
    """Whether some process was sampled and its calls were not recorded, so that numbers of calls are not known."""
    return any(p["sampled"] and not p["counted"] for p in info["processes"])


def split(info: dict[str, Any]) -> bool:
    """Whether times are split into running and waiting: measured, or estimated from the states of samples."""
    return any(m["source"] == "off_cpu" or m["name"] == "sampled_idle" for m in info["metrics"])


def of_running(share: float, running: float, busy: float) -> float:
    """A share of the running time as a share of all time (busy), the threshold of Model.tree(): a thread that waits for work does
    not hide what the others do."""
    return share * running / busy if busy else share


def waited(info: dict[str, Any]) -> float:
    """The time in which the threads waited, in s: the sum of all call paths."""
    names = ("waiting",) if any(m["name"] == "waiting" for m in info["metrics"]) else ("sampled_idle", *SAMPLED)
    return _total(info, names)


def preempted(info: dict[str, Any]) -> float:
    """The time in which the threads could have run but had no processor, in s: the sum of all call paths."""
    return _total(info, ("preempted",))


def _total(info: dict[str, Any], names: tuple[str, ...]) -> float:
    return float(sum(m["total"] for m in info["metrics"] if m["name"] in names)) * 1e-9


def trace_sentences(info: dict[str, Any]) -> list[str]:
    """The size of the trace, and the processes whose trace was larger than the memory for it; empty: there is no trace."""
    if not info["traced"]:
        return []
    lines = [f"trace: {plural(info['events'], 'event')}; the raw files take {size(info['bytes'])} on disk"]
    recorded = settings(info)
    text = recorded.get("trace_memory", "")
    if recorded.get("when_full") != "flush" or not (text.isascii() and text.isdigit()):
        return lines  # a trace that stopped at the limit is reported as a loss
    limit = int(text)
    events = [0] * len(info["processes"])
    for loc in info["locations"]:
        events[loc["process"]] += loc["events"]
    larger = [p["pid"] for p, n in zip(info["processes"], events) if n * EVENT_BYTES > limit]
    if larger:
        who = f"process {larger[0]}" if len(larger) == 1 else f"{count(len(larger))} processes"
        largest = size(max(events) * EVENT_BYTES)
        lines.append(f"the trace of {who} passed --trace-memory ({size(limit)}) and was written to disk: {largest} uncompressed")
    return lines


def known(rows: list[dict[str, Any]], info: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of functions with None instead of numbers of calls that are not known. Tables show a dash for None."""
    if not without_calls(info):
        return rows
    of_calls = ("visits", "mean", "min", "max", "std")
    return [
        row if row["visits"] + row["resumed"] else {key: None if key in of_calls else value for key, value in row.items()}
        for row in rows
    ]


def settings(info: dict[str, Any]) -> dict[str, str]:
    """The recorder's settings in the first process; empty: not known."""
    found: dict[str, str] = {}
    last = ""
    for line in first_meta(info).get("settings", "").split("\n"):
        key, equals, value = line.partition("=")
        if equals and key.isidentifier():
            found[key] = value
            last = key
        elif last and line:  # a setting with several patterns has one line for each
            found[last] += "\n" + line
    return found


def first_meta(info: dict[str, Any]) -> dict[str, str]:
    """The META records of the first process, {key: text}."""
    first: dict[str, str] = info["processes"][0]["meta"] if info["processes"] else {}
    return first
