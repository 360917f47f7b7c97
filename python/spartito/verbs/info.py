# SPDX-License-Identifier: BSD-3-Clause
"""spartito info: what an experiment holds."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from typing import Any

from spartito import losses, mpitable
from spartito.reading import load, one_directory, rank_number
from spartito.text import Column, Output, count, name, seconds, size, standard_output


def launcher(directory: str) -> dict[str, Any]:
    """experiment.json; empty where there is none that can be read."""
    try:
        with open(os.path.join(directory, "experiment.json"), encoding="utf-8") as f:
            found = json.load(f)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _moment(t: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(t))


def _how(known: dict[str, Any]) -> str:
    if known.get("signal") is not None:
        return f"signal {known['signal']}"
    if known.get("status") is not None:
        return f"exit status {known['status']}"
    if "launcher" in known and known["launcher"] is None:
        return "not recorded: the program measured itself"
    return "not recorded: still running, or the launcher was killed"


def _head(out: Output, directory: str, info: dict[str, Any], known: dict[str, Any]) -> None:
    command = known.get("command")
    rows = [("experiment", directory)]
    if isinstance(command, list):
        rows.append(("command", shlex.join(map(str, command))))
        rows.append(("directory", str(known.get("cwd"))))
        rows.append(("ended with", _how(known)))
    rows += [
        ("measured", f"{_moment(info['begin'])}, {seconds(info['end'] - info['begin'])}"),
        ("content", "profile and trace" if info["traced"] else "profile"),
        ("functions", count(info["regions"])),
        ("call paths", count(info["paths"])),
        ("events", count(info["events"])),
        ("size", size(info["bytes"])),
    ]
    for what, text in rows:
        out.line(f"{what:<12}{name(text)}")


def _tables(out: Output, info: dict[str, Any]) -> None:
    locations = info["locations"]
    rows = []
    for i, p in enumerate(info["processes"]):
        threads = sum(1 for loc in locations if loc["process"] == i)
        meta = p.get("meta", {})
        rank = rank_number(info, i)
        rows.append(
            (
                str(i),
                *(["" if rank is None else str(rank)] if info["worlds"] else []),
                str(p["pid"]),
                p["host"],
                str(threads),
                seconds(p["stop"] - p["begin"]),
                p["end"],
                meta.get("python", "").split(" ")[0],
                meta.get("hook", ""),
                f"{(p['cost_in'] + p['cost_out']) * 1e9:.0f} ns",
                name(p["command"]),
            )
        )
    left, right = True, False
    titles = (
        ("process", right),
        *([("rank", right)] if info["worlds"] else []),
        ("pid", right),
        ("host", left),
        ("threads", right),
        ("time", right),
        ("end", left),
        ("python", left),
        ("hook", left),
        ("cost/call", right),
        ("command", left),
    )
    out.line()
    out.table([Column(title, side) for title, side in titles], rows)
    out.line()
    columns = [
        Column("process"),
        Column("thread", left=True),
        Column("id"),
        Column("time"),
        Column("busy"),
        Column("calls"),
    ]
    out.table(
        columns,
        [
            (
                str(loc["process"]),
                name(loc["name"]),
                str(loc["tid"]),
                seconds(loc["end"] - loc["begin"]),
                seconds(loc["busy"]),
                count(loc["visits"]),
            )
            for loc in locations
        ],
    )


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_directory("info", operands)
    model, info = load(directory)
    messages = mpitable.check(model, info)
    known = launcher(directory)
    if values.get("json"):
        json.dump({**info, "launcher": known, "messages": messages}, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        out = standard_output()
        _head(out, directory, info, known)
        _tables(out, info)
        if messages:
            for sentence in (*mpitable.missing_sentences(messages), *mpitable.clock_sentences(messages)):
                out.line(f"\n{sentence}")
        deeper = sum(p["lost"].get("deeper", 0) for p in info["processes"])
        if deeper:
            out.line(f"\n{count(deeper)} calls were below the depth limit")
    sys.stdout.flush()
    losses.say_all(info, directory)
    return 0
