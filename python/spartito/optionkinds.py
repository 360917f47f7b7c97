# SPDX-License-Identifier: BSD-3-Clause
"""What the table of the command line is made of. Imports nothing, as it is on the start-up path of every measured program."""

from __future__ import annotations


class Usage(Exception):
    """A command line that cannot be understood: one line, status 2."""


class Option:
    """One option. kind: flag, text, append (patterns), list, many (all words up to the next option), count (a whole number),
    number, size; formats and a tuple of choices are checked by the verb."""

    __slots__ = ("choices", "complete", "dest", "flags", "help", "kind", "metavar", "switch")

    def __init__(
        self,
        flags: str,
        help: str,
        metavar: str = "",
        kind: str = "",
        choices: tuple[str, ...] = (),
        complete: str = "",
        dest: str = "",
    ) -> None:
        self.flags = tuple(flags.split())
        self.help = help
        self.metavar = metavar
        self.kind = kind or ("text" if metavar else "flag")
        self.choices = choices
        self.complete = complete  # what a shell completes: dir, file, formats
        self.dest = dest or self.flags[-1].lstrip("-").replace("-", "_")
        self.switch = False  # a flag that --no-FLAG says the opposite of, or without no- where it has that

    @property
    def opposite(self) -> str:
        """Of a switch."""
        word = self.flags[-1][2:]
        return "--" + (word[3:] if word.startswith("no-") else "no-" + word)


class Verb:
    __slots__ = ("details", "examples", "foreign", "name", "operands", "options", "rest", "summary", "usage")

    def __init__(
        self,
        name: str,
        usage: str,
        summary: str,
        details: str,
        options: tuple[Option, ...],
        examples: tuple[tuple[str, str], ...],
        operands: str = "",
        rest: bool = False,
        foreign: bool = False,
    ) -> None:
        self.name = name
        self.usage = usage
        self.summary = summary
        self.details = details
        self.options = (*options, Option("-h --help", "show this help and leave"))
        self.examples = examples
        self.operands = operands  # what a shell completes for operands: dir, command, shells, kernel
        self.rest = rest  # the first operand ends the options
        self.foreign = foreign  # and so does an option that is not ours

    def find(self, flag: str) -> Option | None:
        for option in self.options:
            if flag in option.flags:
                return option
        return None
