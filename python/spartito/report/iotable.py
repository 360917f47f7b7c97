# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report --io`: file by file, and who asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused
from spartito.base.text import Column, Output, count, labelled, name, seconds, shortened, size

if TYPE_CHECKING:
    from spartito._analyse import Model

READ, WRITTEN = "io_bytes_read", "io_bytes_written"
NO_FILES = "bytes and time of each file are in the trace: record with `spartito run --io --trace`"
WORDS = ("read", "written", "operations", "time")


def _counted(row: dict[str, Any], metric: str) -> int:
    return int(row.get("metrics", {}).get(metric, {}).get("excl", 0))


def paths(model: Model, limit: int) -> list[dict[str, Any]]:
    """The call paths that end in a function of file I/O, those with the most time first. limit 0: all."""
    found: list[dict[str, Any]] = []
    stack: list[str] = []
    for row in model.tree():
        del stack[row["depth"] :]
        stack.append(labelled(row))
        if row["kind"] == "io":
            found.append(
                {
                    "path": list(stack),
                    "calls": row["visits"],
                    "time": row["incl"],
                    "bytes_read": _counted(row, READ),
                    "bytes_written": _counted(row, WRITTEN),
                }
            )
    found.sort(key=lambda r: -r["time"])
    return found[:limit] if limit else found


def files(model: Model, limit: int) -> list[dict[str, Any]]:
    found = model.io()
    found.sort(key=lambda f: -(f["read_time"] + f["write_time"] + f["flush_time"]))
    return found[:limit] if limit else found


def gather(model: Model, info: dict[str, Any], limit: int) -> tuple[list[dict[str, Any]] | None, list[dict[str, Any]]]:
    """(files, None where the trace is missing; call paths)"""
    by_path = paths(model, limit)
    by_file = files(model, limit) if info["traced"] else None
    if not by_path and not by_file:
        raise Refused("--io: no file I/O was recorded; `spartito run --io` records it")
    return by_file, by_path


def write(out: Output, model: Model, info: dict[str, Any], limit: int) -> None:
    by_file, by_path = gather(model, info, limit)
    numbers = [Column(word) for word in WORDS]
    if by_file is None:
        out.line(NO_FILES)
    else:
        rows = []
        for f in by_file:
            operations = f["reads"] + f["writes"] + f["flushes"] + f["seeks"]
            time = f["read_time"] + f["write_time"] + f["flush_time"]
            cells = (size(f["bytes_read"]), size(f["bytes_written"]), count(operations), seconds(time))
            rows.append((*cells, count(f["opens"]), count(f["failed"]), name(f["path"] or "(file not known)")))
        out.table([*numbers, Column("opened"), Column("failed"), Column("file", left=True, style="cyan")], rows)
    out.line()
    out.table(
        [*numbers, Column("call path", left=True, style="cyan")],
        [
            (
                size(p["bytes_read"]),
                size(p["bytes_written"]),
                count(p["calls"]),
                seconds(p["time"]),
                shortened(p["path"]),
            )
            for p in by_path
        ],
    )
