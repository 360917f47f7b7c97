# SPDX-License-Identifier: BSD-3-Clause
"""spartito plot: a chart in SVG, or in PNG by a program that is here for it."""

from __future__ import annotations

from spartito.base.text import plural, standard_output
from spartito.experiment import losses
from spartito.experiment.reading import load, one_experiment
from spartito.options.table import PLOTS, Usage
from spartito.report import picturefile
from spartito.report.pictures import heading, output, part

WIDTH = 1200
LEAST, MOST = {"width": 200, "height": 100}, 10000  # px
PARTS = {"balance": "function", "timeline": "thread"}  # else call paths


def _size(values: dict[str, object], key: str, default: int) -> int:
    size = values.get(key, default)
    assert isinstance(size, int)
    if key in values and not LEAST[key] <= size <= MOST:
        raise Usage(f"--{key} {size}: a chart is {LEAST[key]} to {MOST} pixels {'wide' if key == 'width' else 'high'}")
    return size


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_experiment("plot", operands)
    kind = str(values.get("kind", ""))
    if not kind:
        raise Usage(f"no kind given: --kind {', '.join(PLOTS[:-1])} or {PLOTS[-1]}")
    path, suffix = output(values, "plot", (".svg", ".png"))
    render = picturefile.renderer(path) if suffix == ".png" else None
    width, height = _size(values, "width", WIDTH), _size(values, "height", 0)
    if kind == "balance":
        for key in ("process", "rank", "location"):
            if key in values:
                raise Usage(f"--{key} is not for --kind balance, which compares all of them")
    model, info = load(directory)
    process, location, what = part(info, values)

    def draw(svg: str) -> dict[str, int]:
        drawn: dict[str, int] = model.plot(
            kind,
            svg,
            process=process,
            location=location,
            match=str(values.get("match") or ""),
            title=heading(info, values, what),
            theme=str(values.get("theme", "light")),
            width=width,
            height=height,
        )
        return drawn

    done = picturefile.as_png(draw, path, render) if render else draw(path)
    word = PARTS.get(kind, "call path")
    hidden = f"; {plural(done['hidden'], 'smaller one')} {'put together' if kind == 'balance' else 'not shown alone'}"
    standard_output().line(f"wrote {path}: {plural(done['drawn'], word)}{hidden if done['hidden'] else ''}")
    losses.say_all(model.info(), directory)  # damage of the trace is found when it is read
    return 0
