# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report io`: file I/O by file and by call path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.text import Column, Output, count, labelled, name, seconds, shortened, size
from spartito.experiments import contents
from spartito.report.protocol import Query, Report

if TYPE_CHECKING:
    from spartito._analyse import Model

READ, WRITTEN = "io_bytes_read", "io_bytes_written"
NO_FILES = "bytes and time of each file are in the trace: record with `spartito run --io --trace`"
RUNNING, WAITING = Column("running", rank=1), Column("waiting", rank=2)  # of call paths, if times are split
WORDS = ("read", "written", "operations", "time")


def _counted(row: dict[str, Any], metric: str) -> int:
    """The exclusive value of a metric; 0: it was not recorded."""
    return int(row.get("metrics", {}).get(metric, {}).get("excl", 0))


def paths(model: Model, limit: int) -> list[dict[str, Any]]:
    """The call paths that end in a file I/O function, most time first. limit 0: all."""
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
                    "running": row["running_incl"],
                    "waiting": row["waiting_incl"],
                    "bytes_read": _counted(row, READ),
                    "bytes_written": _counted(row, WRITTEN),
                }
            )
    found.sort(key=lambda r: -r["time"])
    return found[:limit] if limit else found


def files(model: Model, limit: int) -> list[dict[str, Any]]:
    """The rows of Model.io(), most time first. limit 0: all."""
    found = model.io()
    found.sort(key=lambda f: -(f["read_time"] + f["write_time"] + f["flush_time"]))
    return found[:limit] if limit else found


class FileIO(Report):
    name = "io"

    def gather(self, query: Query) -> dict[str, Any]:
        """files: rows of files(), None without a trace. paths: rows of paths()."""
        by_path = paths(query.model, query.limit)
        by_file = files(query.model, query.limit) if query.info["traced"] else None
        if not by_path and not by_file:
            raise query.lacks("no file I/O was recorded; `spartito run --io` records it")
        return {"files": by_file, "paths": by_path}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        numbers = [Column(word) for word in WORDS]
        if found["files"] is None:
            out.line(NO_FILES)
        else:
            columns = [*numbers, Column("opened"), Column("failed"), Column("file", left=True, style="cyan")]
            out.table(columns, [_file(f) for f in found["files"]])
        out.line()
        split = contents.split(query.info)
        columns = [*numbers, *([RUNNING, WAITING] if split else ()), Column("call path", left=True, style="cyan")]
        out.table(columns, [_path(p, split) for p in found["paths"]])


def _file(f: dict[str, Any]) -> tuple[str, ...]:
    operations = f["reads"] + f["writes"] + f["flushes"] + f["seeks"]
    time = f["read_time"] + f["write_time"] + f["flush_time"]
    cells = (size(f["bytes_read"]), size(f["bytes_written"]), count(operations), seconds(time))
    return (*cells, count(f["opens"]), count(f["failed"]), name(f["path"] or "(unknown file)"))


def _path(p: dict[str, Any], split: bool) -> tuple[str, ...]:
    cells = (size(p["bytes_read"]), size(p["bytes_written"]), count(p["calls"]), seconds(p["time"]))
    times = (seconds(p["running"]), seconds(p["waiting"])) if split else ()
    return (*cells, *times, shortened(p["path"]))
