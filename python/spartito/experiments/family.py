# SPDX-License-Identifier: BSD-3-Clause
"""The process tree of an experiment, with child processes that were not measured, and how each process ended."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any


BY_PROGRAM = "ended by the program itself"  # in a sentence about processes


def process_name(process: dict[str, Any]) -> str:
    return f"process {process['pid']} on {process['host']}"


def rank_and_process(info: dict[str, Any], process: int) -> str:
    from spartito.experiments.naming import rank_number

    text, number = process_name(info["processes"][process]), rank_number(info, process)
    return text if number is None else f"rank {number} ({text})"


def signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def end_of(p: dict[str, Any]) -> str:
    """How a process or child ended: "abrupt SIGKILL", "exited 3", "normal". Empty for a child whose parent did not wait for it."""
    parts = [p.get("end", "") if isinstance(p.get("end"), str) else ""]
    if p.get("signal") is not None:
        parts.append(signal_name(p["signal"]))
    elif p.get("status") or (p.get("status") == 0 and parts[0] in ("", "exited")):
        parts.append(str(p["status"]) if parts[0] else f"exit {p['status']}")
    return " ".join(filter(None, parts))


def ranks(info: dict[str, Any], directory: str) -> list[int | None]:
    """The rank of each process, or None: that of MPI (rank_number()), or without MPI, that of the launcher which started the
    process."""
    from spartito.experiments.naming import rank_number
    from spartito.experiments.ranks import read

    known = read(directory)
    started = {(place.host, place.pid): place.rank for place in known.places} if known else {}
    found = [rank_number(info, i) for i in range(len(info["processes"]))]
    if not info["worlds"]:
        found = [started.get((p["host"], p["ppid"])) for p in info["processes"]]
    return found


def _order(p: dict[str, Any]) -> tuple[float, float, float]:
    """Sort key: MPI ranks first, in their order, then other processes by their start."""
    rank = p.get("rank")
    return (float("inf"), 0, p["begin"]) if rank is None else (p["world"], rank, p["begin"])


def tree(info: dict[str, Any]) -> list[tuple[int, int | None, dict[str, Any]]]:
    """Rows (depth, index of the process or None, process or child). A parent is before its children; those are sorted by rank or
    start."""
    processes = info["processes"]
    below: dict[int | None, list[tuple[int | None, dict[str, Any]]]] = {}
    above: int | None
    for i, p in enumerate(processes):
        above = p["continues"] if p["continues"] is not None else p["parent"]
        below.setdefault(above, []).append((i, p))
    for c in info.get("children", ()):
        if c["process"] is None:
            below.setdefault(c["parent"], []).append((None, c))
    for those in below.values():
        those.sort(key=lambda one: _order(one[1]), reverse=True)
    rows: list[tuple[int, int | None, dict[str, Any]]] = []
    waiting = [(0, below.get(None, []))]
    while waiting:
        depth, those = waiting[-1]
        if not those:
            waiting.pop()
            continue
        index, found = those.pop()
        rows.append((depth, index, found))
        if index is not None:
            waiting.append((depth + 1, below.get(index, [])))
    return rows


def origin(info: dict[str, Any], process: int) -> str:
    """The origin of a process: its command line, and the process that started it."""
    p = info["processes"][process]
    if p["continues"] is not None:
        return f"now {p['command']}"
    if p["parent"] is None:
        return str(p["command"])
    parent = info["processes"][p["parent"]]["pid"]
    return f"a copy of process {parent}" if p["forked"] else f"started by process {parent}: {p['command']}"


def by_program(p: dict[str, Any]) -> bool:
    """Whether another process of the program ended this one with a signal, which is not an error."""
    return bool(p["end"] == "abrupt" and p.get("ended_by") is not None)


def _by_program(processes: list[dict[str, Any]]) -> list[str]:
    """A line for each process that ended others with a signal, and for each of these signals."""
    groups: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for p in filter(by_program, processes):
        groups.setdefault((p["ended_by"], p["signal"]), []).append(p)
    lines = []
    for (by, number), those in groups.items():
        parent = all(p["parent"] == by for p in those)
        subject, owner = f"process {those[0]['pid']} was", "its"
        if len(those) > 1:
            subject, owner = f"{len(those):,} processes were", "their"
        sender = f"{owner} parent, process {processes[by]['pid']}," if parent else f"process {processes[by]['pid']}"
        lines.append(f"{subject} {BY_PROGRAM}: {sender} sent {signal_name(number)}, as pools do; nothing is lost")
    return lines


def _open_calls(info: dict[str, Any]) -> dict[int, str]:
    """For each process " in f": the innermost call that its first thread had not left. The process hung or waited there."""
    found: dict[int, str] = {}
    for loc in info["locations"]:
        found.setdefault(loc["process"], loc["open"])
    return {i: f" in {text}" for i, text in found.items() if text}


def _common_calls(where: dict[int, str], those: list[int]) -> str:
    """The three most frequent calls in which these processes ended."""
    times: dict[str, int] = {}
    for text in filter(None, map(where.get, those)):
        times[text] = times.get(text, 0) + 1
    most = sorted(times.items(), key=lambda item: -item[1])[:3]
    return f" ({'; '.join(f'{n:,}{text}' for text, n in most)})" if most else ""


def _ending(p: dict[str, Any]) -> str:
    if p.get("signal") is not None:
        return f"signal {p['signal']}, {signal_name(p['signal'])}"
    if p.get("status") is not None:
        return f"ended by C code, exit status {p['status']}"
    return "killed, crashed or ended by C code"


def sentences(info: dict[str, Any], abrupt: str, max_lines: int) -> list[str]:
    """Sentences about processes that did not finalize the interpreter. abrupt: the verb for processes that ended. If there are more
    than max_lines of a kind, one sentence sums them up."""
    processes, where = info["processes"], _open_calls(info)
    lines = _by_program(processes)
    others = [i for i, p in enumerate(processes) if p["end"] == "abrupt" and not by_program(p)]
    running = [i for i, p in enumerate(processes) if p["end"] == "running"]
    for those, how, rest in ((others, abrupt, "what was recorded until then"), (running, "", "what it has recorded so far")):
        if len(those) > max_lines:
            text = how or "still run"
            rest = rest.replace("it has", "they have")
            lines.append(f"{len(those):,} processes {text}{_common_calls(where, those)}; {rest} is here")
            continue
        for i in those:
            p = processes[i]
            text = f"{how}{where.get(i, '')} ({_ending(p)})" if how else f"still runs{where.get(i, '')}"
            lines.append(f"{rank_and_process(info, i)} {text}; {rest} is here")
    return lines
