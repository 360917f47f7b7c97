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


def printable(text: str, encoding: str | None) -> str:
    """text without what the encoding of the stream cannot show (file names may hold any byte)."""
    return text.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")


def complain(text: str, command: str = "") -> None:
    say(f"spartito {command}: {text}" if command else f"spartito: {text}")


def reason(error: OSError) -> str:
    return error.strerror or str(error)
