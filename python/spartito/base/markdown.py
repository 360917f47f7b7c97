# SPDX-License-Identifier: BSD-3-Clause
"""Output as Markdown, as code hosts show it in pull requests: tables with pipes (GitHub Flavored Markdown), lines as list items."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spartito.base.messages import printable
from spartito.base.text import Column, Output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")  # may begin markup within a line


def escaped(text: str) -> str:
    """The text without markup."""
    return SPECIAL.sub(r"\\\1", text)


def code(text: str) -> str:
    """The text as code within a table or a line. A pipe would end the cell of a table even in code."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|") if text else ""


class Markdown(Output):
    """Writes Markdown to a stream. Lines in bold are paragraphs, other lines are items of a list. Styled cells are code."""

    def line(self, text: str = "", style: str = "") -> None:
        self._write("" if not text else f"**{escaped(text)}**\n" if style == "bold" else f"- {escaped(text)}")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
        """The styles of rows have no counterpart in Markdown."""
        self._write()
        self._write("| " + " | ".join(escaped(c.title) for c in columns) + " |")
        self._write("|" + "|".join("---" if c.left else "---:" for c in columns) + "|")
        for row in rows:
            cells = (code(cell.strip()) if c.style else escaped(cell) for c, cell in zip(columns, row))
            self._write("| " + " | ".join(cells) + " |")
        self._write()

    def _write(self, text: str = "") -> None:
        self.stream.write(printable(text, self.stream.encoding) + "\n")
