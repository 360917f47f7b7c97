# SPDX-License-Identifier: BSD-3-Clause
"""The cells of a notebook, listed for the processes that a measured cell starts: DIR/cells, see src/format/FORMAT.md. Functions of
cells come to workers out of pickles, which do not say what cell they are of."""

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

_known: dict[str, str] = {}  # of each file of a cell its functions, as the list has them: compiled once, as cells do not change


def _within(code: CodeType) -> Iterator[CodeType]:
    """All that the code defines, however deep."""
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield constant
            yield from _within(constant)


def _functions(text: str, flags: int) -> str:
    """Lines of the list: the first line of a function, the CRC of its bytecode, its name."""
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
    """Lists the cells that have run, and the one that runs. Without them nothing but names is missing in the results."""
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
    """Where no other process has recorded anything."""
    with contextlib.suppress(OSError):
        if len(os.listdir(os.path.join(directory, "raw"))) < 2:
            os.unlink(os.path.join(directory, CELLS))
