# SPDX-License-Identifier: BSD-3-Clause
"""Lines of functions beside those of another run: the same by their text, in order, where both sources are known; else by how far
they are behind the function's first line."""

from __future__ import annotations

import difflib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Texts = Callable[[str], list[str]]  # the lines of a file; none: they are not known

MOST = 4000  # lines of a function that are matched by their text; matching takes more than proportional time


def _texts(function: dict[str, Any], lines_of: Texts) -> list[str]:
    """From the function's first line to the last that ran; nothing: they are not known."""
    lines = lines_of(function["file"])
    first = max(function["line"], 1)
    last = max([first, *(line[0] for line in function["lines"])])
    if last > len(lines) or last - first >= MOST:
        return []
    return [text.strip() for text in lines[first - 1 : last]]


def _same(function: dict[str, Any], base: dict[str, Any], texts: tuple[list[str], list[str]]) -> dict[int, int]:
    """From numbers of the base's lines to those here."""
    first, before = max(function["line"], 1), max(base["line"], 1)
    now, was = texts
    if not now or not was:
        return {before + i: first + i for i in range(max(line[0] for line in base["lines"]) - before + 1)}
    found = {}
    for a, b, n in difflib.SequenceMatcher(None, was, now, autojunk=False).get_matching_blocks():
        for i in range(n):
            found[before + a + i] = first + b + i
    return found


def _paired(function: dict[str, Any], base: dict[str, Any], own: Texts, others: Texts) -> dict[str, Any]:
    texts = (_texts(function, own), _texts(base, others))
    same = _same(function, base, texts)
    ran = {line[0] for line in function["lines"]}
    here, gone = [], []
    for number, hits, excl, callees in base["lines"]:
        at = same.get(number)
        if at in ran or (at is not None and texts[0]):
            here.append([at, number, hits, excl, callees])
        else:
            at = number - max(base["line"], 1)
            gone.append([number, hits, excl, callees, texts[1][at] if at < len(texts[1]) else ""])
    return {
        "name": base["name"],
        "file": base["file"],
        "line": base["line"],
        "excl": base["excl"],
        "callees": base["callees"],
        "by": "text" if all(texts) else "offset",
        "lines": here,
        "gone": gone,
    }


def pair(
    functions: list[dict[str, Any]], before: list[dict[str, Any]], same: Mapping[tuple[str, str, int], tuple[str, str, int]],
    own: Texts, others: Texts
) -> None:  # fmt: skip
    """Gives each function that the other run has, too, its `base`: name, file, line, excl, callees; by ("text" or "offset"); lines:
    [line here, line there, hits, excl, callees] of the other run; gone: [line there, hits, excl, callees, text] of lines that have
    no counterpart. same: from (name, file, line) of a function there to those here."""
    there = {}
    for f in before:
        key = (f["name"], f["file"], f["line"])
        there[same.get(key, key)] = f
    for function in functions:
        base = there.get((function["name"], function["file"], function["line"]))
        if base is not None:
            function["base"] = _paired(function, base, own, others)
