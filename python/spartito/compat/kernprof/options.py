# SPDX-License-Identifier: BSD-3-Clause
"""The command line of kernprof, and the table of a TOML file with its defaults."""

from __future__ import annotations

import os

from spartito.base.messages import Refused
from spartito.options.table import near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HELP = """\
usage: kernprof [options] {script | -m module | -c code | -} [arguments]

Runs a program under Spartito and writes the result as a file of line_profiler or pstats.

profiling:
  -l, --line-by-line       record lines; puts `profile` into the builtins, which decorates functions
                           (without: every call, as cProfile does)
  -b, --builtin            put `profile` into the builtins; without -l, record only functions that it
                           decorates, and code between profile.enable() and profile.disable()
  -s, --setup FILE         run this Python file first, without recording it
  -p, --prof-mod TARGET    with -l: record the lines of these modules, classes, functions or files
                           (several with commas or several -p; an empty one removes those before it)
      --prof-imports       with -l, if -p names the script: also the modules that it imports
      --no-preimports      with -l: of the targets of -p only those that the script imports

output:
  -o, --outfile FILE       default: SCRIPT.lprof with -l, else SCRIPT.prof; beside it one for each rank
                           of MPI, SCRIPT.lprof0, SCRIPT.lprof1 ...
  -i, --output-interval N  also write the file every N seconds (default 1)
  -v, --verbose, --view    print the result (twice: also debug messages)
  -q, --quiet              fewer messages; twice: discard the program's output; three times: also its errors
  -r, --rich               print it coloured by time
  -u, --unit SECONDS       unit of printed times (default 1e-6)
  -z, --skip-zero          omit functions that did not run
      --summarize          print a line for each function at the end
      --config FILE        TOML file whose table tool.line_profiler.kernprof has the defaults
                           (default: line_profiler.toml or pyproject.toml here or above); --no-config: none

  -h, --help   -V, --version

Flags also take a value: --rich=yes, --rich=no, --no-rich."""

# short, long, kind and name of each: on (yes or no), more (counted), text, list, number, seconds
TABLE = (
    ("l", "line-by-line", "on", "line_by_line"),
    ("b", "builtin", "on", "builtin"),
    ("s", "setup", "text", "setup"),
    ("p", "prof-mod", "list", "prof_mod"),
    ("", "preimports", "on", "preimports"),
    ("", "prof-imports", "on", "prof_imports"),
    ("o", "outfile", "text", "outfile"),
    ("i", "output-interval", "seconds", "output_interval"),
    ("v", "verbose", "more", "verbose"),
    ("", "view", "more", "verbose"),
    ("q", "quiet", "more", "quiet"),
    ("r", "rich", "on", "rich"),
    ("u", "unit", "number", "unit"),
    ("z", "skip-zero", "on", "skip_zero"),
    ("", "summarize", "on", "summarize"),
    ("", "config", "text", "config"),
    ("", "no-config", "none", "config"),
    ("h", "help", "flag", "help"),
    ("V", "version", "flag", "version"),
)
DEFAULTS: dict[str, Any] = {
    "line_by_line": False,
    "builtin": False,
    "setup": "",
    "prof_mod": [],
    "preimports": True,
    "prof_imports": False,
    "outfile": "",
    "output_interval": 0,
    "verbose": 0,
    "rich": False,
    "unit": 1e-6,
    "skip_zero": False,
    "summarize": False,
}
YES, NO = ("1", "on", "true", "t", "yes", "y"), ("", "0", "off", "false", "f", "no", "n")
FILES = ("line_profiler.toml", "pyproject.toml")


class Wrong(Refused):
    """The command line is invalid; the exit status is 2."""

    def __init__(self, text: str) -> None:
        super().__init__(text, 2)


class Asked:
    """A parsed command line. kind: of the program: file, module, code, stdin, or "" without a program; what: its path, name or
    code; given: options by name."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.kind = ""
        self.what = ""
        self.arguments: list[str] = []

    def __getitem__(self, name: str) -> Any:
        return self.given.get(name, DEFAULTS.get(name))


def _switch(flag: str, text: str) -> bool:
    word = text.lower()
    if word not in YES and word not in NO:
        raise Wrong(f"{flag}: {text!r} is neither yes nor no")
    return word in YES


def _number(flag: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise Wrong(f"{flag}: {text!r} is not a number above 0")
    return number


def _seconds(flag: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Wrong(f"{flag}: {text!r} is not a whole number of seconds")
    return int(text)


def _long(word: str) -> tuple[str, str, str]:
    """(flag, kind, name) of a long option, which may be abbreviated as long as it is unique. kind "off": the option is disabled."""
    known = {"--" + long: (kind, name) for _, long, kind, name in TABLE}
    known.update({"--no-" + long: ("off", name) for _, long, kind, name in TABLE if kind == "on"})
    if word not in known:
        meant = [flag for flag in known if flag.startswith(word)]
        if len(meant) > 1:
            raise Wrong(f"{word} may be {' or '.join(meant)}")
        if not meant:
            raise Wrong(f"unknown option {word}{near(word, list(known))}")
        word = meant[0]
    return (word, *known[word])


class _Words:
    """The command line and the index of the next word."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 0

    def value(self, flag: str, attached: str | None) -> str:
        if attached is not None:
            return attached
        if self.at == len(self.words):
            raise Wrong(f"{flag} needs a value")
        self.at += 1
        return self.words[self.at - 1]

    def optional(self, attached: str | None, fits: Any) -> str | None:
        """An optional value: the attached one, or the next word if fits() accepts it."""
        if attached is None and self.at < len(self.words) and fits(self.words[self.at]):
            self.at += 1
            return self.words[self.at - 1]
        return attached


