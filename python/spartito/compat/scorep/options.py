# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `python -m scorep`. Its imports delay the start of every measured program, so they are few."""

from __future__ import annotations

import os

from spartito.base.messages import Refused

TYPES = ("profile", "trace", "cProfile", "cTrace", "dummy")
PARADIGMS = ("none", "mpi")
IO = {"posix": True, "runtime:posix": True, "none": False}
WITHOUT_EFFECT = {
    "--compiler": "functions compiled with -finstrument-functions are recorded without it",
    "--nocompiler": "what is compiled into a binary stays recorded",
    "--user": "regions of scorep.user are always recorded",
    "--nouser": "regions of scorep.user are always recorded",
}

HELP = """\
Usage: python -m scorep [options] [--] script [args...]
       python -m scorep [options] [--] -m module [args...]

Runs the script with the interpreter and the flags that run scorep, and measures it with Spartito. The variables
SCOREP_* of Score-P choose what is recorded and where the results go.

options:
  --help                    show this help and exit
  -v, --verbose             print the settings, and the options and variables without effect
  --keep-files              accepted: there are no temporary files
  --noinstrumenter, --nopython
                            record functions only where the program itself enables it
  --instrumenter-type=TYPE  profile, trace, cProfile or cTrace (all the same here), or dummy, which is --noinstrumenter
  --instrumenter-file=FILE  Python code to run before the script, to instrument modules and functions
  --mpp=none|mpi, --mpi     record MPI: the groups of functions in SCOREP_MPI_ENABLE_GROUPS
  --thread=NAME             accepted: threads are always recorded
  --io=posix                record file I/O (also --io=runtime:posix; --io=none)
  --compiler, --nocompiler, --user
                            accepted: nothing has to be prepared for them here"""


class Asked:
    """A parsed command line."""

    __slots__ = ("command", "file", "help", "instrument", "io", "keep", "mpi", "notes", "verbose")

    def __init__(self) -> None:
        self.command: list[str] = []  # the script and its arguments, or -m module and its arguments
        self.file = ""  # --instrumenter-file, absolute
        self.help = False
        self.instrument = True
        self.io: bool | None = None  # None: SCOREP_IO_POSIX decides
        self.keep = False
        self.mpi = False
        self.notes: list[str] = []  # options accepted without effect
        self.verbose = False


def _near(word: str, words: tuple[str, ...]) -> str:
    from spartito.options.table import near

    return near(word, list(words))


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise Refused(f"{option}: {value!r} is not one of {', '.join(known)}{_near(value, known)}")
    return value


def _with_value(asked: Asked, option: str, value: str) -> bool:
    """Parses an option of the form --name=value. False: it is unknown."""
    if option == "--instrumenter-type":
        if _one_of(option, value, TYPES) == "dummy":
            asked.instrument = False
    elif option == "--instrumenter-file":
        if not os.path.isfile(value):
            raise Refused(f"{option}: {value!r} is not a file that can be read")
        asked.file = os.path.abspath(value)
    elif option == "--mpp":
        asked.mpi = _one_of(option, value, PARADIGMS) == "mpi"
    elif option == "--io":
        asked.io = IO[_one_of(option, value, tuple(IO))]
    elif option == "--thread" and value:
        asked.notes.append(f"--thread={value}: threads are recorded whatever starts them")
    else:
        return False
    return True


def _plain(asked: Asked, option: str) -> bool:
    """Parses an option without a value. False: it is unknown."""
    if option == "--help":
        asked.help = True
    elif option in ("--verbose", "-v"):
        asked.verbose = True
    elif option == "--keep-files":
        asked.keep = True
    elif option in ("--noinstrumenter", "--nopython"):
        asked.instrument = False
    elif option == "--mpi":
        asked.mpi = True
    elif option in WITHOUT_EFFECT:
        asked.notes.append(f"{option}: {WITHOUT_EFFECT[option]}")
    else:
        return False
    return True


def parse(words: list[str]) -> Asked:
    """Parses a command line. Refused: an option is unknown or a value is invalid."""
    asked = Asked()
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        # -m module begins the program like a script; the options end here
        if not word.startswith("-") or word[:2] == "-m":
            break
        option, sep, value = word.partition("=")
        if not (_with_value(asked, option, value) if sep else _plain(asked, option)):
            what = "unknown option"
            if not sep and option in ("--instrumenter-type", "--instrumenter-file", "--mpp", "--thread", "--io"):
                raise Refused(f"{option} needs a value: {option}=VALUE")
            known = ("--help", "--verbose", "--noinstrumenter", "--instrumenter-type", "--instrumenter-file", "--keep-files")
            raise Refused(f"{what} {word}{_near(option, known)}; `python -m scorep --help` lists them")
        at += 1
    asked.command = words[at:]
    return asked
