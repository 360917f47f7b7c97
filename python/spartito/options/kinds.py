# SPDX-License-Identifier: BSD-3-Clause
"""The classes of the command-line table, its parser and its help texts.

The launcher of every run loads this module before the program starts, so it imports nothing at its top."""

from __future__ import annotations

# metavariables whose value must not be empty, with their descriptions; an unset shell variable would give an empty word
NEVER_EMPTY = {"NAME": "name", "DIR": "directory's name", "DIR…": "directory's name", "FILE": "file's name", "PATH": "file's name"}
# metavariables whose value must be valid UTF-8: it is compared with names or written into text files
ALWAYS_TEXT = ("TEXT", "NAME")
MAX_COUNT = 2**31 - 1  # fits into a C int


class Usage(Exception):
    """The command line is wrong. str() is one line; the exit status is 2."""


class Option:
    """One option. kind: flag, text, append (patterns), list, many (all words up to the next option), count (a whole number),
    number, size. The command checks the names of output formats. common: --help lists it even if the command has many options."""

    __slots__ = ("choices", "common", "complete", "dest", "flags", "group", "help", "kind", "metavar", "switch")

    def __init__(
        self,
        flags: str,
        help: str,
        metavar: str = "",
        kind: str = "",
        choices: tuple[str, ...] = (),
        complete: str = "",
        dest: str = "",
        common: bool = False,
    ) -> None:
        self.flags = tuple(flags.split())
        self.help = help
        self.metavar = metavar
        self.kind = kind or ("text" if metavar else "flag")
        self.choices = choices
        self.complete = complete  # what a shell completes: dir, file, formats
        self.dest = dest or self.flags[-1].lstrip("-").replace("-", "_")
        self.common = common
        self.group = ""  # the title under which help lists it
        self.switch = False  # a flag with an opposite: --no-FLAG, or FLAG without its no-

    def under(self, group: str) -> Option:
        """A copy that help lists under this title. It is a copy because several commands share an option."""
        copy = Option.__new__(Option)
        for name in self.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.group = group
        return copy

    @property
    def opposite(self) -> str:
        """The flag with the opposite effect of this switch: --no-FLAG of --FLAG."""
        word = self.flags[-1][2:]
        return "--" + (word[3:] if word.startswith("no-") else "no-" + word)


def group(title: str, *options: Option) -> tuple[Option, ...]:
    """The options, with the title under which help lists them."""
    return tuple(option.under(title) for option in options)


class Topic:
    """A word that selects what a command shows, such as `waits` in `spartito report waits`. options: Option.dest of its options."""

    __slots__ = ("name", "options", "summary")

    def __init__(self, name: str, summary: str, options: str) -> None:
        self.name = name
        self.summary = summary
        self.options = frozenset(options.split())


def _help(options: tuple[Option, ...]) -> tuple[Option, ...]:
    """The option --help, and --help-all if --help lists only the most used options."""
    more = Option("--help-all", "show all options and exit")
    return (Option("-h --help", "show this help and exit"), *((more,) if any(o.common for o in options) else ()))


class Command:
    """One command of `spartito`. operands: what a shell completes for operands: dir, file (or a directory), program, pid, shells,
    kernel, compiler. rest: the first operand ends the options. foreign: the first unknown option also ends the options."""

    __slots__ = ("details", "examples", "foreign", "name", "operands", "options", "rest", "summary", "topics", "usage")

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
        topics: tuple[Topic, ...] = (),
    ) -> None:
        self.name = name
        self.usage = usage
        self.summary = summary
        self.details = details
        self.options = (*options, *group("help", *_help(options)))
        self.examples = examples
        self.operands = operands
        self.rest = rest
        self.foreign = foreign
        self.topics = topics

    def find(self, flag: str) -> Option | None:
        for option in self.options:
            if flag in option.flags:
                return option
        return None

    def topic(self, word: str) -> Topic | None:
        for topic in self.topics:
            if topic.name == word:
                return topic
        return None

    @property
    def own_options(self) -> tuple[Option, ...]:
        """The options without --help and --help-all."""
        return tuple(o for o in self.options if o.group != "help")


def near(word: str, words: list[str], likeness: float = 0.6) -> str:
    """A suggestion '; did you mean X?', or "". likeness: minimum similarity of X, 0 to 1."""
    from difflib import get_close_matches

    found = get_close_matches(word, words, 1, likeness)
    return "; did you mean " + found[0] + "?" if found else ""


