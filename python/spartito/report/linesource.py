# SPDX-License-Identifier: BSD-3-Clause
"""The source of functions whose lines were recorded: as it was when it was measured where the experiment keeps it, else as it is
now, and what is to be said about the difference."""

from __future__ import annotations

import io
import linecache
import os
import tokenize

from spartito.base import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


MAX_SIZE = 16 * regular.MIB  # of a source file, or of the index of those that are kept
# what names of source files end with
PYTHON = (".py", ".pyw", ".pyi", ".pyx", ".pxd", ".pxi", ".ipy")
COMPILED = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".cu", ".f", ".f90", ".f95", ".rs")


class Source:
    """lines: with their ends, nothing where there is no source. remark: a sentence, or nothing."""

    __slots__ = ("lines", "remark")

    def __init__(self, lines: list[str], remark: str = "") -> None:
        self.lines = lines
        self.remark = remark


def _read(path: str, flags: int = os.O_RDONLY) -> bytes | None:
    try:
        return regular.content(path, MAX_SIZE, flags)
    except (OSError, ValueError):
        return None


def decoded(data: bytes) -> list[str]:
    """The lines of a module, as Python reads them: its coding line counts. Nothing where it is not text."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        lines = io.TextIOWrapper(io.BytesIO(data), encoding).readlines()
    except (SyntaxError, UnicodeError, LookupError):
        return []
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


class Sources:
    """Those of an experiment, each read once."""

    def __init__(self, directory: str, end: float) -> None:
        """end: of the measurement, seconds since the epoch."""
        self.directory = directory
        self.end = end
        self._index: dict[str, str] | None = None
        self._found: dict[str, Source] = {}

    def of(self, file: str) -> Source:
        if file not in self._found:
            self._found[file] = self._find(file)
        return self._found[file]

    def readable(self, file: str, max_size: int) -> bool:
        """Whether it is source that may be shown to others: kept by the experiment, or a file that looks like source and has at
        max_size so many bytes. What an experiment names as a file of a function need not be one."""
        if not file:
            return False
        if self._kept(file) is not None:  # an index may name what is not kept
            return True
        try:
            if not os.path.isfile(file) or os.path.getsize(file) > max_size:
                return not os.path.exists(file)  # what is gone is told as such
            if file.lower().endswith((*PYTHON, *COMPILED)):
                return True
            with regular.opened(file) as f:
                first = f.readline(200)
        except (OSError, ValueError):
            return True
        return first.startswith(b"#!") and b"python" in first

    def _kept(self, file: str) -> bytes | None:
        if self._index is None:
            self._index = index(self.directory)
        name = self._index.get(file)
        # a link would lead out of the experiment
        return _read(os.path.join(self.directory, "source", name), os.O_NOFOLLOW) if name else None

    def _find(self, file: str) -> Source:
        if not file:
            return Source([], "no source: the file of this function is not known")
        kept, now = self._kept(file), _read(file)
        if kept is not None:
            if file.startswith("In["):  # of a notebook, which was never in a file
                return Source(decoded(kept))
            if now is None:
                return Source(decoded(kept), f"{file} is gone; this is its source as it was measured")
            if now != kept:
                return Source(decoded(kept), f"{file} has changed since; this is its source as it was measured")
            return Source(decoded(kept))
        if now is None and file.startswith("<") and file in linecache.cache:
            return Source(linecache.getlines(file))  # what this very process has generated
        if now is None:
            return Source([], f"no source: {file} is gone" if os.path.isabs(file) else f"no source: {file} is no file")
        lines = decoded(now)
        if not lines and now:
            return Source([], f"no source: {file} is not text that Python can read")
        if _changed(file, self.end):
            return Source(lines, f"{file} was changed after the run: these may not be the lines that ran")
        return Source(lines)


def _changed(file: str, end: float) -> bool:
    try:
        return os.stat(file).st_mtime > end
    except OSError:
        return False


def index(directory: str) -> dict[str, str]:
    """The files whose source an experiment keeps, and their names in its directory `source`; of one that is damaged, nothing."""
    import json

    data = _read(os.path.join(directory, "source", "index.json"))
    try:
        found = json.loads((data or b"{}").decode("utf-8", "surrogateescape"))
        return {_shown(str(file)): os.path.basename(str(name)) for file, name in found["files"].items()}
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return {}


def _shown(file: str) -> str:
    """A path as the model has it: it may be of bytes that are no UTF-8."""
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def block(lines: Sequence[str], first: int) -> list[str]:
    """The lines of the function (class, lambda …) that begins in line `first`, counted from 1."""
    import inspect

    try:
        return list(inspect.getblock(lines[max(first - 1, 0) :]))  # type: ignore[attr-defined,unused-ignore]
    except (SyntaxError, tokenize.TokenError, IndentationError):
        # what getblock() lets through where the rest of the file is no Python
        return list(lines[max(first - 1, 0) : first])


def extent(lines: Sequence[str], first: int, last: int, whole: bool) -> list[tuple[int, str]]:
    """(number, text) of the lines of a function, and of all lines up to `last`, which ran. whole: of a module."""
    first = max(first, 1)
    end = len(lines) if whole else first - 1 + len(block(lines, first))
    return [(n, lines[n - 1].rstrip("\r\n") if n <= len(lines) else "") for n in range(first, max(end, last) + 1)]
