# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment does not hold, in sentences: losses, abrupt ends, damage. No command leaves them out."""

from __future__ import annotations

import os

from spartito.text import count, plural, size

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from typing import Any

WORDS = (
    ("events", "trace event", "not recorded"),
    ("paths", "call", "in call paths that were not told apart"),
    ("threads", "thread", "not recorded"),
    ("regions", "function", "whose name was lost"),
    ("unmatched", "event", "lost because its begin or end was missing"),
)
NOT_RECORDED = ".error: a process was not recorded"  # in a problem, after the name of the file
ABRUPT = "ended abruptly"  # in a sentence about a process
NO_LINES = ": no lines of its functions: "  # in a problem, after the name of an object file
MOST = 6  # lines about single processes, before they are summed up


def _who(process: dict[str, Any]) -> str:
    return f"process {process['pid']} on {process['host']}"


def _lost(lost: dict[str, int]) -> list[str]:
    parts = [f"{plural(lost[key], what)} {how}" for key, what, how in WORDS if lost.get(key)]
    if lost.get("bytes"):
        parts.append(f"{size(lost['bytes'])} of the trace not kept")
    return parts


def _sum(processes: list[dict[str, Any]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for process in processes:
        for key, n in process["lost"].items():
            total[key] = total.get(key, 0) + n
    return total


def _not_recorded(problems: list[str]) -> list[str]:
    """Processes in which measuring could not begin; a thousand ranks say the same."""
    texts = [text.split(NOT_RECORDED, 1)[1] for text in problems if NOT_RECORDED in text]
    lines = []
    for text in dict.fromkeys(texts):
        n = texts.count(text)
        who = "a process was" if n == 1 else f"{count(n)} processes were"
        lines.append(f"{who} not recorded{text}")
    if len(lines) > MOST:
        lines[MOST:] = [f"{count(len(lines) - MOST)} more reasons for processes not recorded; `spartito info --json` names all"]
    return lines


def _missing(processes: list[dict[str, Any]]) -> list[str]:
    """What was asked for and could not be recorded; a thousand ranks say the same."""
    said: dict[str, list[dict[str, Any]]] = {}
    for p in processes:
        for key, text in p["meta"].items():
            if key.startswith("missing_"):
                said.setdefault(text, []).append(p)
    return [
        f"not recorded in {_who(those[0]) if len(those) == 1 else f'{count(len(those))} processes'}: {text}"
        for text, those in said.items()
    ]


def uncounted(name: str, why: str) -> str:
    return f"{name} cannot be counted here: {why}"


def _uncounted(processes: list[dict[str, Any]]) -> list[str]:
    """Metrics that were asked for but not counted; all processes of a machine say the same."""
    lines: dict[str, None] = {}
    for process in processes:
        for text in filter(None, process.get("meta", {}).get("uncounted", "").split("\n")):
            lines[uncounted(*text.split(": ", 1))] = None
    return list(lines)


def sentences(info: dict[str, Any]) -> list[str]:
    """One line each, for people and for scripts that look for "lost", "not recorded" and "abrupt"."""
    lines = []
    losing = [p for p in info["processes"] if _lost(p["lost"]) or p.get("lost_reason")]
    if len(losing) > MOST:
        parts = _lost(_sum(losing)) or ["part of the recording"]
        reasons = ", ".join(sorted({p["lost_reason"] for p in losing if p.get("lost_reason")}))
        lines.append(
            f"lost in {count(len(losing))} processes: {', '.join(parts)}" + (f" ({reasons})" if reasons else "")
        )
    else:
        for p in losing:
            parts = _lost(p["lost"]) or ["part of the recording"]
            why = f" ({p['lost_reason']})" if p.get("lost_reason") else ""
            lines.append(f"lost in {_who(p)}: {', '.join(parts)}{why}")
    abrupt = [p for p in info["processes"] if p["end"] == "abrupt"]
    if len(abrupt) > MOST:
        lines.append(f"{count(len(abrupt))} processes {ABRUPT}; what was recorded until then is here")
    else:
        for p in abrupt:
            how = "(killed, crashed, os._exit or still running)"
            lines.append(f"{_who(p)} {ABRUPT} {how}; what was recorded until then is here")
    lines += _missing(info["processes"])
    lines += _uncounted(info["processes"])
    lines += _not_recorded(info["problems"])
    lines += [text for text in info["problems"] if NO_LINES in text]
    damage = [text for text in info["problems"] if NOT_RECORDED not in text and NO_LINES not in text]
    lines += [f"damaged: {text}" for text in damage[:MOST]]
    if len(damage) > MOST:
        lines.append(f"damaged: {plural(len(damage) - MOST, 'more place')}; `spartito info --json` names all")
    return lines


def ending(directory: str) -> str:
    """How the program ended, if not by itself: from experiment.json; empty when that says nothing."""
    import json
    import signal

    try:
        with open(os.path.join(directory, "experiment.json"), encoding="utf-8") as f:
            number = json.load(f).get("signal")
    except (OSError, ValueError, AttributeError):
        return ""
    if not isinstance(number, int):
        return ""
    try:
        return f"the program was ended by signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"the program was ended by signal {number}"


def say_all(info: dict[str, Any], directory: str) -> None:
    from spartito.say import complain

    for line in sentences(info):
        complain(line)
    line = ending(directory)
    if line:
        complain(line)
