# SPDX-License-Identifier: BSD-3-Clause
"""Writes the list of a notebook's cells, DIR/cells (see src/format/FORMAT.md), for the processes that a measured cell starts. A
worker unpickles the functions of cells; a pickle does not have the cell's number, so the worker finds it in this list."""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import sys
import zlib

from spartito.experiments.rundir import CELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

_known: dict[str, str] = {}  # file name of a cell: lines of its functions in the list. A cell never changes, so it is compiled once


def _within(code: CodeType) -> Iterator[CodeType]:
    """The code objects of all functions and classes that the code defines, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield constant
            yield from _within(constant)


def _functions(text: str, flags: int) -> str:
    """Lines of the list, one for each function: its first line, the CRC-32 of its bytecode, its name."""
    try:
        code = compile(text, "cell", "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = [f for f in _within(code) if "\n" not in f.co_name]
    return "".join(f"{f.co_firstlineno} {zlib.crc32(f.co_code):x} {f.co_name}\n" for f in found)


def _entry(file: str, number: int, flags: int) -> str:
    text = "".join(linecache.getlines(file))
    if file not in _known:
        _known[file] = _functions(text, flags)
    functions = _known[file]
    return f"cell {number} {len(text.encode())} {functions.count(chr(10))}\n{text}\n{functions}" if functions else ""


def _shell() -> Any:
    module = sys.modules.get("IPython")
    return module.get_ipython() if module and hasattr(module, "get_ipython") else None


def write(directory: str) -> None:
    """Lists the cells that have run and the current one. Errors are ignored: without the list, results lack only cell names."""
    compiler = getattr(_shell(), "compile", None)
    numbers = getattr(compiler, "_filename_map", None)
    if not isinstance(numbers, dict):
        return
    path = os.path.join(directory, CELLS)
    flags = getattr(compiler, "flags", 0)
    with contextlib.suppress(OSError, UnicodeError):
        text = "".join(_entry(file, number, flags) for file, number in numbers.items())
        with open(path + ".part", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(path + ".part", path)  # processes may be reading it


def remove_unread(directory: str) -> None:
    """Removes the list if no other process has recorded anything into the experiment."""
    with contextlib.suppress(OSError):
        if len(os.listdir(os.path.join(directory, "raw"))) < 2:
            os.unlink(os.path.join(directory, CELLS))
