# SPDX-License-Identifier: BSD-3-Clause
"""The text of a notebook's cell, and the cell magic on its first line."""

from __future__ import annotations


class Cell:
    """A cell's code, and the number of lines of the cell above it."""

    __slots__ = ("above", "text")

    def __init__(self, text: str, above: int = 0) -> None:
        self.text, self.above = text, above


def first_line(text: str) -> tuple[str, str, Cell]:
    """The name of the cell magic that a cell begins with ("" if none), the rest of its line, and the code below."""
    lines = text.split("\n")
    at = 0
    while at < len(lines) and not lines[at].strip():
        at += 1
    head = lines[at].strip() if at < len(lines) else ""
    if not head.startswith("%%"):
        return "", "", Cell(text)
    name, rest = [*head[2:].split(None, 1), "", ""][:2]
    return name, rest, Cell("\n".join(lines[at + 1 :]), at + 1)
