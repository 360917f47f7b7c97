# SPDX-License-Identifier: BSD-3-Clause
"""Lines for the person at the terminal. Standard error may be closed or full: that is never a reason to fail."""

from __future__ import annotations

import sys


class Refused(Exception):
    """Something asked for that cannot be done: one line and an exit status."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def say(text: str) -> None:
    if sys.stderr is None:  # print() would take standard output instead
        return
    try:
        sys.stderr.write(printable(text, sys.stderr.encoding) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


# what a terminal would obey, but for tabs and ends of lines
CONTROL = {n: f"\\x{n:02x}" for n in (*range(9), *range(11, 32), *range(127, 160))}


def harmless(text: str) -> str:
    """Names, and whatever else an experiment holds, may be of any characters."""
    return text if text.isprintable() else text.translate(CONTROL)


def printable(text: str, encoding: str | None) -> str:
    """text without what a terminal would obey, and what the encoding of the stream cannot show (file names may hold any byte)."""
    text = harmless(text)
    return text.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")


def complain(text: str, command: str = "") -> None:
    say(f"spartito {command}: {text}" if command else f"spartito: {text}")


def reason(error: OSError) -> str:
    return error.strerror or str(error)
