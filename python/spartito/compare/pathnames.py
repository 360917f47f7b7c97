# SPDX-License-Identifier: BSD-3-Clause
"""Names of call paths that are told apart although they have to be short."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from spartito.base.text import MAX_PATH, labelled, name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_CYCLE = 8  # functions that call each other in turn


def folded(path: Sequence[str]) -> list[str]:
    """Repetitions put together: f ×3, (f > g) ×2."""
    parts: list[str] = []
    i = 0
    while i < len(path):
        best, times = 1, 1
        for n in range(1, min(MAX_CYCLE, (len(path) - i) // 2) + 1):
            again = 1
            while path[i + again * n : i + (again + 1) * n] == path[i : i + n]:
                again += 1
            if again > 1 and again * n > best * times:
                best, times = n, again
        text = " > ".join(name(part) for part in path[i : i + best])
        parts.append(text if times == 1 else f"{text} ×{times}" if best == 1 else f"({text}) ×{times}")
        i += best * times
    return parts


def _short(parts: Sequence[str]) -> str:
    """The innermost parts, as many as a line has room for, and how many are in front of them."""
    length, n = len(parts[-1]), 1
    while n < len(parts) and length + 3 + len(parts[-n - 1]) <= MAX_PATH:
        length += 3 + len(parts[-n - 1])
        n += 1
    before = len(parts) - n
    return " > ".join([f"… {before} more"] * bool(before) + list(parts[-n:]))


def namer(rows: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], str]:
    """What each of rows is called: a function by its name, a call path (it has a stack) by its innermost functions, or by all
    of them where that is the name of another row, too."""
    parts = {id(row): folded([*row["stack"][:-1], labelled(row)]) for row in rows if "stack" in row}
    names = {key: _short(those) for key, those in parts.items()}
    often = Counter(names.values())
    names = {key: text if often[text] == 1 else " > ".join(parts[key]) for key, text in names.items()}
    # the values of a caller's parameters are not in its name
    often, seen = Counter(names.values()), Counter[str]()
    for key, text in names.items():
        if often[text] > 1:
            seen[text] += 1
            names[key] = f"{text} ({seen[text]} of {often[text]}, by values of parameters)"
    return lambda row: names[id(row)] if id(row) in names else name(row["name"])
