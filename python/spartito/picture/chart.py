# SPDX-License-Identifier: BSD-3-Clause
"""Charts: flame, icicle, sunburst, balance, timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.base.text import plural
from spartito.options.kinds import Usage
from spartito.picture import pixels
from spartito.picture.drawing import heading, part

if TYPE_CHECKING:
    from spartito._analyse import Model

WIDTH = 1200
MIN_SIZE, MAX_SIZE = {"width": 200, "height": 100}, 10000  # px
PARTS = {"balance": "function", "timeline": "thread"}  # what a chart draws; other kinds draw call paths


def _size(values: dict[str, object], key: str, default: int) -> int:
    size = values.get(key, default)
    assert isinstance(size, int)
    if key in values and not MIN_SIZE[key] <= size <= MAX_SIZE:
        raise Usage(f"--{key} {size}: a chart is {MIN_SIZE[key]} to {MAX_SIZE} pixels {'wide' if key == 'width' else 'high'}")
    return size


def check(kind: str, values: dict[str, object]) -> None:
    """Usage: an option is not for this kind of chart, or its value is out of range."""
    _size(values, "width", WIDTH)
    _size(values, "height", 0)
    for key in ("process", "rank", "location") if kind == "balance" else ():
        if key in values:
            raise Usage(f"--{key} is not for --kind balance, which compares all of them")


def draw(model: Model, info: dict[str, Any], values: dict[str, object], path: str, suffix: str) -> str:
    """Writes the chart to `path` and returns a sentence about it. values: the options of `spartito plot`. Refused: the program that
    makes a .png is missing or fails."""
    kind = str(values["kind"])
    render = pixels.renderer(path) if suffix == ".png" else None
    process, location, what = part(info, values)

    def write(svg: str) -> dict[str, int]:
        drawn: dict[str, int] = model.plot(
            kind,
            svg,
            process=process,
            location=location,
            match=str(values.get("match") or ""),
            title=heading(info, values, what),
            theme=str(values.get("theme", "light")),
            width=_size(values, "width", WIDTH),
            height=_size(values, "height", 0),
        )
        return drawn

    done = pixels.as_png(write, path, render) if render else write(path)
    hidden = f"; {plural(done['hidden'], 'smaller one')} {'combined' if kind == 'balance' else 'not shown alone'}"
    return f"wrote {path}: {plural(done['drawn'], PARTS.get(kind, 'call path'))}{hidden if done['hidden'] else ''}"
