# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment does not hold, in sentences: losses, abrupt ends, damage. No command leaves them out."""

from __future__ import annotations

import os

from spartito.base.text import count, name, plural, size
from spartito.experiments import family, sampled
from spartito.options.settings import uncounted_metric

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from typing import Any

WORDS = (
    ("events", "trace event", "not recorded"),
    ("paths", "call", "in call paths that were not kept separate"),
    ("threads", "thread", "not recorded"),
    ("regions", "function", "whose name was lost"),
    ("unmatched", "event", "lost because its begin or end was missing"),
)
NOT_RECORDED = ".error: a process was not recorded"  # in a problem, after the name of the file
ABRUPT = "ended abruptly"  # in a sentence about a process
INSTEAD = ": the raw files were read instead"  # in a problem of the file `merged`, without which nothing is missing
NO_LINES = ": no lines of its functions: "  # in a problem, after the name of an object file
INCOMPLETE = 4  # exit status: the result is there, but parts of the experiment are damaged or were lost
MAX_LINES = 6  # lines about single processes, before they are summed up


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
        subject = "a process was" if n == 1 else f"{count(n)} processes were"
        lines.append(f"{subject} not recorded{text}")
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"{count(len(lines) - MAX_LINES)} more reasons for processes not recorded; `spartito info --json` names all"]
    return lines


def _aborted(info: dict[str, Any]) -> list[str]:
    lines = []
    for i, p in enumerate(info["processes"]):
        if "mpi_aborted" in p["meta"]:
            lines.append(f"{family.rank_and_process(info, i)} called MPI_Abort with code {p['meta']['mpi_aborted']}")
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"{count(len(lines) - MAX_LINES)} more processes called MPI_Abort"]
    return lines


def _children(processes: list[dict[str, Any]]) -> list[str]:
    """Children of fork that could not make a file; those of a thousand parents say the same."""
    lost: dict[str, int] = {}
    for p in processes:
        if n := p["lost"].get("children", 0):
            why = p["lost_children_reason"] or "reason not known"
            lost[why] = lost.get(why, 0) + n
    return [f"{plural(n, 'child process')} not recorded: {why}" for why, n in lost.items()]


def _unfollowed(info: dict[str, Any]) -> list[str]:
    """Without loading what tells of them where there can be none."""
    started = any(c["process"] is None and c["command"] for c in info.get("children", ()))
    if not started and not any(" run" in p["command"] and "spartito" in p["command"] for p in info["processes"]):
        return []
    from spartito.experiments import unfollowed

    return unfollowed.sentences(info)


def _missing(processes: list[dict[str, Any]]) -> list[str]:
    """What was asked for and could not be recorded; a thousand ranks say the same."""
    processes_by_text: dict[str, list[dict[str, Any]]] = {}
    for p in processes:
        for key, text in p["meta"].items():
            if key.startswith("missing_"):
                processes_by_text.setdefault(text.rstrip(), []).append(p)
    return [
        f"not recorded in {family.process_name(those[0]) if len(those) == 1 else f'{count(len(those))} processes'}: {text}"
        for text, those in processes_by_text.items()
    ]


def _uncounted(processes: list[dict[str, Any]]) -> list[str]:
    """Metrics that were asked for but not counted; all processes of a machine say the same."""
    lines: dict[str, None] = {}
    for process in processes:
        for text in filter(None, process.get("meta", {}).get("uncounted", "").split("\n")):
            lines[uncounted_metric(*text.split(": ", 1))] = None
    return list(lines)


def sentences(info: dict[str, Any]) -> list[str]:
    """One line each, for people and for scripts that look for "lost", "not recorded" and "abrupt"."""
    lines = []
    losing = [p for p in info["processes"] if _lost(p["lost"]) or p.get("lost_reason")]
    if len(losing) > MAX_LINES:
        parts = _lost(_sum(losing)) or ["part of the recording"]
        reasons = ", ".join(sorted({p["lost_reason"] for p in losing if p.get("lost_reason")}))
        lines.append(
            f"lost in {count(len(losing))} processes: {', '.join(parts)}" + (f" ({reasons})" if reasons else "")
        )
    else:
        for p in losing:
            parts = _lost(p["lost"]) or ["part of the recording"]
            why = f" ({p['lost_reason']})" if p.get("lost_reason") else ""
            lines.append(f"lost in {family.process_name(p)}: {', '.join(parts)}{why}")
    lines += _children(info["processes"])
    lines += _unfollowed(info)
    lines += family.sentences(info, ABRUPT, MAX_LINES)
    lines += _aborted(info)
    lines += _missing(info["processes"])
    lines += sampled.missing(info)
    lines += _uncounted(info["processes"])
    lines += _not_recorded(info["problems"])
    lines += [text for text in info["problems"] if NO_LINES in text]
    damage = [text for text in info["problems"] if NOT_RECORDED not in text and NO_LINES not in text]
    lines += [f"damaged: {text}" for text in damage[:MAX_LINES]]
    if len(damage) > MAX_LINES:
        lines.append(f"damaged: {plural(len(damage) - MAX_LINES, 'more location')}; `spartito info --json` names all")
    return lines


