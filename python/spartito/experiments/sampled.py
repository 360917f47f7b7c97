# SPDX-License-Identifier: BSD-3-Clause
"""Sentences about the samples of an experiment."""

from __future__ import annotations

from spartito.base.text import count, percent, plural, seconds
from spartito.experiments.contents import without_calls

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

SHORT = "ended before it could be sampled"
LATE = "began after the program, and with it the sampling, had ended"
SOON = "has not been sampled so far"
MIN_LIFETIME = 0.1  # seconds after which a process has been sampled at least once
MAX_LINES = 6  # of each kind


def _number(p: dict[str, Any], key: str) -> float:
    try:
        return float(p["meta"].get(key, 0))
    except ValueError:
        return 0.0


def notes(info: dict[str, Any]) -> list[str]:
    """A line about the number and quality of the samples; empty without samples."""
    sampled = [p for p in info["processes"] if p["sampled"]]
    if not sampled:
        return []
    rates = sorted({p["meta"].get("sample_rate", "?") for p in sampled})
    samples, unread, late, cost = (sum(_number(p, f"sample_{key}") for p in sampled) for key in ("count", "unread", "late", "cost"))
    whose = "times are those of samples" if without_calls(info) else "samples beside the calls"
    line = f"{whose}: {count(int(samples))} at {'/'.join(rates)} Hz"
    if unread:
        line += f", {count(int(unread))} without a stack ({percent(unread, samples)} %)"
    incomplete = sum(_number(p, "sample_incomplete") for p in sampled)
    if incomplete:
        line += f", {count(int(incomplete))} with compiled functions whose begin was not found"
    if late:
        line += f", {plural(int(late), 'sample')} left out because the machine was busy"
    if cost:
        wall = sum(p["stop"] - p["begin"] for p in sampled)
        line += f"; sampling took {seconds(cost)} of another processor ({percent(cost, wall)} %)"
    return [line]


def _why(p: dict[str, Any], end: float) -> str:
    """Why a process has no samples. end: time at which the last sampled process ended, in seconds."""
    running = p["end"] == "running"
    if p["begin"] > end and (running or p["stop"] - p["begin"] > MIN_LIFETIME):
        return LATE
    return SOON if running else SHORT


def missing(info: dict[str, Any]) -> list[str]:
    """Sentences about processes that should have been sampled and were not, or not until their end."""
    end = max((p["stop"] for p in info["processes"] if p["sampled"]), default=float("inf"))
    why: dict[str, list[int]] = {}
    for p in info["processes"]:
        wanted = "\nsampler=0\n" not in p["meta"].get("settings", "\nsampler=0\n") or "unsampled" in p["meta"]
        if wanted and not p["sampled"]:
            text = p["meta"].get("unsampled", _why(p, end))
            why.setdefault(text.replace(f"process {p['pid']}", "it"), []).append(p["pid"])
    lines = []
    for text, pids in list(why.items())[:MAX_LINES]:
        who = f"process {pids[0]}" if len(pids) == 1 else plural(len(pids), "process")
        lines.append(f"not sampled: {who}: {text}")
    return lines + _ended(info)


def _ended(info: dict[str, Any]) -> list[str]:
    """Sentences about samplers that were killed before their processes ended."""
    those = [p for p in info["processes"] if "sample_ended" in p["meta"]]
    lines = []
    for p in those[:MAX_LINES]:
        unseen = _unseen([p])
        lines.append(f"the sampler of process {p['pid']} ended after {seconds(_number(p, 'sample_ended'))}; {unseen}")
    if len(those) > MAX_LINES:
        more = count(len(those) - MAX_LINES)
        lines.append(f"the samplers of {more} more processes ended before them; {_unseen(those[MAX_LINES:])}")
    return lines


def _unseen(those: list[dict[str, Any]]) -> str:
    known = sum(_number(p, "sample_unseen") for p in those)
    return f"{seconds(known)} were not sampled" if known else "the time after that was not sampled"
