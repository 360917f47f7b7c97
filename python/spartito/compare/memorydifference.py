# SPDX-License-Identifier: BSD-3-Clause
"""The memory table of `spartito diff`. It follows the table of times, or is the only one if no times were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.text import Column, Output, count, name, plural, size
from spartito.compare.difference import times
from spartito.compare.pathnames import namer
from spartito.experiments import contents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spartito._analyse import Model
    from spartito.compare.difference import Group

# {metric: its title in the table} and {metric: its words in sentences}
WHAT = {"allocated": "allocated", "peak_bytes": "at the peak", "left_bytes": "left"}
CALLED = {"allocated": "allocated", "peak_bytes": "had at the peak", "left_bytes": "left"}
KEPT = ("name", "module", "qualname", "file", "line", "sides")
COUNTED = ("allocations", *WHAT)


def without_times(groups: Sequence[Group]) -> list[str]:
    """Directories of the experiments that contain only memory, so that their times mean nothing."""
    return [d for group in groups for d, info in group.side[1] if contents.is_all(info)]


def gather(models: Sequence[Sequence[Model]], groups: Sequence[Group], match: str = "") -> dict[str, Any] | None:
    """The comparison of memory: `rows`, one for each function (by name), largest change first. Their `sides` have for each group
    the means of the metrics in COUNTED over its runs; `sides` of the result has the totals. None: an experiment contains no
    memory."""
    if not all(contents.is_recorded(info) for group in groups for info in group.infos):
        return None
    nothing = dict.fromkeys(COUNTED, 0.0)
    rows: dict[str, dict[str, Any]] = {}
    whole = [dict(nothing) for _ in groups]
    for g, side in enumerate(models):
        for model in side:
            for found in model.flat(limit=0, match=match):
                if not any(found["metrics"][what]["excl"] for what in COUNTED):
                    continue
                row = rows.setdefault(found["name"], {**found, "sides": [dict(nothing) for _ in groups]})
                for what in COUNTED:
                    part = found["metrics"][what]["excl"] / len(side)
                    row["sides"][g][what] += part
                    whole[g][what] += part
    kept = [{key: row[key] for key in KEPT} for row in rows.values()]
    kept.sort(key=lambda row: (-max(abs(_change(row["sides"], what)) for what in WHAT), row["name"]))
    return {"unit": "B", "sides": whole, "rows": kept, "sampled": any(_sampled(model) for side in models for model in side)}


def _sampled(model: Model) -> bool:
    from spartito._analyse import Error

    try:
        return any(p["sample"] for p in model.memory()["processes"])
    except Error:
        return False  # a merged experiment without raw files


def _change(sides: Sequence[dict[str, float]], what: str) -> float:
    return sides[-1][what] - sides[0][what]


def _relative(before: float, after: float) -> str:
    if before == after:
        return "the same"
    if not before:
        return "of nothing"
    percent = 100 * (after - before) / before
    return times(after / before) if percent >= 1000 else f"{percent:+.1f} %"


def sentences(found: dict[str, Any], groups: Sequence[Group]) -> list[str]:
    """Sentences about the totals, one for each group but the first; and one if the numbers are estimates."""
    lines = []
    first = found["sides"][0]
    for g in range(1, len(groups)):
        here = found["sides"][g]
        parts = [
            f"{CALLED[what]} {size(here[what])}, {groups[0].letter} {size(first[what])} ({_relative(first[what], here[what])})"
            for what in WHAT
        ]
        lines.append(f"memory: {groups[g].letter} " + "; ".join(parts))
    if found["sampled"]:
        lines.append("memory was sampled: its numbers are estimates, and small differences are noise")
    return lines


def write(out: Output, found: dict[str, Any], groups: Sequence[Group], limit: int) -> None:
    for line in sentences(found, groups):
        out.line(line)
    changed = [row for row in found["rows"] if any(_change(row["sides"], what) for what in WHAT)]
    rows = changed[:limit] if limit else changed
    if not rows:
        out.line("no function allocated more or less than before")
        return
    out.line()
    letters = [group.letter for group in groups]
    columns = [Column(f"{letter} {text}", rank=1) for text in WHAT.values() for letter in letters]
    columns += [Column("%", rank=2), Column("blocks", rank=3), Column("function", left=True, style="cyan")]
    called = namer(rows)
    cells = []
    for row in rows:
        before, after = row["sides"][0], row["sides"][-1]
        blocks = " → ".join(dict.fromkeys(count(round(side["allocations"])) for side in row["sides"]))
        changes = _relative(before["allocated"], after["allocated"]).removesuffix(" %")
        numbers = (size(side[what]) for what in WHAT for side in row["sides"])
        cells.append((*numbers, changes, blocks, name(called(row))))
    out.table(columns, cells)
    if len(changed) > len(rows):
        out.line(f"… {plural(len(changed) - len(rows), 'more row')}; --limit 0 shows all")
