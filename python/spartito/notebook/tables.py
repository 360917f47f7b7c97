# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a result, as text and as HTML."""

from __future__ import annotations

import io
import re
from functools import lru_cache
from html import escape

from spartito.base.text import Column, Output, as_argument, count, name, plural, seconds, size
from spartito.experiments import contents, sampled
from spartito.experiments.reading import shown
from spartito.report import locktable, memorytable, summary
from spartito.report.findings import thresholds, topics
from spartito.report.findings.finding import details

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from spartito._analyse import Model
    from spartito.view.kinds import Experiment

TOP = 10  # rows of the tables of memory and waits
ROWS, SHARE = 20, 1.0  # defaults of `spartito diff`: rows, and least change in percent
MEMORY = (Column("at the peak"), Column("at the end"), Column("allocated"), Column("blocks"), Column("where", left=True))


class Kept(Output):
    """Stores lines and tables, so that they are computed once and written both as text and as HTML."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.parts: list[str | tuple[Sequence[Column], list[Sequence[str]]]] = []

    def line(self, text: str = "", style: str = "") -> None:
        self.parts.append(text)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
        self.parts.append((columns, list(rows)))

    def write(self, out: Output) -> None:
        for part in self.parts:
            if isinstance(part, str):
                out.line(part)
            else:
                out.table(*part)


class Html(Output):
    """Writes lines and tables as HTML elements that the sanitizers of JupyterLab, nbconvert and GitHub keep."""

    def __init__(self) -> None:
        self.text = io.StringIO()
        super().__init__(self.text)

    def line(self, text: str = "", style: str = "") -> None:
        if text:
            self.text.write(f"<div>{self._escaped(text)}</div>")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
        head = "".join(f"<td><b>{self._escaped(column.title)}</b></td>" for column in columns)
        body = "".join("<tr>" + "".join(f"<td>{self._escaped(text)}</td>" for text in row) + "</tr>" for row in rows)
        self.text.write(f"<table><tr>{head}</tr>{body}</table>")

    def _escaped(self, text: str) -> str:
        return escape(text.encode("utf-8", "replace").decode())


def headline(facts: dict[str, Any]) -> str:
    """The name of the measured cells, their duration, and the sentences of the summary."""
    took = f"took {seconds(facts['duration'])}"
    if re.fullmatch(r"In\[\d+\] to In\[\d+\]", facts["title"]):
        took += " with the time between the cells, in which nothing is recorded"
    return f"{name(facts['title'])} {took}. {' '.join(facts['sentences'])}".rstrip()


@lru_cache(maxsize=2)
def written(experiment: Experiment) -> Kept:
    """The functions in which the threads ran longest, as in the summary of a run; then samples, memory and waits of threads, as far
    as recorded; findings."""
    out, model = Kept(), experiment.model
    info = model.info()
    columns, rows = summary.functions(model, info)
    if rows:
        out.table(columns, rows)
    for line in summary.of_time(model, info, bool(rows)):
        out.line(line)
    for line in sampled.notes(info):
        out.line(line)
    if contents.is_recorded(info):
        _memory(out, model, info)
    if locktable.recorded(info):
        out.line()
        locktable.write(out, model.locks(), info, TOP)
        out.line()
    for line in _findings(experiment, info):
        out.line(line)
    return out


def _findings(experiment: Experiment, info: dict[str, Any]) -> list[str]:
    """The first finding with its evidence and what to try, the titles of others, and the command that shows all."""
    found = topics.without_line(experiment.model, experiment.compensated, thresholds.MAX_FINDINGS)
    if not found:
        return []
    lines = [found[0].sentence(), *(f"    {text}" for text in details(found[0].as_dict()))]
    if len(found) == 1:
        return lines
    lines += [finding.sentence() for finding in found[1:]]
    cell = re.fullmatch(r"In\[(\d+)\]", experiment.facts()["title"])
    command = f"%spartito_report findings {cell[1]}" if cell else f"spartito report findings {as_argument(shown(info['dir']))}"
    return [*lines, f"{command} shows the evidence of all findings, and what to try"]


def static(experiment: Experiment, first: str) -> str:
    """A result or a comparison as HTML without scripts and styles. first: the first line."""
    out = Html()
    out.line(first)
    out.line(headline(experiment.facts()))
    if experiment.base:
        runs = [experiment.base, experiment]
        difference(out, [run.directory for run in runs], [run.model for run in runs], experiment.compensated)
    else:
        written(experiment).write(out)
    return out.text.getvalue()


def _memory(out: Output, model: Model, info: dict[str, Any]) -> None:
    found = memorytable.gather(model, info, TOP)
    totals = found["totals"]
    peak = sum(p["peak_bytes"] for p in found["processes"])
    out.line()
    out.line(
        f"memory: {size(totals['bytes'])} allocated in {plural(totals['count'], 'block')}; {size(peak)} there at the peak, "
        f"{size(totals['left_bytes'])} at the end"
    )
    rows = [
        (size(row["peak_bytes"]), size(row["left_bytes"]), size(row["bytes"]), count(row["count"]), memorytable.place(row))
        for row in found["allocated"]
    ]
    out.table(MEMORY, rows)
    for note in memorytable.notes(found, info):
        out.line(note)
    out.line()


def difference(out: Output, directories: list[str], models: list[Model], compensated: bool) -> None:
    """Writes the comparison of two experiments as `spartito diff` does. compensated: the cost of measuring is subtracted from the
    times of the models."""
    from spartito._analyse import compare
    from spartito.compare.difference import Group, write

    groups = [Group(letter, [d], [m.info()]) for letter, d, m in zip("AB", directories, models)]
    found = compare(models, [1, 1], share=SHARE / 100)
    write(out, found, groups, ROWS, SHARE, False, compensated)
