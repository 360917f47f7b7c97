# SPDX-License-Identifier: BSD-3-Clause
"""Which kinds of data an experiment holds, and how they were recorded."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from typing import Any


def is_recorded(info: dict[str, Any]) -> bool:
    return any(metric["source"] == "memory" for metric in info["metrics"])


def timed(info: dict[str, Any]) -> bool:
    """Whether there are calls or times, and not only what was counted: `--memory-sample` alone records no calls."""
    return any(loc["visits"] or loc["resumed"] or loc["busy"] for loc in info["locations"])


def is_all(info: dict[str, Any]) -> bool:
    """Whether memory was recorded, and neither calls nor times."""
    return is_recorded(info) and not timed(info)


def taken(info: dict[str, Any]) -> bool:
    """Whether there are samples of some process."""
    return any(p["sampled"] for p in info["processes"])


def without_calls(info: dict[str, Any]) -> bool:
    """Whether some times are of samples alone, so that nobody knows how many calls they are of."""
    return any(p["sampled"] and not p["counted"] for p in info["processes"])


def known(rows: list[dict[str, Any]], info: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of functions for other programs: None stands where tables have a dash."""
    if not without_calls(info):
        return rows
    of_calls = ("visits", "mean", "min", "max", "std")
    return [
        row if row["visits"] + row["resumed"] else {key: None if key in of_calls else value for key, value in row.items()}
        for row in rows
    ]


def settings(info: dict[str, Any]) -> dict[str, str]:
    """How the first process was measured: the recorder's settings; empty where they are not known."""
    found: dict[str, str] = {}
    last = ""
    for line in first_meta(info).get("settings", "").split("\n"):
        key, equals, value = line.partition("=")
        if equals and key.isidentifier():
            found[key] = value
            last = key
        elif last and line:  # patterns have a line each
            found[last] += "\n" + line
    return found


def first_meta(info: dict[str, Any]) -> dict[str, str]:
    """META records of the first process."""
    first: dict[str, str] = info["processes"][0]["meta"] if info["processes"] else {}
    return first
