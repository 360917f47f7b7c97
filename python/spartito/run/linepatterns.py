# SPDX-License-Identifier: BSD-3-Clause
"""Reports patterns of --lines and --include that match no function, with suggestions."""

from __future__ import annotations

import os
import re

from spartito.base import regular
from spartito.experiments.rundir import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito._analyse import Model

LABEL = re.compile(r"[(\[]")  # begins the suffix that --label adds to a function's name
MAX_SUGGESTIONS = 3  # names in one message
MAX_SOURCE = 4 << 20  # bytes; a larger script is not parsed


def matches(model: Model, n: int) -> list[bool]:
    """For each of n patterns, whether it matched a function in any process. The recorder stores the matches of each process."""
    keys = {key for p in model.info()["processes"] for key in p["meta"]}
    return [f"lines_matched {i}" in keys for i in range(n)]


def unmatched(model: Model, patterns: list[str], command: list[str]) -> list[str]:
    """A sentence for each pattern of --lines that matched no function."""
    missing = [p for p, matched in zip(patterns, matches(model, len(patterns))) if not matched]
    if not missing:
        return []
    ran = _recorded_names(model)
    defined = _defined_names(command)
    return [f"--lines {pattern!r}: {_why(pattern, ran, defined, _module(command))}" for pattern in missing]


def not_included(model: Model, items: list[str], command: list[str]) -> list[str]:
    """A sentence for each --include of the filter that matched no recorded function. If the filter records nothing else, this
    explains an empty result."""
    from spartito._measure import takes

    # items of a Score-P filter file are not checked: one file is written for many programs
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
    ran = _recorded_names(model)
    defined = _defined_names(command)
    return [f"--include {pattern!r}: {_why(pattern, ran, defined, _module(command), 'recorded function')}" for pattern in missing]


def _module(command: list[str]) -> str:
    """The name by which other modules would import the script; empty: the command runs no script."""
    kind, path = script(command)
    if kind != "file":
        return ""
    directory, file = os.path.split(os.path.abspath(path))
    name = os.path.splitext(file)[0]
    while os.path.exists(os.path.join(directory, "__init__.py")):
        directory, package = os.path.split(directory)
        name = f"{package}.{name}"
    return name


def _why(pattern: str, ran: set[str], defined: set[str], module: str, subject: str = "function that ran") -> str:
    """Why the pattern matched nothing. ran, defined: names in the experiment and in the script. module: the script's module
    name."""
    from difflib import get_close_matches

    word = pattern
    for part in ("module:", "file:", "function:", "re:"):
        word = word[len(part) :] if word.startswith(part) else word
    if word in defined and word not in ran:
        return "it is in the script, but none of it ran"
    known = ran | defined
    if ":" in word and module:
        known |= {f"{module}:{name}" for name in known}
    names = {name.lower(): name for name in sorted(known)}
    found = [low for low in names if len(word) > 2 and word.lower() in low.rpartition(".")[2].rpartition(":")[2]][:MAX_SUGGESTIONS]
    found = found or get_close_matches(word.lower(), list(names), MAX_SUGGESTIONS, 0.6)
    if not found:  # compare the last part only: step for Solver.step
        last = word.lower().replace(":", ".").rpartition(".")[2]
        found = [low for low in names if low.rpartition(".")[2] == last][:MAX_SUGGESTIONS]
    return f"no {subject} matches it" + (f"; did you mean {' or '.join(names[low] for low in found)}?" if found else "")


def _recorded_names(model: Model) -> set[str]:
    """The modules and the qualified names of functions and classes in the experiment."""
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


def _defined_names(command: list[str]) -> set[str]:
    """The qualified names of functions and classes that the script defines. An experiment with --lines-only does not contain
    functions that no pattern matches, so they are read from the source."""
    import ast

    kind, path = script(command)
    try:
        if kind != "file" or os.path.getsize(path) > MAX_SOURCE:
            return set()
        tree = ast.parse(regular.content(path, MAX_SOURCE))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = set()
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(prefix + child.name)
                inner = prefix + child.name + ("." if isinstance(child, ast.ClassDef) else ".<locals>.")
            pending.append((child, inner))
    return names
