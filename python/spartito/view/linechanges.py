# SPDX-License-Identifier: BSD-3-Clause
"""Matches the lines of functions with those of another run. If the source text of both runs is known, lines with the same text and
order match. Otherwise lines match by their distance from the function's first line."""

from __future__ import annotations

import difflib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Texts = Callable[[str], list[str]]  # returns the lines of a file; empty: the text is unknown

MAX_LINES = 4000  # longest function whose lines are matched by text, as the time for matching grows faster than the lines


def _texts(function: dict[str, Any], lines_of: Texts) -> list[str]:
    """The text from the function's first line to the last one that ran; empty: unknown or too long."""
    lines = lines_of(function["file"])
    first = max(function["line"], 1)
    last = max([first, *(line[0] for line in function["lines"])])
    if last > len(lines) or last - first >= MAX_LINES:
        return []
    return [text.strip() for text in lines[first - 1 : last]]


def _same(function: dict[str, Any], base: dict[str, Any], texts: tuple[list[str], list[str]]) -> dict[int, int]:
    """Mapping from line numbers of the base to line numbers here."""
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
    """Adds `base` to each function that the other run has, too: name, file, line, excl, callees; by ("text" or "offset"); lines:
    [line here, line in the other run, hits, excl, callees]; gone: [line in the other run, hits, excl, callees, text] of lines
    without counterpart. before: functions of the other run. same: mapping from (name, file, line) of its functions to those here.
    own, others: the source text of this run and of the other one."""
    there = {}
    for f in before:
        key = (f["name"], f["file"], f["line"])
        there[same.get(key, key)] = f
    for function in functions:
        base = there.get((function["name"], function["file"], function["line"]))
        if base is not None:
            function["base"] = _paired(function, base, own, others)
