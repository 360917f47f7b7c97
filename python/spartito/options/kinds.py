# SPDX-License-Identifier: BSD-3-Clause
"""What the table of the command line is made of, and how words are read by it. Imports nothing, as it is on the start-up path of
every measured program."""

from __future__ import annotations

# what an empty word, often an unset variable of a shell, cannot be
NEVER_EMPTY = {"NAME": "name", "DIR": "directory's name", "DIR…": "directory's name", "FILE": "file's name", "PATH": "file's name"}
# what must be text, as it is searched in names or put into files that are
ALWAYS_TEXT = ("TEXT", "NAME")
LARGEST_COUNT = 2**31 - 1  # which fits into what C takes


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
        self.operands = operands  # what a shell completes for operands: dir, file (or a directory), command, pid, shells, kernel
        self.rest = rest  # the first operand ends the options
        self.foreign = foreign  # and so does an option that is not ours

    def find(self, flag: str) -> Option | None:
        for option in self.options:
            if flag in option.flags:
                return option
        return None


def near(word: str, words: list[str], likeness: float = 0.6) -> str:
    """'; did you mean X?' or nothing. likeness: from 0 to 1, how much of both has to be the same."""
    from difflib import get_close_matches

    found = get_close_matches(word, words, 1, likeness)
    return "; did you mean " + found[0] + "?" if found else ""


def _value(option: Option, flag: str, text: str) -> object:
    if not text and option.metavar in NEVER_EMPTY:
        raise Usage(f"{flag}: the {NEVER_EMPTY[option.metavar]} is empty")
    if option.complete == "formats" and not all(text.split(",")):
        raise Usage(f"{flag}: the name of a format is empty")
    if option.choices and text not in option.choices:
        raise Usage(f"{flag}: {text!r} is none of {', '.join(option.choices)}{near(text, list(option.choices))}")
    if option.metavar in ALWAYS_TEXT and any("\ud800" <= c <= "\udfff" for c in text):
        raise Usage(f"{flag}: {text!r} is not UTF-8")
    if option.kind == "count":
        if not (text.isascii() and text.isdigit()):
            raise Usage(f"{flag}: {text!r} is not a whole number from 0 up")
        if len(text.lstrip("0")) > 10 or int(text) > LARGEST_COUNT:
            raise Usage(f"{flag}: {text:.40} is too large: at most {LARGEST_COUNT}")
        return int(text)
    if option.kind == "number":
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            raise Usage(f"{flag}: {text!r} is not a number from 0 up")
        return number
    return text


def _store(values: dict[str, object], option: Option, flag: str, text: str) -> None:
    value = _value(option, flag, text)
    if option.kind == "append":
        # one list for both directions: their order on the command line decides
        filters = values.setdefault("filter", [])
        assert isinstance(filters, list)
        if "\n" in text or not text:
            raise Usage(f"{flag}: the pattern is {'empty' if not text else 'longer than one line'}")
        filters.append(("+" if option.dest == "include" else "-") + text)
    elif option.kind in ("list", "many"):
        words = values.setdefault(option.dest, [])
        assert isinstance(words, list)
        if option.dest == "lines" and not text:
            raise Usage(f"{flag}: the pattern is empty")
        words.append(text)
    elif option.complete == "formats" and option.dest in values:
        values[option.dest] = f"{values[option.dest]},{value}"
    else:
        values[option.dest] = value


def _split(verb: Verb, word: str) -> tuple[Option, str, str | None]:
    """The option that word names, as it was written, and the value attached to it."""
    if word.startswith("--"):
        flag, sep, text = word.partition("=")
        attached = text if sep else None
    else:
        flag, attached = word[:2], word[2:] or None
    option = verb.find(flag) or next((o for o in verb.options if o.switch and o.opposite == flag), None)
    if option is None:
        flags = [f for o in verb.options for f in (*o.flags, *([o.opposite] if o.switch else ()))]
        raise Usage(f"unknown option {flag}{near(flag, flags)}")
    if option.kind == "flag" and attached is not None:
        if word.startswith("--"):
            raise Usage(f"{flag} takes no value")
        # -qo DIR: go on with the next letter
        return option, flag, "-" + attached
    return option, flag, attached


def parse(verb: Verb, words: list[str]) -> tuple[dict[str, object], list[str]]:
    """Options by name, and the operands. Usage: what cannot be understood."""
    values: dict[str, object] = {}
    operands: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word == "--":
            operands += words[i:]
            break
        # -m module and -c code begin the command line too: no option of a verb with a command is called so
        if not word.startswith("-") or word == "-" or (verb.rest and word[1] in "mc"):
            operands.append(word)
            if verb.rest:
                operands += words[i:]
                break
            continue
        if verb.foreign and verb.find(word.partition("=")[0]) is None:
            operands += words[i - 1 :]
            break
        option, flag, attached = _split(verb, word)
        if option.kind == "flag":
            values[option.dest] = flag in option.flags
            if attached:
                i -= 1
                words = [*words[:i], attached, *words[i + 1 :]]
            continue
        if attached is None:
            if i == len(words):
                raise Usage(f"{flag} needs a value: {flag} {option.metavar}")
            attached = words[i]
            i += 1
        _store(values, option, flag, attached)
        while option.kind == "many" and i < len(words) and not words[i].startswith("-"):
            _store(values, option, flag, words[i])
            i += 1
    return values, operands


def option_text(option: Option) -> str:
    return ", ".join(option.flags) + (" " + option.metavar if option.metavar else "")


def help_text(verb: Verb, width: int = 80) -> str:
    from textwrap import fill

    lines = [f"usage: spartito {verb.usage}", "", fill(verb.details, width), "", "options:"]
    for option in verb.options:
        lines.append("  " + option_text(option))
        lines.append(fill(option.help, width, initial_indent=" " * 8, subsequent_indent=" " * 8))
    lines += ["", "examples:"]
    for command, what in verb.examples:
        lines += ["  " + command, "        " + what]
    return "\n".join(lines)
