# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of --lines and --include that took no function: named, with what was perhaps meant."""

from __future__ import annotations

import os
import re

from spartito.base import regular
from spartito.experiments.rundir import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito._analyse import Model

LABEL = re.compile(r"[(\[]")  # what --label puts behind a function's name begins so
MOST = 3  # names in one sentence
LARGEST = 4 << 20  # bytes of a source that is looked into


def matches(model: Model, n: int) -> list[bool]:
    """Of n patterns, whether they took a function; the recorder notes in every process which ones did."""
    keys = {key for p in model.info()["processes"] for key in p["meta"]}
    return [f"lines_matched {i}" in keys for i in range(n)]


def unmatched(model: Model, patterns: list[str], command: list[str]) -> list[str]:
    """A sentence for each."""
    missing = [p for p, matched in zip(patterns, matches(model, len(patterns))) if not matched]
    if not missing:
        return []
    ran = _that_ran(model)
    written = _written(command)
    return [f"--lines {pattern!r}: {_why(pattern, ran, written, _module(command))}" for pattern in missing]


def not_included(model: Model, items: list[str], command: list[str]) -> list[str]:
    """A sentence for each --include of a filter that took nothing. Where nothing else is recorded that is why a result is empty."""
    from spartito._measure import takes

    # items of a Score-P filter are made for many programs
    wanted = (item[1:] for item in items if item.startswith("+") and not item.startswith("+region:"))
    patterns = list(dict.fromkeys(wanted))
    if not patterns:
        return []
    names = [(row["module"], row["qualname"], row["file"]) for row in model.flat()]
    names += [(row["module"], row["function"], row["file"]) for row in model.lines()]
    names += [(module, LABEL.split(name)[0], file) for module, name, file in names if LABEL.search(name)]
    known = [(module.replace("\0", ""), name.replace("\0", ""), file.replace("\0", "")) for module, name, file in names]
    missing = [p for p in patterns if not takes(p, known)]
    if not missing:
        return []
    ran = _that_ran(model)
    written = _written(command)
    return [f"--include {pattern!r}: {_why(pattern, ran, written, _module(command), 'recorded function')}" for pattern in missing]


def _module(command: list[str]) -> str:
    """By which name others would import the script; empty: there is none."""
    kind, path = script(command)
    if kind != "file":
        return ""
    directory, file = os.path.split(os.path.abspath(path))
    name = os.path.splitext(file)[0]
    while os.path.exists(os.path.join(directory, "__init__.py")):
        directory, package = os.path.split(directory)
        name = f"{package}.{name}"
    return name


def _why(pattern: str, ran: set[str], written: set[str], module: str, those: str = "function that ran") -> str:
    from difflib import get_close_matches

    word = pattern
    for part in ("module:", "file:", "function:", "re:"):
        word = word[len(part) :] if word.startswith(part) else word
    if word in written and word not in ran:
        return "it is in the script, but none of it ran"
    known = ran | written
    if ":" in word and module:
        known |= {f"{module}:{name}" for name in known}
    names = {name.lower(): name for name in sorted(known)}
    found = get_close_matches(word.lower(), list(names), MOST, 0.6)
    if not found:  # the last part alone, as in step for Solver.step
        last = word.lower().replace(":", ".").rpartition(".")[2]
        found = [low for low in names if low.rpartition(".")[2] == last][:MOST]
    return f"no {those} matches it" + (f"; did you mean {' or '.join(names[low] for low in found)}?" if found else "")


def _that_ran(model: Model) -> set[str]:
    """Qualified names of functions and classes, and modules."""
    names = set()
    for row in model.flat():
        if row["kind"] == "python":
            names |= {row["module"], *_prefixes(row["qualname"])}
    for row in model.lines():
        names |= {row["module"], *_prefixes(row["function"])}
    return {name for name in names if name and "<" not in name}


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


def _written(command: list[str]) -> set[str]:
    """The names of what the script defines: in a run of lines alone nothing else knows of functions that match nothing."""
    import ast

    kind, path = script(command)
    try:
        if kind != "file" or os.path.getsize(path) > LARGEST:
            return set()
        tree = ast.parse(regular.content(path, LARGEST))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = set()
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, before = waiting.pop()
        for child in ast.iter_child_nodes(node):
            inside = before
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(before + child.name)
                inside = before + child.name + ("." if isinstance(child, ast.ClassDef) else ".<locals>.")
            waiting.append((child, inside))
    return names
