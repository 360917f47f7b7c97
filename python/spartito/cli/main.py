# SPDX-License-Identifier: BSD-3-Clause
"""The command line: finds the verb, parses its options and runs its module."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import Refused, complain, printable
from spartito.options.table import VERBS, Usage, find_verb, help_text, near, overview, parse

INTERRUPTED = 130


def _show(text: str) -> int:
    out = sys.stdout
    if out is not None:
        out.write(printable(text, out.encoding) + "\n")
        out.flush()
    return 0


def _run(verb_name: str, words: list[str], leave_at_once: bool = False) -> int:
    verb = find_verb(verb_name)
    if verb is None:
        names = [v.name for v in VERBS]
        raise Usage(f"unknown verb {verb_name!r}{near(verb_name, names)} (verbs: {', '.join(names)})")
    values, operands = parse(verb, words)
    if "help" in values:
        return _show(help_text(verb))
    # import_module and not __import__: nothing to gain, the machinery is loaded; a dictionary of functions would
    # import every verb
    module = __import__("spartito.cli." + verb.name.replace("+", "x"), fromlist=["main"])
    status = module.main(values, operands)
    assert isinstance(status, int)
    if verb.name == "run" and leave_at_once:
        from spartito.run import launch  # which the verb has loaded

        launch.leave(status)
    return status


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    verb = words[0] if words and not words[0].startswith("-") else ""
    try:
        if not words:
            complain("no verb given; `spartito --help` lists them")
            return 2
        if words[0] in ("-h", "--help", "help"):
            return _show(overview()) if len(words) < 2 else _run(words[1], ["--help"])
        if words[0] == "--version":
            from spartito._version import __version__

            return _show("spartito " + __version__)
        if not verb:
            raise Usage(f"unknown option {words[0]}{near(words[0], ['--help', '--version'])}; a verb comes first")
        return _run(verb, words[1:], argv is None)
    except Usage as e:
        complain(str(e), verb if find_verb(verb) else "")
        return 2
    except Refused as e:
        complain(str(e))
        return e.status
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return 1
    except OSError as e:
        complain(f"{e.filename}: {e.strerror}" if e.filename else str(e))
        return 1
    except Exception as e:
        # the analysis door's own error; imported only now, as most runs never load it
        from spartito._analyse import Error

        if not isinstance(e, Error):
            raise
        complain(str(e))
        return 1


def _forget_output() -> None:
    """`spartito report | head`: the flush at the interpreter's end must not complain again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
