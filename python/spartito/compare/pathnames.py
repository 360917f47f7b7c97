# SPDX-License-Identifier: BSD-3-Clause
"""Short and distinct names of call paths."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from spartito.base.text import MAX_PATH, labelled, name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_CYCLE = 8  # maximum length of a repetition, in functions


def folded(path: Sequence[str]) -> list[str]:
    """The call path with repetitions summed up: "f ×3", "(f > g) ×2"."""
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
    """The innermost parts that fit into MAX_PATH characters, with the number of omitted ones."""
    length, n = len(parts[-1]), 1
    while n < len(parts) and length + 3 + len(parts[-n - 1]) <= MAX_PATH:
        length += 3 + len(parts[-n - 1])
        n += 1
    before = len(parts) - n
    return " > ".join([f"… {before} more"] * bool(before) + list(parts[-n:]))


def namer(rows: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], str]:
    """A function that returns the name of a row: of a function its name; of a call path (a row with a stack) its innermost
    functions, or all functions if another row has the same short name."""
    parts = {id(row): folded([*row["stack"][:-1], labelled(row)]) for row in rows if "stack" in row}
    names = {key: _short(those) for key, those in parts.items()}
    often = Counter(names.values())
    names = {key: text if often[text] == 1 else " > ".join(parts[key]) for key, text in names.items()}
    # call paths that differ only in parameters of callers still have equal names
    often, seen = Counter(names.values()), Counter[str]()
    for key, text in names.items():
        if often[text] > 1:
            seen[text] += 1
            names[key] = f"{text} ({seen[text]} of {often[text]}, by values of parameters)"
    return lambda row: names[id(row)] if id(row) in names else name(row["name"])
