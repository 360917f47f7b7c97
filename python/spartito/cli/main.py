# SPDX-License-Identifier: BSD-3-Clause
"""The command line: finds the command, parses its options and runs its module."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import Refused, complain, printable
from spartito.options.table import COMMANDS, RUN, Command, Usage, find_command, help_text, near, overview, parse, start

INTERRUPTED = 130


def _print(text: str) -> int:
    out = sys.stdout
    if out is not None:
        out.write(printable(text, out.encoding) + "\n")
        out.flush()
    return 0


def _is_program(word: str) -> bool:
    """Whether a word that is no command begins the command line of a program: `spartito solver.py`, `spartito python solver.py`."""
    return os.path.exists(word) or "/" in word or word.endswith((".py", ".ipy", ".pyz")) or word.startswith("python")


def _check_option(flag: str) -> None:
    """Usage: neither `run` nor `spartito` itself has an option of that name."""
    known = [f for option in RUN.options for f in (option.flags if not option.switch else (*option.flags, option.opposite))]
    if flag.startswith("--") and flag != "--" and flag not in known:
        raise Usage(f"unknown option {flag}{near(flag, [*known, '--version'])}")


def _find(words: list[str]) -> tuple[Command, list[str]]:
    """The command and its words. `run` may be left out: `spartito solver.py`. Usage: there is no such command."""
    command = find_command(words[0])
    if command:
        return command, words[1:]
    if words[0].startswith("-"):
        _check_option(words[0].partition("=")[0])
        return RUN, words
    if _is_program(words[0]):
        return RUN, words
    names = [command.name for command in COMMANDS]
    measure = f"; to measure a program of that name: spartito run -- {words[0]}"
    raise Usage(f"unknown command {words[0]!r}{near(words[0], names) or measure} (commands: {', '.join(names)})")


def _run(command: Command, words: list[str], exit_at_once: bool) -> int:
    values, operands = parse(command, words)
    if "help" in values or "help_all" in values:
        return _print(help_text(command, whole="help_all" in values, word=operands[0] if operands else ""))
    # imports only this command; a table of functions would import all of them
    module = __import__("spartito.cli." + command.name, fromlist=["main"])
    status = module.main(values, operands)
    assert isinstance(status, int)
    if command is RUN and exit_at_once:
        from spartito.run import launch  # already loaded by the command

        launch.leave(status)
    return status


def main(argv: list[str] | None = None) -> int:
    """Runs a command and returns the exit status. argv: the words without the program's name; None: those of this process. In that
    case `spartito run` exits at once with the status of the measured program, and does not return."""
    words = sys.argv[1:] if argv is None else argv
    if not words:
        return _print(start())
    if words[0] in ("-h", "--help", "help"):
        if len(words) < 2:
            return _print(overview())
        words = [*words[1:], "--help"]
    if words[0] == "--help-all":
        return _print("\n\n\n".join([overview(), *(help_text(command, whole=True) for command in COMMANDS)]))
    if words[0] == "--version":
        from spartito._version import __version__

        return _print("spartito " + __version__)
    status = _guarded(words, argv is None)
    if argv is None:
        _give_up_messages()
    return status


def _guarded(words: list[str], exit_at_once: bool) -> int:
    """Runs the command. Every expected error becomes one line on standard error and an exit status."""
    command = None
    try:
        command, rest = _find(words)
        return _run(command, rest, exit_at_once)
    except Usage as e:
        complain(str(e), command.name if command else "")
        return 2
    except Refused as e:
        complain(str(e))
        return e.status
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _forget(1)
        return 1
    except OSError as e:
        complain(f"{e.filename}: {e.strerror}" if e.filename else str(e))
        return 1
    except Exception as e:
        from spartito._analyse import Error  # imported only here, as most runs do not need it

        if not isinstance(e, Error):
            raise
        complain(str(e))
        return 1


def _forget(fd: int) -> None:
    """Redirects standard output or standard error to /dev/null after a failed write (`spartito report | head`), so that the
    interpreter's final flush does not fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, fd)
    os.close(null)


def _give_up_messages() -> None:
    """Loses messages that cannot be written. From Python 3.14 on they would make the exit status 120."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        _forget(2)
