# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `omnitrace-python` and `python -m omnitrace`. Its imports delay the start of every measured program, so they
are few."""

from __future__ import annotations

import os

from spartito.base.messages import Refused
from spartito.compat.omnitrace.config import FILTERS, Config, regular

TRUE = ("yes", "true", "t", "y", "on", "1")
FALSE = ("no", "false", "f", "n", "off", "0")
LABELS = ("args", "file", "line")

# long name -> short name, number of values: "" none, "1" one, "?" a BOOL or none, "*" any, "+" one or more
OPTIONS = {
    "--help": ("-h", ""),
    "--verbosity": ("-v", "1"),
    "--builtin": ("-b", ""),
    "--config": ("-c", "1"),
    "--setup": ("-s", "1"),
    "--full-filepath": ("-F", "?"),
    "--label": ("", "*"),
    "--function-include": ("-I", "+"),
    "--function-exclude": ("-E", "+"),
    "--function-restrict": ("-R", "+"),
    "--module-include": ("-MI", "+"),
    "--module-exclude": ("-ME", "+"),
    "--module-restrict": ("-MR", "+"),
    "--trace-c": ("", "?"),
    "--annotate-trace": ("-a", "?"),
}
SHORT = {short: name for name, (short, _) in OPTIONS.items() if short}
SETS = dict(zip(list(OPTIONS)[7:13], ("include_functions", "exclude_functions", "restrict_functions",
                                      "include_modules", "exclude_modules", "restrict_modules")))  # fmt: skip
SWITCHES = {"--full-filepath": "full_filepath", "--trace-c": "trace_c", "--annotate-trace": "annotate_trace"}

HELP = """\
usage: omnitrace-python [options] -- SCRIPT [SCRIPT_ARGS]
       python -m omnitrace [options] -- SCRIPT [SCRIPT_ARGS]
       omnitrace-python SCRIPT [SCRIPT_ARGS]

Runs the script and measures it with Spartito. The variables OMNITRACE_* of Omnitrace choose what is recorded and where
the results go. Options end at the first `--`; -m MODULE or -c CODE after it replace the script.

options:
  -h, --help            show this help and exit
  -v N, --verbosity N   messages: -1 errors only, 0 also the paths of results, 1 also the settings
  -b, --builtin         record only what is decorated with @profile, or is in `with profile:`; these names, trace and
                        noprofile are in the builtins
  -c FILE, --config FILE
                        configuration file: lines NAME = VALUE, or JSON
  -s FILE, --setup FILE
                        Python code to execute before the script, in its namespace; it is not recorded
  -F [BOOL], --full-filepath [BOOL]
                        full paths of files in labels
  --label [args|file|line ...]
                        further parts of a function's label
  -I FUNC ..., --function-include FUNC ...
                        record functions of these names, even if -E, -MR or -ME exclude them
  -E FUNC ..., --function-exclude FUNC ...
                        exclude functions of these names and all their callees
  -R FUNC ..., --function-restrict FUNC ...
                        record only functions of these names
  -MI FILE ..., --module-include FILE ...
                        record functions of these files, even if -ME excludes them
  -ME FILE ..., --module-exclude FILE ...
                        exclude functions of these files
  -MR FILE ..., --module-restrict FILE ...
                        record only functions of these files
  --trace-c [BOOL]      record functions of C, too
  -a [BOOL], --annotate-trace [BOOL]
                        accepted: the trace always has file and line of each function

