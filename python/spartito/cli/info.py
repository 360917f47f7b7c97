# SPDX-License-Identifier: BSD-3-Clause
"""spartito info: what an experiment contains."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
import time
from typing import Any

from spartito.base.text import Column, Output, as_argument, count, local_time, name, plural, seconds, size, standard_output
from spartito.experiments import contents, family, losses, processtime
from spartito.experiments.cost import error_per_call, with_error
from spartito.experiments.description import launcher
from spartito.experiments.reading import load, one_experiment, shown
from spartito.report import mpitable


def _how(known: dict[str, Any]) -> str:
    if known.get("signal") is not None:
        return f"signal {known['signal']}"
    if known.get("status") is not None:
        return f"exit status {known['status']}"
    if "launcher" in known and known["launcher"] is None:
        return "not recorded: the program measured itself"
    attached = {
        "ended": "not recorded: only the parent process knows how it ended",
        "runs": "nothing: the process still ran when sampling ended",
    }
    return attached.get(str(known.get("attached")), "not recorded: still running, or the launcher was killed")


def _worlds(info: dict[str, Any]) -> list[tuple[str, str]]:
    """A row for each MPI_COMM_WORLD."""
    rows = []
    for world, n in enumerate(info["worlds"]):
        those = [p for p in info["processes"] if p["world"] == world]
        known: dict[str, str] = those[0].get("meta", {}) if those else {}
        # "Open MPI v4.1.4, package: …", "MPICH Version:      4.0.2"
        library = " ".join(known.get("mpi_library", "").split(",")[0].replace("Version:", "").split())
        ranks = plural(n, "rank") + (f", {count(len(those))} of them recorded" if len(those) < n else "")
        rows.append(("MPI", ", ".join(filter(None, (ranks, library, known.get("mpi_thread_level", ""))))))
    return rows


def _collections(info: dict[str, Any]) -> list[tuple[str, str]]:
    """A row for the garbage collections, if there were any."""
    rows = info["collections"]
    if not rows:
        return []
    number, time = sum(row["count"] for row in rows), sum(row["time"] for row in rows)
    each = ", ".join(f"{count(row['count'])} of generation {row['generation']}" for row in rows)
    return [("garbage", f"{plural(number, 'collection')} ({each}) in {seconds(time)}")]


# parts of an experiment by the name of their file or directory; other files are small
PARTS = {"raw": "raw files", "merged": "merged file", "lod": "level-of-detail index", "source": "source files"}


def _files(directory: str) -> tuple[int, dict[str, int]]:
    """The number of all files, and the disk space in bytes that they take, by their name or directory in the experiment. Space
    that was reserved but never used does not count."""
    files, taken = 0, dict.fromkeys(PARTS, 0)
    for place, _, names in os.walk(directory):
        for file in names:
            try:
                found = os.lstat(os.path.join(place, file))
            except OSError:
                continue  # a running program removed the file meanwhile
            if stat.S_ISREG(found.st_mode):
                files += 1
                part = os.path.relpath(os.path.join(place, file), directory).split(os.sep)[0]
                taken[part] = taken.get(part, 0) + found.st_blocks * 512
    return files, taken


def _size(info: dict[str, Any]) -> str:
    files, taken = _files(info["dir"])
    parts = [f"{what} {size(taken[part])}" for part, what in PARTS.items() if taken[part]]
    return f"{size(sum(taken.values()))} in {plural(files, 'file')}; {', '.join(parts)}"


def _head(out: Output, directory: str, info: dict[str, Any], known: dict[str, Any]) -> None:
    command = known.get("command")
    rows = [("experiment", shown(directory))]
    if isinstance(command, list):
        rows.append(("command", shlex.join(map(str, command))))
        rows.append(("directory", str(known.get("cwd"))))
        rows.append(("ended with", _how(known)))
    if isinstance(known.get("wanted"), dict):
        rows.append(("finalized", f"not yet: spartito finalize {as_argument(directory)}"))
    if known.get("job"):
        rows.append(("job", str(known["job"])))
    if isinstance(known.get("size"), int):
        rows.append(("ranks", f"{known['size']}, started by {known.get('manager')}"))
    rows += [
        *_worlds(info),
        ("measured", f"{local_time(info['begin'])}, {seconds(info['end'] - info['begin'])}"),
        ("content", "profile and trace" if info["traced"] else "profile"),
        ("functions", count(info["regions"])),
        ("call paths", count(info["paths"])),
        ("events", count(info["events"])),
        *_collections(info),
        *([("exceptions", f"ended {plural(info['exceptions'], 'call')}")] if info["exceptions"] else []),
        ("size", _size(info)),
    ]
    if used := processtime.text(info):
        rows.append(("processor", used))
    for what, text in rows:
        out.line(f"{what:<12}{name(text)}")


def _cost(process: dict[str, Any]) -> str:
    """The cost of recording a call, in ns."""
    error = error_per_call(process)
    value = f"{(process['cost_in'] + process['cost_out']) * 1e9:.0f}"
    return with_error(value, None if error is None else f"{error * 1e9:.0f}") + " ns"


def _processes(out: Output, info: dict[str, Any], directory: str) -> None:
    """Writes the table of processes. The command of a child process is indented below that of its parent. A process that was not
    measured has no number."""
    threads: dict[int, int] = {}
    for loc in info["locations"]:
        threads[loc["process"]] = threads.get(loc["process"], 0) + 1
    ranks = family.ranks(info, directory)
    rows = []
    for depth, i, p in family.tree(info):
        meta = p.get("meta", {})
        stop = p["stop"] if i is not None else p["end"]
        lasts = "" if stop is None else seconds(stop - p["begin"])
        if i is not None and p["end"] == "running" and p["host"] == os.uname().nodename:
            lasts = f"{seconds(max(time.time() - info['begin'] - p['begin'], 0.0))} so far"  # stop is that of the last event
        cost = _cost(p) if i is not None else ""
        command = "(copy of its parent)" if p["forked"] else p["command"]
        rows.append(
            [
                "" if i is None else str(i),
                "" if i is None or ranks[i] is None else str(ranks[i]),
                str(p["pid"] or ""),
                p["host"] if i is not None else info["processes"][p["parent"]]["host"],
                name(p.get("label", "")),
                "" if i is None else str(threads.get(i, 0)),
                seconds(p["begin"]),
                lasts,
                family.end_of(p),
                meta.get("python", "").split(" ")[0],
                meta.get("hook", ""),
                cost,
                "  " * depth + ("exec: " if p.get("exec") or p.get("continues") is not None else "") + name(command),
            ]
        )
    left, right = True, False
    titles = [
        ("process", right),
        ("rank", right),
        ("pid", right),
        ("host", left),
        ("role", left),
        ("threads", right),
        ("start", right),
        ("time", right),
        ("end", left),
        ("python", left),
        ("hook", left),
        ("cost/call", right),
        ("command", left),
    ]
    role = next(i for i, title in enumerate(titles) if title[0] == "role")
    unused = [role] if not any(row[role] for row in rows) else []
    unused += [1] if all(rank is None for rank in ranks) else []
    for line in (titles, *rows):
        for column in unused:
            del line[column]
    out.line()
    out.table([Column(title, side) for title, side in titles], rows)


def _threads(out: Output, info: dict[str, Any]) -> None:
    out.line()
    columns = [
        Column("process"),
        Column("thread", left=True),
        Column("role", left=True),
        Column("id"),
        Column("time"),
        Column("running" if contents.split(info) else "in functions"),
        Column("calls"),
    ]
    out.table(
        columns,
        [
            (
                str(loc["process"]),
                name(loc["name"]),
                name(loc["role"] or loc["runs"]) + (" (helper)" if loc["helper"] and loc["role"] != "main thread" else ""),
                str(loc["tid"]),
                seconds(loc["end"] - loc["begin"]),
                seconds(loc["running"]),
                count(loc["visits"]),
            )
            for loc in info["locations"]
        ],
    )


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_experiment("info", operands)
    model, info = load(directory)
    messages = mpitable.check(model, info)
    known = launcher(directory)[0]
    if values.get("json"):
        for p, rank in zip(info["processes"], family.ranks(info, directory)):
            p["job_rank"] = rank  # from MPI, or from the launcher if the program did not use MPI
        files, taken = _files(info["dir"])
        found = {**info, "files": files, "files_bytes": sum(taken.values()), "launcher": known, "messages": messages}
        found["bytes_of"] = {what: taken[part] for part, what in PARTS.items()}
        json.dump(found, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        out = standard_output()
        _head(out, directory, info, known)
        _processes(out, info, directory)
        _threads(out, info)
        if messages:
            for sentence in (*mpitable.missing_sentences(messages), *mpitable.clock_sentences(messages)):
                out.line(f"\n{sentence}")
        deeper = sum(p["lost"].get("deeper", 0) for p in info["processes"])
        if deeper:
            out.line(f"\n{count(deeper)} calls were below the depth limit")
    sys.stdout.flush()
    losses.say_all(info, directory)
    return 0
