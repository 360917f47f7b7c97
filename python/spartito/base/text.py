# SPDX-License-Identifier: BSD-3-Clause
"""How numbers and names look, and tables of them: rich in a terminal, plain and aligned in a pipe."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import harmless, printable

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TextIO

LONGEST_NAME = 160
NARROWEST = 28  # characters of a name or a place that still tell something


def seconds(value: float) -> str:
    """Four digits and a unit."""
    size = abs(value)
    if size >= 1000:
        return f"{value:.0f} s"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        number = size * factor
        if number >= 0.9995:
            digits = 3 if number < 9.9995 else 2 if number < 99.995 else 1
            return f"{value * factor:.{digits}f} {unit}"
    return f"{value * 1e9:.0f} ns"


def moment(t: float) -> str:
    """Of seconds since 1970, here."""
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(t))


def count(value: int) -> str:
    return f"{value:,}"


def plural(n: int, one: str, many: str = "") -> str:
    if n != 1 and not many:
        many = one + ("es" if one.endswith("s") else "s")
    return f"{count(n)} {one if n == 1 else many}"


def size(value: int) -> str:
    number = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def as_argument(directory: str) -> str:
    """A directory as one types it here. shlex.quote() would load regular expressions."""
    try:
        near = os.path.relpath(directory)
        place = directory if near.startswith("..") else near
    except (OSError, ValueError):
        place = directory
    plain = all(c.isascii() and (c.isalnum() or c in "@%+=:,./-_") for c in place)
    return place if plain and place else "'" + place.replace("'", "'\"'\"'") + "'"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole > 0 else "-"


def name(text: str) -> str:
    """A name on one line: programs can make names of any characters and length."""
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


LONGEST_PATH = 100


# by the names of the start, and by those of Score-P
IMPORTING = (
    *("_frozen_importlib:", "_frozen_importlib_external:"),
    *("importlib._bootstrap:", "importlib._bootstrap.", "importlib._bootstrap_external:", "importlib._bootstrap_external."),
)


def _without_importing(path: Sequence[str]) -> list[str]:
    """The call path with one part for the four to six functions of importlib that stand between a module and one that it imports.
    The innermost function keeps its name."""
    parts: list[str] = []
    for function in path[:-1]:
        part = "(import)" if function.startswith(IMPORTING) else function
        if part != "(import)" or parts[-1:] != [part]:
            parts.append(part)
    return [*parts, *path[-1:]]


def shortened(path: Sequence[str]) -> str:
    """The innermost functions of a call path, as many as a line has room for; importing a module is one of them."""
    if not path:
        return ""
    path = _without_importing(path)
    text = path[-1]
    for caller in reversed(path[:-1]):
        longer = f"{caller} > {text}"
        if len(longer) > LONGEST_PATH:
            return name("… > " + text)
        text = longer
    return name(text)


MOST_VALUES = 6


def labelled(row: dict[str, Any]) -> str:
    """The name of a call path's function with the values of its parameters: f [n=3, case=small]."""
    values = [f"{p['name']}={p['value']}" for p in row.get("parameters", ())]
    if not values:
        return str(row["name"])
    if len(values) > MOST_VALUES:  # a parameter set again and again in one call
        values = ["…", *values[-MOST_VALUES:]]
    return f"{row['name']} [{', '.join(values)}]"


def quantity(value: int, metric: dict[str, Any]) -> str:
    """A value of a metric: times as times, bytes as bytes, all else as a number."""
    if metric["unit"] == "s":
        return seconds(value * 10.0 ** metric["exponent"])
    whole = value * 10 ** max(metric["exponent"], 0)
    if metric["exponent"] < 0:
        return f"{value * 10.0 ** metric['exponent']:g}"
    return size(whole) if metric["unit"].lower() in ("b", "byte", "bytes") else count(whole)


class Column:
    """rank: the first to be left out in a narrow terminal has 1; 0 is always shown. least: characters of text for which others are
    left out."""

    __slots__ = ("least", "left", "rank", "style", "title")

    def __init__(self, title: str, left: bool = False, style: str = "", rank: int = 0, least: int = NARROWEST) -> None:
        self.title = title
        self.least = least
        self.rank = rank
        self.left = left
        self.style = style


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (ValueError, AttributeError):
        return False


def plain_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max([len(c.title), *(len(row[i]) for row in rows)]) for i, c in enumerate(columns)]
    lines = []
    for row in ([c.title for c in columns], *rows):
        cells = [t.ljust(w) if c.left else t.rjust(w) for t, w, c in zip(row, widths, columns)]
        lines.append("  ".join(cells).rstrip())
    return lines


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The columns that a terminal of that width has room for."""
    need = []
    for i, c in enumerate(columns):
        longest = max([len(c.title), *(len(row[i]) for row in rows)])
        need.append(2 + (min(longest, c.least) if c.left else longest))
    shown = list(range(len(columns)))
    for i in sorted((i for i in shown if columns[i].rank), key=lambda i: columns[i].rank):
        if sum(need[k] for k in shown) <= width:
            break
        shown.remove(i)
    return shown


class Output:
    """Standard output (or another stream): headings, lines and tables."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.console: Any = None
        if is_terminal(stream):
            try:
                from rich.console import Console

                self.console = Console(file=stream, highlight=False, markup=False, emoji=False)
            except ImportError:
                pass

    def line(self, text: str = "", style: str = "") -> None:
        if self.console is not None:
            self.console.print(harmless(text), style=style or None, soft_wrap=True)
            return
        self.stream.write(printable(text, self.stream.encoding) + "\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
        """styles: of the rows, in a terminal."""
        rows = list(rows)
        if self.console is None:
            for line in plain_table(columns, rows):
                self.line(line)
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        shown = _fitting(columns, rows, self.console.width)
        for i in shown:
            c = columns[i]
            justify: Any = "left" if c.left else "right"
            # numbers are never cut, only text is
            least = None if c.left else max([len(c.title), *(len(row[i]) for row in rows)])
            table.add_column(c.title, justify=justify, style=c.style or None, no_wrap=True, overflow="ellipsis", min_width=least)
        for n, row in enumerate(rows):
            table.add_row(*(Text(harmless(row[i])) for i in shown), style=styles[n] if styles else None)
        self.console.print(table)


def standard_output() -> Output:
    return Output(sys.stdout)
