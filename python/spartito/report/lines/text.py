# SPDX-License-Identifier: BSD-3-Clause
"""Prints lines of functions exactly as `python -m line_profiler` does, for users and programs that expect this format."""

from __future__ import annotations

import os

from spartito.report.lines.source import block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from spartito.report.lines.source import Sources

    Lines = Sequence[tuple[int, int, int]]

UNIT = 1e-6  # seconds; the default unit of line_profiler's output
OWN_UNIT = 1e-9  # seconds; the unit of Timed.lines
WIDTHS = (6, 9, 12, 8, 8)  # minimum widths of the columns TITLES
MAX_BLANK = 100_000  # lines of a function without its source; a damaged experiment can have any numbers
TITLES = ("Line #", "Hits", "Time", "Per Hit", "% Time")


class Timed:
    """One function, as line_profiler identifies it: by file, first line and qualified name. lines: (line, hits, nanoseconds)."""

    __slots__ = ("file", "first", "lines", "name")

    def __init__(self, file: str, first: int, name: str, lines: Lines) -> None:
        self.file = file
        self.first = first
        self.name = name
        self.lines = lines

    @property
    def time(self) -> int:
        return sum(line[2] for line in self.lines)

    @property
    def hits(self) -> int:
        return sum(line[1] for line in self.lines)


def timed(functions: Iterable[dict[str, Any]]) -> list[Timed]:
    """The functions of Model.lines(), sorted by file, line and name, as in the .lprof writer. Functions that differ only in the
    name of their module are added."""
    found: dict[tuple[str, int, str], dict[int, tuple[int, int]]] = {}
    for f in functions:
        lines = found.setdefault((f["file"], f["line"], f["function"]), {})
        for line, hits, excl, callees in f["lines"]:
            before = lines.get(line, (0, 0))
            lines[line] = before[0] + hits, before[1] + round((excl + callees) * 1e9)
    return [Timed(*key, [(line, *lines[line]) for line in sorted(lines)]) for key, lines in sorted(found.items())]


def _cells(line: tuple[int, int, int], total: int, scale: float) -> tuple[str, str, str, str]:
    """Hits, time, time per hit and percentage. A number that is wider than its column is written with an exponent."""
    _, hits, time = line
    whole, each = time * scale, float(time) * scale / hits
    texts = [str(hits), f"{whole:5.1f}", f"{each:5.1f}"]
    short = [f"{hits:g}", f"{whole:5.3g}", f"{each:5.3g}"]
    for i in range(3):
        if len(texts[i]) > WIDTHS[i + 1]:
            texts[i] = short[i]
    return texts[0], texts[1], texts[2], f"{100 * time / total:5.1f}" if total else ""


def function(f: Timed, sources: Sources, unit: float) -> Iterator[str]:
    """The lines of output for one function."""
    total = f.time
    yield f"Total time: {total * OWN_UNIT:g} s"
    source = sources.of(f.file).lines
    numbers = [line[0] for line in f.lines]
    if source or os.path.exists(f.file):
        yield f"File: {f.file}"
        yield f"Function: {f.name} at line {f.first}"
        part = source[f.first - 1 :] if f.name == "<module>" else block(source, f.first)
        texts = [text.rstrip("\n").rstrip("\r") for text in part]
    else:
        yield ""
        yield f"Could not find file {f.file}"
        yield "Are you sure you are running this program from the same directory"
        yield "that you ran the profiler from?"
        yield "Continuing without the function's contents."
        texts = [""] * (min(max(numbers) - min(*numbers, f.first) + 1, MAX_BLANK) if numbers else 1)
    cells = {line[0]: _cells(line, total, OWN_UNIT / unit) for line in f.lines if line[1]}
    widths = list(WIDTHS)
    for i in range(3):
        widths[i + 1] = max([widths[i + 1], *(len(c[i]) for c in cells.values())])
    yield ""
    header = " ".join(t.rjust(w) for t, w in zip(TITLES, widths)) + "  Line Contents"
    yield header
    yield "=" * len(header)
    rows = list(enumerate(texts, f.first))
    if len(texts) == MAX_BLANK:
        rows += [(number, "") for number in sorted(cells) if number >= f.first + len(texts)]
    for number, text in rows:
        row = (str(number), *cells.get(number, ("", "", "", "")))
        yield " ".join(t.rjust(w) for t, w in zip(row, widths)) + "  " + text
    yield ""


def text(
    functions: Sequence[Timed],
    sources: Sources,
    unit: float = UNIT,
    skip_zero: bool = False,
    summarize: bool = False,
    details: bool = True,
) -> Iterator[str]:
    """The lines of output, without line ends. unit: unit of times in seconds. skip_zero: omit functions that did not run.
    summarize: one line for each function at the end. details: print functions line by line."""
    yield f"Timer unit: {unit:g} s"
    yield ""
    for f in functions if details else ():
        if f.hits or not skip_zero:
            yield from function(f, sources, unit)
    if summarize:
        for f in functions:
            if f.time or not skip_zero:
                yield f"{f.time * OWN_UNIT:6.2f} seconds - {f.file}:{f.first} - {f.name}"
