# SPDX-License-Identifier: BSD-3-Clause
"""The summary that `spartito run` prints at the end: the functions with the most time, the load balance, findings and the next
command. The launcher loads this module while the program starts: modules that nearly every summary needs are imported here."""

from __future__ import annotations

import sys

from spartito.base.text import Column, Output, as_argument, count, name, percent, plural, seconds, size, visits_text
from spartito.experiments import contents, cost, owners, processtime, roles, sampled
from spartito.experiments.losses import of_ranks, sentences
from spartito.experiments.naming import rank_number
from spartito.report.findings import topics
from spartito.report.waittables import offcpu

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from spartito._analyse import Model

TOP = 10  # functions in the table
WAITED = 0.05  # smallest share of all threads' time for a function's wait in the table
# verbs for metrics of bytes that MPI transferred
MOVED = {
    "bytes_sent": "sent",
    "bytes_received": "received",
    "bytes_put": "put",
    "bytes_get": "fetched",
    "mpi_io_bytes_read": "read from files",
    "mpi_io_bytes_written": "written to files",
}


def _spread(what: str, busy: list[tuple[float, str]]) -> str:
    longest, shortest = max(busy), min(busy)
    mean = sum(t for t, _ in busy) / len(busy)
    if longest[0] <= 0:
        return f"{what}: no call was measured in any of them"
    return (
        f"{what}: balance {percent(mean, longest[0])} % (mean {seconds(mean)}; "
        f"maximum {seconds(longest[0])} in {longest[1]}, minimum {seconds(shortest[0])} in {shortest[1]})"
    )


def of_mpi(info: dict[str, Any]) -> list[str]:
    """A line about the time and the transferred bytes of MPI; empty: the program did not use MPI."""
    taken = sum(loc["mpi"] for loc in info["locations"])
    if not info["worlds"]:
        return []
    line = f"MPI took {seconds(taken)} ({percent(taken, sum(loc['busy'] for loc in info['locations']))} %)"
    moved = []
    for m in info["metrics"]:
        if m["name"] in MOVED and m["total"]:
            moved.append(f"{size(m['total'])} {MOVED[m['name']]}")
    return [f"{line}; {', '.join(moved)}" if moved else line]


def _ranks(info: dict[str, Any]) -> list[tuple[float, str]]:
    """The time of each rank outside of MPI. Inside, ranks wait for each other, so that their total times are nearly equal."""
    work = [0.0] * len(info["processes"])
    for loc in info["locations"]:
        work[loc["process"]] += loc["busy"] - loc["mpi"]
    numbers = [rank_number(info, i) for i in range(len(work))]
    return [(t, f"rank {number}") for t, number in zip(work, numbers) if number is not None]


def balance(info: dict[str, Any]) -> list[str]:
    """Lines about the load balance of the ranks, or without MPI of processes with equal roles, and of threads with equal roles in
    the busiest process. Idle helpers are left out."""
    lines = []
    processes, locations = info["processes"], info["locations"]
    busy = [0.0] * len(processes)
    for loc in locations:
        busy[loc["process"]] += loc["running"]
    ranks = _ranks(info)
    if len(ranks) > 1:
        lines.append(_spread(f"{plural(len(ranks), 'rank')} outside of MPI", ranks))
    else:
        lines += _by_role(info, "processes", list(zip(busy, roles.process_titles(info))), list(range(len(processes))))
    if processes:
        first = max(range(len(processes)), key=lambda i: (not processes[i]["helper"], busy[i]))
        units = [i for i, loc in enumerate(locations) if loc["process"] == first]
        of = f" of {roles.process_titles(info)[first]}" if len(processes) > 1 else ""
        lines += _by_role(info, "threads", [(loc["running"], name(loc["name"])) for loc in locations], units, of)
    return lines


def _by_role(info: dict[str, Any], over: str, busy: list[tuple[float, str]], units: list[int], of: str = "") -> list[str]:
    """A line for each group of several units with equal roles. over, units: as for roles.grouped(). busy: for each process or
    location. of: the process of threads."""
    groups, helpers = roles.grouped(info, over, units)
    several = [(f"{count(len(those))} × {name(title)}{name(of)}", those) for title, those in groups if len(those) > 1]
    lines = [_spread(what, [busy[i] for i in those]) for what, those in several]
    if lines and helpers:
        lines[-1] += f"; left out: {name(roles.counted(info, over, helpers))}"
    return lines


def next_command(directory: str, info: dict[str, Any], view: str = "tree") -> str:
    """The command that the summary suggests. view: the report to show, unless a process ended abruptly."""
    place = as_argument(directory)
    if any(p["end"] == "abrupt" and p["ended_by"] is None for p in info["processes"]):
        return f"spartito info {place}"
    return f"spartito report {view} {place}"


def _imports(model: Model, busy: float, share: bool) -> list[str]:
    modules = model.imports()
    if not modules[0]["incl"]:
        return []  # without loading the report
    from spartito.report import imports

    line = imports.line(modules, busy, share)
    return [line] if line else []


