# SPDX-License-Identifier: BSD-3-Clause
"""Messages to the user on standard error. A closed or full standard error is ignored, so that no command fails because of it."""

from __future__ import annotations

import sys


class Refused(Exception):
    """A request of the user that cannot be carried out. str() is one line; status is the exit status of the command."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def say(text: str) -> None:
    if sys.stderr is None:  # print() would write to standard output instead
        return
    try:
        sys.stderr.write(printable(text, sys.stderr.encoding) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


# control characters that a terminal interprets, except tab and newline, and how they are printed
CONTROL = {n: f"\\x{n:02x}" for n in (*range(9), *range(11, 32), *range(127, 160))}


def harmless(text: str) -> str:
    """The text with escaped control characters: names in an experiment may contain any character."""
    return text if text.isprintable() else text.translate(CONTROL)


def printable(text: str, encoding: str | None) -> str:
    """The text with escapes for control characters and for characters that the encoding lacks, such as undecodable bytes of file
    names."""
    text = harmless(text)
    return text.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")


def complain(text: str, command: str = "") -> None:
    say(f"spartito {command}: {text}" if command else f"spartito: {text}")


def reason(error: OSError) -> str:
    return error.strerror or str(error)