def _take(asked: Asked, words: _Words, flag: str, kind: str, name: str, attached: str | None) -> None:
    given = asked.given
    if kind in ("on", "off"):
        text = words.optional(attached, lambda w: bool(w) and w.lower() in YES + NO) if flag.startswith("--") else None
        given[name] = (text is None or _switch(flag, text)) == (kind == "on")
    elif kind == "seconds":
        text = words.optional(attached, lambda w: w.isascii() and w.isdigit())
        given[name] = 1 if text is None else _seconds(flag, text)
    elif kind in ("text", "list", "number"):
        text = words.value(flag, attached)
        if kind == "list":
            given.setdefault(name, []).append(text)
        else:
            given[name] = _number(flag, text) if kind == "number" else text
    elif attached is not None:
        raise Wrong(f"{flag} takes no value")
    elif kind == "more":
        given[name] = given.get(name, 0) + 1
    else:
        given[name] = None if kind == "none" else True


def _letters(asked: Asked, words: _Words, word: str) -> bool:
    """Parses a word of one or more short options. True: the last one begins the program (-m, -c)."""
    short = {letter: (kind, name) for letter, _, kind, name in TABLE if letter}
    for i, letter in enumerate(word[1:], 1):
        rest = word[i + 1 :] or None
        if letter in "mc":
            asked.kind = "module" if letter == "m" else "code"
            asked.what = words.value("-" + letter, rest)
            return True
        if letter not in short:
            raise Wrong(f"unknown option -{letter} in {word}" if len(word) > 2 else f"unknown option {word}")
        kind, name = short[letter]
        valued = kind in ("text", "list", "number") or (kind == "seconds" and (rest is None or rest[0].isdigit()))
        _take(asked, words, "-" + letter, kind, name, rest if valued else None)
        if valued:
            break
    return False


def parse(given: list[str]) -> Asked:
    """Parses a command line. Wrong: it is invalid."""
    asked, words = Asked(), _Words(given)
    while words.at < len(given):
        word = given[words.at]
        words.at += 1
        if word == "--" and words.at < len(given):
            word = given[words.at]
            words.at += 1
        elif word.startswith("--"):
            flag, sep, text = word.partition("=")
            flag, kind, name = _long(flag)
            _take(asked, words, flag, kind, name, text if sep else None)
            continue
        elif word.startswith("-") and word != "-":
            if not _letters(asked, words, word):
                continue
            break
        asked.kind, asked.what = ("stdin", "-") if word == "-" else ("file", word)
        break
    asked.arguments = given[words.at :]
    return asked


# ---- defaults from a file ----


def read_table(path: str) -> dict[str, Any]:
    """The table tool.line_profiler of a TOML file. Refused: it cannot be read."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib as toml
    else:
        import tomli as toml  # type: ignore[import-not-found,unused-ignore]
    try:
        with open(path, "rb") as f:
            text = f.read().decode()
        table = toml.loads(text).get("tool", {}).get("line_profiler", {})
    except OSError as e:
        raise Refused(f"--config {path}: {e.strerror}") from None
    except (ValueError, AttributeError) as e:
        raise Refused(f"{path}: cannot be read as TOML: {e}") from None
    return table if isinstance(table, dict) else {}


def find_table() -> tuple[str, dict[str, Any]]:
    """(path, table) of the first file in this directory or above it that has a table of line_profiler."""
    named = os.environ.get("LINE_PROFILER_RC", "")
    if named:
        return named, read_table(named)
    try:
        place = os.getcwd()
    except OSError:
        return "", {}
    while True:
        for name in FILES:
            path = os.path.join(place, name)
            try:
                with open(path, "rb") as f:
                    likely = b"line_profiler" in f.read()
            except OSError:
                continue
            table = read_table(path) if likely else {}
            if table:
                return path, table
        above = os.path.dirname(place)
        if above == place:
            return "", {}
        place = above


def configure(asked: Asked) -> None:
    """Adds the options of a file that are not on the command line. Refused: a file or value is invalid."""
    if "config" in asked.given:
        path = asked.given["config"] or ""
        table = read_table(path) if path else {}
    else:
        path, table = find_table()
    table = table.get("kernprof", {})
    for key, value in table.items() if isinstance(table, dict) else ():
        name = key.replace("-", "_")
        if name not in DEFAULTS:
            raise Refused(f"{path}: unknown key {key!r} in [tool.line_profiler.kernprof]{near(name, list(DEFAULTS))}")
        wanted = type(DEFAULTS[name])
        if isinstance(value, str) and wanted is list:
            value = [value]
        if isinstance(value, int) and wanted is float:
            value = float(value)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise Refused(f"{path}: tool.line_profiler.kernprof.{key}: {value!r} is not of type {wanted.__name__}")
        if name == "unit" and not value > 0:
            raise Refused(f"{path}: tool.line_profiler.kernprof.{key}: {value!r} is not a number above 0")
        asked.given.setdefault(name, value)
