# SPDX-License-Identifier: BSD-3-Clause
"""Memory for the viewer: heap size over time, and the allocation sites with the most memory."""

from __future__ import annotations

from array import array

from spartito.report import memorytable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from spartito._analyse import Model

    Columns = Mapping[str, memoryview]

ROWS = 400  # maximum of rows for each quantity
QUANTITIES = ("peak_bytes", "left_bytes", "bytes", "temporary_bytes")
SHOWN = ("count", "bytes", "peak", "peak_bytes", "left", "left_bytes", "temporary", "temporary_bytes")
KEPT = {"growing_bytes": "growing", "cache_bytes": "cache"}  # column: kind of sites whose blocks stay allocated


def _kept(group: dict[str, Any]) -> dict[str, int]:
    """Bytes at the end that belong to growing sites and to caches."""
    return {name: sum(site["left_bytes"] for site in group["sites"] if site["kept"] == kept) for name, kept in KEPT.items()}


def _threads(sites: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups = memorytable.summed(sites, ("process", "location"))
    return [{**{key: group[key] for key in ("process", "location", *SHOWN)}, **_kept(group)} for group in groups]


def _chosen(rows: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """The rows that are among the `limit` largest in any of QUANTITIES."""
    chosen: dict[int, dict[str, Any]] = {}
    for quantity in QUANTITIES:
        chosen.update({id(row): row for row in memorytable.largest(rows, quantity, limit)})
    return list(chosen.values())


def _top(sites: list[dict[str, Any]], keys: tuple[str, ...]) -> tuple[list[dict[str, Any]], int]:
    """Sites grouped by these keys: the largest groups in any quantity, and the number of other groups."""
    groups = memorytable.summed(sites, keys)
    rows = [{**{key: group[key] for key in (*keys, *SHOWN)}, **_kept(group)} for group in _chosen(groups, ROWS)]
    return rows, len(groups) - len(rows)


def _points(columns: Columns, rows: range, limit: int) -> list[int]:
    """About `limit` of these rows, equally spaced, with the last row and those of the peaks of heap and resident memory."""
    if len(rows) <= limit:
        return list(rows)
    peaks = (max(rows, key=lambda i: columns[what][i]) for what in ("heap", "resident"))
    return sorted({*rows[:: -(-len(rows) // limit)], rows[-1], *peaks})


def shortened(meta: dict[str, Any], columns: Columns, limit: int) -> tuple[dict[str, Any], Columns]:
    """The answer with at most `limit` rows for each quantity, and about four times as many points of each curve."""
    rows = {what: _chosen(meta[what], limit) for what in ("lines", "paths", "threads")}
    hidden = [n + len(meta[what]) - len(rows[what]) for n, what in zip(meta["hidden"], rows)]
    stacks = {str(row["path"]): meta["stacks"][str(row["path"])] for row in rows["paths"]}
    processes: list[dict[str, Any]] = []
    kept: list[int] = []
    for p in meta["processes"]:
        first = len(kept)
        kept += _points(columns, range(*p["rows"]), 4 * limit)
        processes.append({**p, "rows": [first, len(kept)]})
    fewer = {name: memoryview(array("d", [column[i] for i in kept])) for name, column in columns.items()}
    return {**meta, **rows, "processes": processes, "hidden": hidden, "stacks": stacks}, fewer


def answer(model: Model, process: int | None) -> tuple[dict[str, Any], dict[str, tuple[str, Sequence[float]]]]:
    """meta and columns of the kind "memory", see kinds.py. process: None: all. Error: the raw files were removed."""
    found = model.memory()
    mine = [p for p in found["processes"] if process in (None, p["process"])]
    info = model.info()
    sites = [site for site in memorytable.with_own(model, found) if process in (None, site["process"])]
    columns: dict[str, list[float]] = {"at": [], "heap": [], "resident": []}
    heaps = []
    for p in mine:
        first = len(columns["at"])
        for at, heap, resident in memorytable.points(p):
            columns["at"].append(at)
            columns["heap"].append(heap)
            columns["resident"].append(resident)
        heaps.append({**{key: value for key, value in p.items() if key != "series"}, "rows": [first, len(columns["at"])]})
    lines, more_lines = _top(sites, memorytable.LINE)
    paths, more_paths = _top(sites, ("path",))
    meta = {
        "processes": heaps,
        "lines": lines,
        "paths": paths,
        "threads": _threads(sites),
        "hidden": [more_lines, more_paths, 0],
        "stacks": {row["path"]: found["stacks"][row["path"]] for row in paths},
        "totals": {**{name: sum(site[name] for site in sites) for name in SHOWN}, **_kept({"sites": sites})},
        "notes": memorytable.notes({**found, "processes": mine}, info),
    }
    return meta, {name: ("f64", numbers) for name, numbers in columns.items()}
