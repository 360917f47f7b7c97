# SPDX-License-Identifier: BSD-3-Clause
"""Sentences about what an experiment lacks: losses, abrupt ends, damage. Every command prints them."""

from __future__ import annotations

import os

from spartito.base.text import count, name, plural, size
from spartito.experiments import family, sampled
from spartito.options.settings import uncounted_metric

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

# key in `lost`, noun, and the end of the sentence
WORDS = (
    ("events", "trace event", "not recorded"),
    ("paths", "call", "in call paths that were not kept separate"),
    ("threads", "thread", "not recorded"),
    ("regions", "function", "whose name was lost"),
    ("unmatched", "event", "lost because its begin or end was missing"),
)
NOT_RECORDED = ".error: a process was not recorded"  # part of a problem, after the name of the file
ABRUPT = "ended abruptly"  # in a sentence about a process
INSTEAD = ": the raw files were read instead"  # ends a problem of the file `merged`; no data are missing then
NO_LINES = ": no lines of its functions: "  # part of a problem, after the name of an object file
INCOMPLETE = 4  # exit status: the result is there, but parts of the experiment are damaged or were lost
MAX_LINES = 6  # lines about single processes; more are summed up in one line


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
    """Processes in which the measurement could not begin. Equal reasons are summed up, as a thousand ranks have the same one."""
    texts = [text.split(NOT_RECORDED, 1)[1] for text in problems if NOT_RECORDED in text]
    lines = []
    for text in dict.fromkeys(texts):
        n = texts.count(text)
        subject = "a process was" if n == 1 else f"{count(n)} processes were"
        lines.append(f"{subject} not recorded{text}")
    if len(lines) > MAX_LINES:
        more = count(len(lines) - MAX_LINES)
        lines[MAX_LINES:] = [f"{more} more reasons for processes not recorded; `spartito info --json` names all"]
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
    """Forked children that could not create a raw file. Equal reasons are summed up."""
    lost: dict[str, int] = {}
    for p in processes:
        if n := p["lost"].get("children", 0):
            why = p["lost_children_reason"] or "reason not known"
            lost[why] = lost.get(why, 0) + n
    return [f"{plural(n, 'child process')} not recorded: {why}" for why, n in lost.items()]


def _unfollowed(info: dict[str, Any]) -> list[str]:
    """Sentences about children that ran Python and were not measured. The module for them is loaded only if there may be some."""
    started = any(c["process"] is None and c["command"] for c in info.get("children", ()))
    if not started and not any(" run" in p["command"] and "spartito" in p["command"] for p in info["processes"]):
        return []
    from spartito.experiments import unfollowed

    return unfollowed.sentences(info)


def _missing(processes: list[dict[str, Any]]) -> list[str]:
    """Data that the settings ask for and that could not be recorded. Equal sentences of several processes are summed up."""
    processes_by_text: dict[str, list[dict[str, Any]]] = {}
    for p in processes:
        for key, text in p["meta"].items():
            if key.startswith("missing_"):
                processes_by_text.setdefault(text.rstrip(), []).append(p)
    return [
        f"not recorded in {family.process_name(those[0]) if len(those) == 1 else f'{count(len(those))} processes'}: {text}"
        for text, those in processes_by_text.items()
    ]


def _gil(processes: list[dict[str, Any]]) -> list[str]:
    """Builds of Python without the GIL that ran with it."""
    those = [p for p in processes if p["meta"].get("gil") == "on"]
    who = family.process_name(those[0]) if len(those) == 1 else f"{count(len(those))} processes"
    why = "an extension module that needs it was imported, or PYTHON_GIL=1 was set"
    return [f"the GIL was on in {who}, so that one thread ran at a time: {why}"] if those else []


def _uncounted(processes: list[dict[str, Any]]) -> list[str]:
    """Metrics that could not be counted, each once: all processes of a machine have the same ones."""
    lines: dict[str, None] = {}
    for process in processes:
        for text in filter(None, process.get("meta", {}).get("uncounted", "").split("\n")):
            lines[uncounted_metric(*text.split(": ", 1))] = None
    return list(lines)


def sentences(info: dict[str, Any]) -> list[str]:
    """One line for each loss. Scripts may search for the words "lost", "not recorded" and "abrupt"."""
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
    lines += _gil(info["processes"])
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
    """Whether threads, children or ranks are missing, or the time after a sampler was killed."""
    from spartito.experiments.ranks import read

    known = read(directory)
    return (known is not None and "." in known.census) or any(
        p["lost"].get("threads") or p["lost"].get("children") or "sample_ended" in p["meta"] for p in info["processes"]
    )


def not_whole(info: dict[str, Any], directory: str) -> str:
    """Why the times are not those of a whole run, as the end of a sentence about it; empty: they are. Losses that do not change
    times are ignored: calls that count as their caller's, trace events, and processes that the program itself ended."""
    from spartito.experiments.description import launcher

    if any(NO_LINES not in text for text in info["problems"]) or _lacks_parts(info, directory):
        return "lacks time that was spent"
    if any(p["end"] == "running" for p in info["processes"]):
        return "still runs"
    killed = (p for p in info["processes"] if p["end"] == "abrupt" and p.get("status") is None and not family.by_program(p))
    return "was ended before it was done" if any(killed) or ending(launcher(directory)[0]) else ""


def spans(numbers: list[int]) -> str:
    """The numbers as text: "0-3, 7"."""
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
    """Sentences about ranks of a job that a signal ended, that did not end, or that are not in the experiment."""
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
    """The signal that ended the program, as a sentence; empty: no signal did, or of_ranks() reports it. known: content of
    experiment.json."""
    number = None if "ranks" in known else known.get("signal")
    return f"the program was ended by {_signal(number)}" if isinstance(number, int) else ""


def is_incomplete(info: dict[str, Any], directory: str, problem: str = "") -> bool:
    """Whether data of the experiment were lost, not recorded or damaged, so that a result is not complete.

    These cases count as complete: a program that was killed, as all data up to then are there; metrics and names that were not
    available; leave events without an enter event, which a region has that is left in another function. problem: damage of
    experiment.json."""
    return (
        bool(problem)
        or any(NO_LINES not in text and INSTEAD not in text for text in info["problems"])
        or any(_lost({**p["lost"], "unmatched": 0}) or p.get("lost_reason") for p in info["processes"])
        or _lacks_parts(info, directory)
    )


def say_all(info: dict[str, Any], directory: str, named: bool = False) -> int:
    """Prints all losses. named: with the directory, for a command that reads several experiments. Returns the exit status: 0 or
    INCOMPLETE."""
    from spartito.base.messages import complain
    from spartito.experiments.description import launcher

    which = f"{name(directory)}: " if named else ""
    known, problem = launcher(directory)
    for line in filter(None, [*sentences(info), problem, *of_ranks(directory), ending(known)]):
        complain(which + line)
    return INCOMPLETE if is_incomplete(info, directory, problem) else 0
