# SPDX-License-Identifier: BSD-3-Clause
"""Formats numbers, names and tables: with rich in a terminal, as aligned plain text in a pipe or file."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import harmless, printable

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TextIO

MAX_NAME = 160  # characters
MIN_WIDTH = 28  # characters of a name or source location to which a column may shrink


def seconds(value: float) -> str:
    """A time in seconds with four significant digits and a unit."""
    size = abs(value)
    if size >= 1000:
        return f"{value:.0f} s"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        number = size * factor
        if number >= 0.9995:
            digits = 3 if number < 9.9995 else 2 if number < 99.995 else 1
            return f"{value * factor:.{digits}f} {unit}"
    return f"{value * 1e9:.0f} ns"


def local_time(t: float) -> str:
    """Date and time in the local time zone. t: seconds since 1970."""
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(t))


def count(value: int) -> str:
    """1,234,567"""
    return f"{value:,}"


def plural(n: int, one: str, many: str = "") -> str:
    """2 calls, 1 call. many: the plural if it does not end in s."""
    if n != 1 and not many:
        many = one + ("es" if one.endswith("s") else "s")
    return f"{count(n)} {one if n == 1 else many}"


def visits_text(row: dict[str, Any]) -> str:
    """3 calls, or 3+100 if generators and coroutines were resumed 100 times."""
    return count(row["visits"]) + (f"+{count(row['resumed'])}" if row["resumed"] else "")


def size(value: int) -> str:
    """A number of bytes: 12.3 MiB."""
    number = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def quoted(word: str) -> str:
    """A word of a shell command. shlex.quote() would import re."""
    plain = all(c.isascii() and (c.isalnum() or c in "@%+=:,./-_") for c in word)
    return word if plain and word else "'" + word.replace("'", "'\"'\"'") + "'"


def as_argument(directory: str) -> str:
    """A directory as a word of a shell command, relative to the current directory if it is below."""
    try:
        relative = os.path.relpath(directory)
        path = directory if relative.startswith("..") else relative
    except (OSError, ValueError):
        path = directory
    return quoted(path)


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole > 0 else "-"


def name(text: str) -> str:
    """A name on one line with at most MAX_NAME characters: a program may define names of any characters and length."""
    if len(text) > MAX_NAME:
        text = text[: MAX_NAME - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


MAX_PATH = 100  # characters of a shortened call path


# prefixes of importlib's functions: their names while the interpreter starts, and those that Score-P uses
IMPORTING = (
    *("_frozen_importlib:", "_frozen_importlib_external:"),
    *("importlib._bootstrap:", "importlib._bootstrap.", "importlib._bootstrap_external:", "importlib._bootstrap_external."),
)


def _without_importing(path: Sequence[str]) -> list[str]:
    """The call path with one part, "(import)", for the four to six functions of importlib between a module and a module that it
    imports. The innermost function keeps its name."""
    parts: list[str] = []
    for function in path[:-1]:
        part = "(import)" if function.startswith(IMPORTING) else function
        if part != "(import)" or parts[-1:] != [part]:
            parts.append(part)
    return [*parts, *path[-1:]]


def shortened(path: Sequence[str]) -> str:
    """The innermost functions of a call path that fit into MAX_PATH characters. The functions that import a module count as one."""
    if not path:
        return ""
    path = _without_importing(path)
    text = path[-1]
    for caller in reversed(path[:-1]):
        longer = f"{caller} > {text}"
        if len(longer) > MAX_PATH:
            return name("… > " + text)
        text = longer
    return name(text)


MAX_VALUES = 6  # parameters shown with a name


def labelled(row: dict[str, Any]) -> str:
    """The name of a call path's function with the values of its parameters: f [n=3, case=small]."""
    values = [f"{p['name']}={p['value']}" for p in row.get("parameters", ())]
    if not values:
        return str(row["name"])
    if len(values) > MAX_VALUES:  # one call may set a parameter many times
        values = ["…", *values[-MAX_VALUES:]]
    return f"{row['name']} [{', '.join(values)}]"


def quantity(value: int, metric: dict[str, Any]) -> str:
    """A value of a metric with its unit: as a time, a number of bytes or a plain number."""
    if metric["unit"] == "s":
        return seconds(value * 10.0 ** metric["exponent"])
    whole = value * 10 ** max(metric["exponent"], 0)
    if metric["exponent"] < 0:
        return f"{value * 10.0 ** metric['exponent']:g}"
    return size(whole) if metric["unit"].lower() in ("b", "byte", "bytes") else count(whole)


class Column:
    """A column of a table.

    rank: the order in which columns are omitted in a narrow terminal, 1 first; a column with rank 0 is always shown. min_width: a
    text column (left) keeps this many characters; other columns are omitted for that."""

    __slots__ = ("left", "min_width", "rank", "style", "title")

    def __init__(self, title: str, left: bool = False, style: str = "", rank: int = 0, min_width: int = MIN_WIDTH) -> None:
        self.title = title
        self.min_width = min_width
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
    """Indices of the columns to show in a terminal of `width` characters."""
    need = []
    for i, c in enumerate(columns):
        longest = max([len(c.title), *(len(row[i]) for row in rows)])
        need.append(2 + (min(longest, c.min_width) if c.left else longest))
    shown = list(range(len(columns)))
    for i in sorted((i for i in shown if columns[i].rank), key=lambda i: columns[i].rank):
        if sum(need[k] for k in shown) <= width:
            break
        shown.remove(i)
    return shown


class Output:
    """Writes lines and tables to a stream: with rich to a terminal, otherwise as plain text."""

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
        """styles: rich styles of the rows, used in a terminal."""
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
            # a number is never truncated, only text is
            width = None if c.left else max([len(c.title), *(len(row[i]) for row in rows)])
            table.add_column(c.title, justify=justify, style=c.style or None, no_wrap=True, overflow="ellipsis", min_width=width)
        for n, row in enumerate(rows):
            table.add_row(*(Text(harmless(row[i])) for i in shown), style=styles[n] if styles else None)
        self.console.print(table)


def standard_output() -> Output:
    return Output(sys.stdout)