def _lacks_parts(info: dict[str, Any], directory: str) -> bool:
    """Threads, children or ranks that should be here, or what came after the end of a sampler."""
    from spartito.experiments.ranks import read

    known = read(directory)
    return (known is not None and "." in known.census) or any(
        p["lost"].get("threads") or p["lost"].get("children") or "sample_ended" in p["meta"] for p in info["processes"]
    )


def not_whole(info: dict[str, Any], directory: str) -> str:
    """Why the times are not those of a whole run, behind its name; empty: they are. Calls that are counted as their caller's and
    trace events do not matter, nor do processes that the program itself ended."""
    from spartito.experiments.description import launcher

    if any(NO_LINES not in text for text in info["problems"]) or _lacks_parts(info, directory):
        return "lacks time that was spent"
    if any(p["end"] == "running" for p in info["processes"]):
        return "still runs"
    killed = (p for p in info["processes"] if p["end"] == "abrupt" and p.get("status") is None and not family.by_program(p))
    return "was ended before it was done" if any(killed) or ending(launcher(directory)[0]) else ""


def spans(numbers: list[int]) -> str:
    """0-3, 7"""
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def _ranks(numbers: list[int], of: str, one: str, more: str) -> str:
    return f"rank {spans(numbers)}{of} {one}" if len(numbers) == 1 else f"ranks {spans(numbers)}{of} {more}"


def of_ranks(directory: str) -> list[str]:
    """How the ranks of a job ended, and which of them are not here; nothing where all is well."""
    from spartito.experiments.ranks import read

    known = read(directory)
    if not known:
        return []
    of, lines = f" of {known.size}", []
    signals: dict[int, list[int]] = {}
    for place in known.places:
        if place.status is not None and os.WIFSIGNALED(place.status):
            signals.setdefault(os.WTERMSIG(place.status), []).append(place.rank)
    for number, those in signals.items():
        how = _signal(number)
        lines.append(_ranks(those, of, f"was ended by {how}", f"were ended by {how}"))
    open_ = [place.rank for place in known.places if not place.ended]
    if open_:
        one, more = "its launcher was killed, or still runs", "their launchers were killed, or still run"
        lines.append(_ranks(open_, of, f"did not end: {one}", f"did not end: {more}"))
    absent = [i for i, letter in enumerate(known.census) if letter == "."]
    if absent:
        why = "in this experiment: not measured, or started where its directory cannot be seen"
        lines.append(_ranks(absent, of, f"is not {why}", f"are not {why}"))
    return lines


def _signal(number: int) -> str:
    name = family.signal_name(number)
    return name if name.startswith("signal") else f"signal {number} ({name})"


def ending(known: dict[str, Any]) -> str:
    """How the program ended, if not by itself. known: experiment.json; empty when that says nothing, or of_ranks() more."""
    number = None if "ranks" in known else known.get("signal")
    return f"the program was ended by {_signal(number)}" if isinstance(number, int) else ""


def is_incomplete(info: dict[str, Any], directory: str, problem: str = "") -> bool:
    """Whether sentences() says that something was lost, not recorded at all, or is damaged: a result of it is not the whole. Not so
    for a program that was killed, of which all is there up to then, nor for what could not be counted or looked up, nor for ends
    without a begin, as a region has that is left in another function than it was entered in. problem: that of experiment.json."""
    return (
        bool(problem)
        or any(NO_LINES not in text and INSTEAD not in text for text in info["problems"])
        or any(_lost({**p["lost"], "unmatched": 0}) or p.get("lost_reason") for p in info["processes"])
        or _lacks_parts(info, directory)
    )


def say_all(info: dict[str, Any], directory: str, named: bool = False) -> int:
    """Prints what was lost. named: with the directory, for a command with several. Returns the exit status: 0, or INCOMPLETE."""
    from spartito.base.messages import complain
    from spartito.experiments.description import launcher

    which = f"{name(directory)}: " if named else ""
    known, problem = launcher(directory)
    for line in filter(None, [*sentences(info), problem, *of_ranks(directory), ending(known)]):
        complain(which + line)
    return INCOMPLETE if is_incomplete(info, directory, problem) else 0