FUNC and FILE are extended regular expressions, which match anywhere in the name of a function or a file.
BOOL: yes, true, t, y, on, 1, or no, false, f, n, off, 0; alone the option means yes."""


class Asked:
    """A parsed command line."""

    __slots__ = ("builtin", "command", "config", "file", "help", "setup", "verbosity")

    def __init__(self) -> None:
        self.builtin = False
        self.command: list[str] = []  # the script and its arguments, or -m module and its arguments
        self.config = Config()
        self.file = ""  # --config
        self.help = False
        self.setup = ""  # --setup, absolute
        self.verbosity: int | None = None


def flag(text: str) -> bool:
    """The value of a BOOL. ValueError: it is not one of the known words."""
    word = text.strip().lower()
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise ValueError(f"is neither true ({', '.join(TRUE)}) nor false ({', '.join(FALSE)})")


def find_script(name: str) -> str:
    """The path of a script: as given, or in a directory of PATH. If it does not exist, the name itself."""
    if not name or "/" in name or os.path.isfile(name):
        return name
    places = (os.path.join(above, name) for above in os.environ.get("PATH", os.defpath).split(os.pathsep) if above)
    return next((path for path in places if os.path.isfile(path)), name)


def _name_of(word: str) -> tuple[str, str | None]:
    """The long name of an option, and the value attached to it. Refused: the option is unknown or ambiguous."""
    if word in SHORT:
        return SHORT[word], None
    if word.startswith("--"):
        name, sep, value = word.partition("=")
        known = [name] if name in OPTIONS else [option for option in OPTIONS if option.startswith(name)]
        if len(known) == 1:
            return known[0], value if sep else None
        if known:
            raise Refused(f"{name} may mean {' or '.join(known)}", 2)
    else:
        for short in sorted(SHORT, key=len, reverse=True):
            if word.startswith(short):
                return SHORT[short], word[len(short) :].removeprefix("=")
    from spartito.options.table import near

    raise Refused(f"unknown option {word}{near(word, [*OPTIONS, *SHORT])}; `omnitrace-python --help` lists them", 2)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Refused(f"--verbosity: {text!r} is not a whole number", 2) from None


def _one(asked: Asked, name: str, value: str) -> None:
    if name == "--verbosity":
        asked.verbosity = _whole(value)
    elif name == "--config":
        asked.file = value
    else:
        path = find_script(value)
        if not os.path.isfile(path):
            raise Refused(f"--setup: {value!r} is not a file that can be read", 2)
        if "\n" in path:
            raise Refused(f"--setup: {value!r}: the end of a line in the name of a file", 2)
        asked.setup = os.path.abspath(path)


def _switch(asked: Asked, name: str, value: str | None) -> None:
    try:
        on = value is None or flag(value)
    except ValueError as e:
        raise Refused(f"{name}: {value!r} {e}", 2) from None
    setattr(asked.config, SWITCHES[name], on)


def _several(asked: Asked, name: str, values: list[str]) -> None:
    if name == "--label":
        for value in values:
            if value not in LABELS:
                from spartito.options.table import near

                raise Refused(f"--label: {value!r} is not one of {', '.join(LABELS)}{near(value, list(LABELS))}", 2)
        asked.config.include_args = "args" in values
        asked.config.include_filename = "file" in values
        asked.config.include_line = "line" in values
        return
    if not values:
        raise Refused(f"{name} needs a value: a regular expression", 2)
    for value in values:
        try:
            regular(value)
        except ValueError as e:
            raise Refused(f"{name}: {e}", 2) from None
    setattr(asked.config, SETS[name], values)


def _options(asked: Asked, words: list[str]) -> None:
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or word == "-":
            raise Refused(f"{word!r} is no option; the script stands behind `--`: omnitrace-python [options] -- {word}", 2)
        name, value = _name_of(word)
        kind = OPTIONS[name][1]
        if not kind:
            if value and word[1] != "-" and word[:2] in SHORT:
                # short options in one word
                words.insert(at, "-" + value)
            elif value is not None:
                raise Refused(f"{name} takes no value", 2)
            setattr(asked, name[2:], True)
            continue
        values = [] if value is None else [value]
        most = len(words) if kind in "*+" else 1
        while value is None and at < len(words) and len(values) < most:
            # negative numbers are values
            if words[at].startswith("-") and not words[at][1:].isdigit():
                break
            values.append(words[at])
            at += 1
        if kind == "1":
            if not values:
                raise Refused(f"{name} needs a value", 2)
            _one(asked, name, values[0])
        elif kind == "?":
            _switch(asked, name, values[0] if values else None)
        else:
            _several(asked, name, values)


def parse(words: list[str]) -> Asked:
    """Parses a command line. Refused: an unknown option, an invalid value, or no script."""
    asked = Asked()
    if words and not words[0].startswith("-"):
        asked.command = words
    elif "--" in words:
        at = words.index("--")
        _options(asked, words[:at])
        asked.command = words[at + 1 :]
    elif "-h" in words or "--help" in words:
        asked.help = True
    elif words:
        raise Refused("options end at `--`, which is missing: omnitrace-python [options] -- SCRIPT [SCRIPT_ARGS]", 2)
    if asked.help:
        return asked
    if not asked.command or not asked.command[0]:
        raise Refused("there is no script to run: omnitrace-python [options] -- SCRIPT [SCRIPT_ARGS]", 2)
    first = asked.command[0]
    if not first.startswith("-"):
        path = find_script(first)
        if not os.path.exists(path):
            raise Refused(f"there is no script {first!r}", 2)
        asked.command = [path, *asked.command[1:]]
    return asked


assert set(SETS.values()) == set(FILTERS)
