# SPDX-License-Identifier: BSD-3-Clause
"""The source text of functions whose lines were recorded. It is the copy that the experiment contains, or else the current file. A
remark says whether the file has changed since the measurement."""

from __future__ import annotations

import io
import linecache
import os
import tokenize

from spartito.base import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


MAX_SIZE = 16 * regular.MIB  # of a source file, and of the index of source files in the experiment
# suffixes of source files
PYTHON = (".py", ".pyw", ".pyi", ".pyx", ".pxd", ".pxi", ".ipy")
COMPILED = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".cu", ".f", ".f90", ".f95", ".rs")


class Source:
    """The text of a source file. lines: with their line ends; empty: there is no source. remark: a sentence, or ""."""

    __slots__ = ("lines", "remark")

    def __init__(self, lines: list[str], remark: str = "") -> None:
        self.lines = lines
        self.remark = remark


def _read(path: str, flags: int = os.O_RDONLY) -> bytes | None:
    """The content of a regular file; None: it cannot be read."""
    try:
        return regular.content(path, MAX_SIZE, flags)
    except (OSError, ValueError):
        return None


def decoded(data: bytes) -> list[str]:
    """The lines of a source file, decoded as Python does it: with the encoding that a coding comment declares. Empty: it is not
    text."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        lines = io.TextIOWrapper(io.BytesIO(data), encoding).readlines()
    except (SyntaxError, UnicodeError, LookupError):
        return []
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


class Sources:
    """The source files of an experiment, each read once."""

    def __init__(self, directory: str, end: float) -> None:
        """end: time of the end of the measurement, seconds since 1970."""
        self.directory = directory
        self.end = end
        self._index: dict[str, str] | None = None
        self._found: dict[str, Source] = {}

    def of(self, file: str) -> Source:
        if file not in self._found:
            self._found[file] = self._find(file)
        return self._found[file]

    def readable(self, file: str, max_size: int) -> bool:
        """Whether a file may be shown to others: the experiment contains a copy, or it is a source file of at most max_size bytes.
        This check protects other files of the user, as a manipulated experiment may name any file as that of a function."""
        if not file:
            return False
        if self._kept(file) is not None:  # the index may name a file that is missing
            return True
        try:
            if not os.path.isfile(file) or os.path.getsize(file) > max_size:
                return not os.path.exists(file)  # of() reports a missing file
            if file.lower().endswith((*PYTHON, *COMPILED)):
                return True
            with regular.opened(file) as f:
                first = f.readline(200)
        except (OSError, ValueError):
            return True
        return first.startswith(b"#!") and b"python" in first

    def _kept(self, file: str) -> bytes | None:
        """The content of the copy in the experiment; None: the experiment has no copy."""
        if self._index is None:
            self._index = index(self.directory)
        name = self._index.get(file)
        # a symbolic link could lead out of the experiment
        return _read(os.path.join(self.directory, "source", name), os.O_NOFOLLOW) if name else None

    def _find(self, file: str) -> Source:
        if not file:
            return Source([], "no source: the file of this function is not known")
        kept, now = self._kept(file), _read(file)
        if kept is not None:
            if file.startswith("In["):  # a notebook cell, which was never in a file
                return Source(decoded(kept))
            if now is None:
                return Source(decoded(kept), f"{file} is gone; this is its source as it was measured")
            if now != kept:
                return Source(decoded(kept), f"{file} has changed since; this is its source as it was measured")
            return Source(decoded(kept))
        if now is None and file.startswith("<") and file in linecache.cache:
            return Source(linecache.getlines(file))  # code that this process generated
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
    """The source files that an experiment contains, with their names in its directory `source`; empty if the index is damaged."""
    import json

    data = _read(os.path.join(directory, "source", "index.json"))
    try:
        found = json.loads((data or b"{}").decode("utf-8", "surrogateescape"))
        return {_shown(str(file)): os.path.basename(str(name)) for file, name in found["files"].items()}
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return {}


def _shown(file: str) -> str:
    """A path as the model returns it: bytes that are not UTF-8 are escaped."""
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def block(lines: Sequence[str], first: int) -> list[str]:
    """The lines of the function, class or lambda that begins in line `first` (from 1)."""
    import inspect

    try:
        return list(inspect.getblock(lines[max(first - 1, 0) :]))  # type: ignore[attr-defined,unused-ignore]
    except (SyntaxError, tokenize.TokenError, IndentationError):
        # getblock() raises these if the following text is not Python
        return list(lines[max(first - 1, 0) : first])


def extent(lines: Sequence[str], first: int, ran: Collection[int], whole: bool) -> list[tuple[int, str]]:
    """(number, text) of the lines of a function: all of its source, and lines outside of the source if they are in `ran`. A
    damaged experiment can have any numbers. whole: it is a module."""
    first = max(first, 1)
    inside = [n for n in ran if first <= n <= len(lines)]
    end = len(lines) if whole else max([first - 1 + len(block(lines, first)), *inside])
    source = [(n, lines[n - 1].rstrip("\r\n")) for n in range(first, min(end, len(lines)) + 1)]
    outside = sorted(n for n in ran if not first <= n <= len(lines))
    return sorted([*source, *((n, "") for n in outside)])
