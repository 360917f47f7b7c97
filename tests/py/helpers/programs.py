# SPDX-License-Identifier: BSD-3-Clause
"""The programs in tests/programs/, and the expectations in their headers.

A header consists of comment lines "#: key  value"; "key[3.9-3.11]" is valid for these Python versions only. Counts are separated
by semicolons, the number last; a name without a colon belongs to the module __main__.

    visits, resumed     calls of a region; resumptions of a generator or coroutine
    callers             callee by caller N
    inherits            frames that were open at a fork: entered once more in the child's trace
    c-calls, user       visits of C functions and of user regions (full names)
    free                regions of the program with an unknown count
    expect-none         regions that must not appear
    threads             number of locations with that name
    locations, processes, least-processes, regions
    exit                status or name of a signal; default 0 (with abrupt: that of the run without Spartito)
    abrupt              the process dies, or calls os._exit: at least 99.9 % of each count
    crashes-alone       the interpreter sometimes dies of SIGSEGV at its end, also without Spartito: the run is repeated
    trace-more          the trace enters a region again where the program switches stacks
    trace-incomplete    the trace drops events and reports it; the profile is exact
    each                arguments, separated by semicolons: the program is run with each of them
    options, args, stdin, side, hooks, python, needs, stderr any, slow
"""

import re
import sys
import sysconfig
from pathlib import Path

import spartito._measure as measure

HOOKS = [name for name, works, _ in measure.hooks() if works]
WITHOUT_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # this build of Python can run without it
DIRECTORY = Path(__file__).resolve().parents[2] / "programs"
COUNTED = ("visits", "resumed", "callers", "inherits", "c-calls", "user", "threads")
WORDS = ("free", "expect-none", "side", "hooks")


def in_range(text, version=sys.version_info[:2]):
    """Whether this version is in the range, written 3.9-3.11, 3.12-, -3.10 or 3.9."""
    first, dash, last = text.partition("-")

    def number(t):
        return tuple(map(int, t.split(".")))

    if not dash:
        return version == number(first)
    return (not first or version >= number(first)) and (not last or version <= number(last))


def full_name(name):
    return name if ":" in name or name.startswith("<method ") else "__main__:" + name


class Program:
    def __init__(self, path, argument=None):
        self.path, self.name = path, path.stem + (f"-{argument}" if argument else "")
        self.counts = {key: {} for key in COUNTED}
        self.words = {key: [] for key in WORDS}
        self.values = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            match = re.match(r"#: ([\w-]+)(?:\[([\d.-]+)\])? *(.*)$", line)
            if match and (not match[2] or in_range(match[2])):
                self.read(match[1], match[3].strip())
        if argument:
            self.values["args"] = argument

    def read(self, key, text):
        if key in COUNTED:
            for entry in filter(None, map(str.strip, text.split(";"))):
                name, number = entry.rsplit(" ", 1)
                name = name.replace("\\t", "\t")
                if key == "callers":
                    callee, caller = name.split(" by ")
                    name = (full_name(callee), full_name(caller))
                elif key in ("visits", "resumed", "inherits"):
                    name = full_name(name)
                self.counts[key][name] = int(number)
        elif key in WORDS:
            separator = ";" if ";" in text else None
            self.words[key] += [w.strip() for w in text.split(separator)]
        else:
            self.values[key] = text

    def __contains__(self, key):
        return key in self.values

    def wrong_python(self):
        """Why this program cannot run with this Python, or an empty string."""
        if "python" in self and not in_range(self.values["python"]):
            return f"needs Python {self.values['python']}"
        return ""

    def exit_status(self):
        import signal

        text = self.values.get("exit", "0")
        return -int(getattr(signal, text)) if text.startswith("SIG") else int(text)

    def stdin(self):
        return self.values.get("stdin", "").encode().decode("unicode_escape").encode()

    def implied(self, name):
        """Regions that need no declaration: bodies of modules and classes, and comprehensions, which Python 3.12 and later
        inline."""
        last = re.split("[.:]", name)[-1]
        return last.startswith("<") or last[:1].isupper()


def find(name):
    """The path of a program; their names are unique."""
    (path,) = DIRECTORY.glob(f"*/{name}.py")
    return path


def all_programs():
    for path in sorted(DIRECTORY.glob("*/*.py"), key=lambda path: path.name):
        program = Program(path)
        arguments = program.values.get("each", "").split(";")
        yield from (Program(path, a.strip()) for a in arguments) if arguments[0] else [program]