def _waits(model: Model, info: dict[str, Any]) -> list[str]:
    if not any(m["name"] == "wait_time" for m in info["metrics"]):
        return []  # do not load the modules for waits
    from spartito.report import locktable

    return locktable.summary(model.locks(), info)


def _waiting(model: Model, info: dict[str, Any]) -> list[str]:
    return offcpu.summary(model, info) if contents.split(info) else []


def _memory(model: Model, info: dict[str, Any]) -> list[str]:
    if not any(m["source"] == "memory" for m in info["metrics"]):
        return []  # do not load the modules for memory
    from spartito.report import memorytable

    return memorytable.summary(model.memory(), info)


def _wait(row: dict[str, Any], busy: float) -> str:
    """The time that a function waited; empty if it is negligible. busy: the time of all threads."""
    return seconds(row["waiting"]) if row["waiting"] >= WAITED * busy else ""


def _has_functions(model: Model, info: dict[str, Any]) -> bool:
    """Whether times of functions were recorded. With --lines-only the recorded frames mean nothing."""
    if any(loc["visits"] for loc in info["locations"]):
        return True
    if contents.is_recorded(info) and not any(loc["busy"] for loc in info["locations"]):
        return False
    return not _asked_for_lines(model, info)


def _asked_for_lines(model: Model, info: dict[str, Any]) -> bool:
    """Whether lines were recorded. Samples have lines, too, though the user did not ask for them."""
    return not contents.taken(info) and bool(model.lines())


def functions(model: Model, info: dict[str, Any]) -> tuple[list[Column], list[Sequence[str]]]:
    """The columns and rows of the functions in which the threads ran longest, without imports. Where times are not split into
    running and waiting, by self time. No rows: there are no times of functions."""
    found = model.flat(sort="running", limit=TOP, imports=False) if _has_functions(model, info) else []
    total, running = (sum(loc[key] for loc in info["locations"]) for key in ("busy", "running"))
    unknown, split = contents.without_calls(info), contents.split(info)
    columns = [Column("running" if split else "self time"), Column("%"), *([Column("waiting")] if split else [])]
    columns += [Column("calls"), Column("function", left=True, style="cyan")]
    rows: list[Sequence[str]] = []
    for r in found:
        if r["excl"] or r["visits"]:  # other rows have only memory
            times = [seconds(r["running"]), percent(r["running"], running), *([_wait(r, total)] if split else [])]
            rows.append((*times, "-" if unknown and not r["visits"] else visits_text(r), name(r["name"])))
    return columns, rows


def of_time(model: Model, info: dict[str, Any], with_owners: bool) -> list[str]:
    """Lines about the time of all threads: whose code took it (with_owners), imports, waiting and preemption."""
    whose = owners.line(model, info) if with_owners else ""
    running = sum(loc["running"] for loc in info["locations"])
    # the line of owners has the share of imports in the running time
    lines = [*_imports(model, running, share=not whose), *_waiting(model, info)]
    return [whose, *filter(None, [processtime.outside_functions(info)]), *lines] if whose else lines


def write(model: Model, directory: str, label: str, reported: list[str]) -> None:
    """Prints the summary on standard error. label: name of the program. reported: lines that were printed already."""
    if sys.stderr is None:
        return
    info = model.info()
    out = Output(sys.stderr)
    columns, rows = functions(model, info)
    total = sum(loc["busy"] for loc in info["locations"])
    visits = sum(loc["visits"] for loc in info["locations"])
    out.line()
    unknown = contents.without_calls(info)
    memory = _memory(model, info)
    memory_alone = bool(memory) and not total
    what = "samples" if unknown and not visits else "memory" if memory_alone else plural(visits, "call")
    out.line(
        f"spartito: {name(label)} took {seconds(info['end'] - info['begin'])} in "
        f"{plural(len(info['processes']), 'process')} and {plural(len(info['locations']), 'thread')}: "
        f"{what} of {plural(info['regions'], 'function')}",
        "bold",
    )
    waits = _waits(model, info)
    lines = _asked_for_lines(model, info)
    if rows:
        out.table(columns, rows)
    balances = balance(info) if visits or not (lines or memory_alone) else []
    for line in [*of_time(model, info, bool(rows)), *sampled.notes(info), *of_mpi(info), *balances]:
        out.line(line)
    for line in memory:
        out.line(line)
    for line in waits:
        out.line(line, "bold red" if line.startswith("deadlock") else "")
    if visits:
        share = percent(cost.cost(info, compensated=False)[1], 1.0)
        whole = "running time" if contents.split(info) else "time"
        out.line(f"{cost.cost_sentence(info)}, {share} % of the {whole} of all threads")
    for line in contents.trace_sentences(info):
        out.line(line)
    findings = topics.summary(model)
    for line in findings:
        out.line(line, "bold")
    for line in [*sentences(info), *of_ranks(directory)]:
        if line not in reported:
            out.line(line, "yellow")
    mostly_waited = total > 0 and contents.waited(info) > total / 2
    view = "lines" if lines else "findings" if findings else "memory" if memory else "tree"
    view = "waits" if view == "tree" and (waits or mostly_waited) else view
    out.line(f"next: {next_command(directory, info, view)}", "bold")
    sys.stderr.flush()