def _value(option: Option, flag: str, text: str) -> object:
    if not text and option.metavar in NEVER_EMPTY:
        raise Usage(f"{flag}: the {NEVER_EMPTY[option.metavar]} is empty")
    if option.complete == "formats" and not all(text.split(",")):
        raise Usage(f"{flag}: the name of a format is empty")
    if option.choices and text not in option.choices:
        raise Usage(f"{flag}: {text!r} is not one of {', '.join(option.choices)}{near(text, list(option.choices))}")
    if option.metavar in ALWAYS_TEXT and any("\ud800" <= c <= "\udfff" for c in text):
        raise Usage(f"{flag}: {text!r} is not UTF-8")
    if option.kind == "count":
        if not (text.isascii() and text.isdigit()):
            raise Usage(f"{flag}: {text!r} is not a whole number from 0 up")
        if len(text.lstrip("0")) > 10 or int(text) > MAX_COUNT:
            raise Usage(f"{flag}: {text:.40} is too large: at most {MAX_COUNT}")
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
        # --include and --exclude share one list: their order on the command line matters
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


def _split(command: Command, word: str) -> tuple[Option, str, str | None]:
    """The option that the word names, the flag as it was written, and the value attached to it (--flag=value, -fvalue) or None."""
    if word.startswith("--"):
        flag, sep, text = word.partition("=")
        attached = text if sep else None
    else:
        flag, attached = word[:2], word[2:] or None
    option = command.find(flag) or next((o for o in command.options if o.switch and o.opposite == flag), None)
    if option is None:
        if command.topic(flag[2:]):
            raise Usage(f"{flag} is a word, not an option: spartito {command.name} {flag[2:]} [options] DIR")
        flags = [f for o in command.options for f in (*o.flags, *([o.opposite] if o.switch else ()))]
        raise Usage(f"unknown option {flag}{near(flag, flags)}")
    if option.kind == "flag" and attached is not None:
        if word.startswith("--"):
            raise Usage(f"{flag} takes no value")
        # -qo DIR: continue with the next letter
        return option, flag, "-" + attached
    return option, flag, attached


def parse(command: Command, words: list[str]) -> tuple[dict[str, object], list[str]]:
    """The values of options by Option.dest, and the operands. Usage: the command line is wrong."""
    values: dict[str, object] = {}
    operands: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word == "--":
            operands += words[i:]
            break
        # -m module and -c code begin the program's command line; commands with `rest` have no options -m and -c
        if not word.startswith("-") or word == "-" or (command.rest and word[1] in "mc"):
            operands.append(word)
            if command.rest:
                operands += words[i:]
                break
            continue
        if command.foreign and command.find(word.partition("=")[0]) is None:
            operands += words[i - 1 :]
            break
        option, flag, attached = _split(command, word)
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


def option_lines(options: list[Option] | tuple[Option, ...], width: int) -> list[str]:
    """Two entries for each option: its flags, and its description."""
    from textwrap import fill

    lines = []
    for option in options:
        lines.append("  " + option_text(option))
        lines.append(fill(option.help, width, initial_indent=" " * 8, subsequent_indent=" " * 8))
    return lines


def sections(command: Command) -> dict[str, list[Option]]:
    """The options by the titles of their groups, in the order of the table."""
    found: dict[str, list[Option]] = {}
    for option in command.options:
        found.setdefault(option.group or "options", []).append(option)
    return found


def _topic_help(command: Command, topic: Topic, width: int) -> str:
    from textwrap import fill

    lines = [f"usage: spartito {command.name} {topic.name} [options] [DIR]", "", fill(f"Shows {topic.summary}.", width)]
    options = [o for o in command.options if o.dest in topic.options or o.dest == "help"]
    return "\n".join([*lines, "", "options:", *option_lines(options, width)])


def help_text(command: Command, width: int = 80, whole: bool = False, word: str = "") -> str:
    """The text of `spartito COMMAND --help`. whole: list all options, as --help-all does. word: the topic to describe, if it is
    one."""
    from textwrap import fill

    topic = command.topic(word)
    if topic:
        return _topic_help(command, topic, width)
    lines = [f"usage: spartito {command.usage}", "", fill(command.details, width)]
    if command.topics:
        lines += ["", f"{command.name}s:", *(f"  {t.name:<14} {t.summary}" for t in command.topics)]
        lines += ["", f"`spartito {command.name} WORD --help` lists the options of one of them."]
    common = [o for o in command.options if o.common]
    if common and not whole:
        lines += ["", "most used options:", *option_lines(common, width)]
        rest = {title: sum(not o.common for o in options) for title, options in sections(command).items() if title != "help"}
        listed = ", ".join(f"{title} ({n})" for title, n in rest.items() if n)
        lines += ["", fill(f"`spartito {command.name} --help-all` lists all options: {listed}.", width)]
    else:
        for title, options in sections(command).items():
            if title != "help" or len(options) > 1:
                lines += ["", f"{title}:", *option_lines(options, width)]
    lines += ["", "examples:"]
    for example, what in command.examples:
        lines += ["  " + example, "        " + what]
    return "\n".join(lines)
