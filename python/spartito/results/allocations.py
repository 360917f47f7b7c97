# SPDX-License-Identifier: BSD-3-Clause
"""The tables of memory: allocation sites, and the heap over time."""

from __future__ import annotations

from spartito.base.messages import Refused
from spartito.experiments import contents
from spartito.report import memorytable
from spartito.results.columns import Columns, of_rows
from spartito.results.waiting import path_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

SITE = (
    ("process", "process", ""),
    ("location", "location", ""),
    ("region", "function", ""),
    ("file", "file", ""),
    ("line", "line", ""),
    ("innermost_region", "inner_function", ""),
    ("innermost_file", "inner_file", ""),
    ("innermost_line", "inner_line", ""),
    ("call_path", "call_path", ""),
    ("allocator", "allocator", ""),
    ("allocated_blocks", "count", "blocks"),
    ("allocated_bytes", "bytes", "B"),
    ("freed_blocks", "freed", "blocks"),
    ("freed_bytes", "freed_bytes", "B"),
    ("temporary_blocks", "temporary", "blocks"),
    ("temporary_bytes", "temporary_bytes", "B"),
    ("peak_blocks", "peak", "blocks"),
    ("peak_bytes", "peak_bytes", "B"),
    ("left_blocks", "left", "blocks"),
    ("left_bytes", "left_bytes", "B"),
    ("kept", "kept", ""),
)
HEAP = (("process", "", ""), ("time", "", "s"), ("heap_bytes", "", "B"), ("heap_blocks", "", "blocks"), ("resident_bytes", "", "B"))


def _found(model: Model, info: dict[str, Any]) -> dict[str, Any]:
    if not contents.is_recorded(info):
        raise Refused("no memory was recorded; `spartito run --memory-profile` or `--memory-sample 512K` records it")
    return model.memory()


def memory(model: Model, info: dict[str, Any]) -> Columns:
    """The table of allocation sites. Refused: no memory was recorded."""
    found = _found(model, info)
    rows = [
        {
            **own,
            "call_path": path_columns(found["stacks"][site["path"]])["call_path"],
            **{f"inner_{key}": site[key] for key in ("function", "file", "line")},
        }
        for site, own in zip(found["sites"], memorytable.with_own(model, found))
    ]
    rows.sort(key=lambda row: -row["peak_bytes"])
    return of_rows(rows, SITE, memorytable.notes(found, info))


def heap(model: Model, info: dict[str, Any]) -> Columns:
    """The table of the heap over time. Refused: no memory was recorded."""
    found = _found(model, info)
    points = [
        (p["process"], at, size, blocks, resident) for p in found["processes"] for at, size, blocks, resident in p["series"]
    ]
    columns = {title: [point[i] for point in points] for i, (title, _, _) in enumerate(HEAP)}
    return Columns(columns, {title: unit for title, _, unit in HEAP if unit}, memorytable.notes(found, info))
