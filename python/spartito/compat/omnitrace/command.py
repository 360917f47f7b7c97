# SPDX-License-Identifier: BSD-3-Clause
"""`omnitrace-python` and `python -m omnitrace`: starts the interpreter on the script as `spartito run` does, with Omnitrace's
options, variables and directory. What is imported above runs before every measured program: keep it light."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import Refused, printable, reason, say
from spartito.compat.omnitrace import directory as place
from spartito.compat.omnitrace.options import HELP, Asked, parse
from spartito.compat.omnitrace.variables import Variables
from spartito.experiment import rundir
from spartito.options.settings import strange_variables
from spartito.run import launch

CONFIG = "SPARTITO_OMNITRACE_CONFIG"


def complain(text: str) -> None:
    say("omnitrace: " + text)


def _environment(path: str, settings: dict[str, str], handed: str) -> dict[str, str]:
    environment = dict(os.environ)
    for name in settings:
        environment["SPARTITO_" + name.upper()] = settings[name]
    environment["SPARTITO_EXPERIMENT"] = path
    environment[CONFIG] = handed
    return environment


def _handed_over(asked: Asked) -> str:
    """What inside.py reads. The setup is for the process that this one starts: its own children have another parent."""
    lines = [asked.config.text()]
    if asked.builtin:
        lines.append(f"builtin={os.getpid()}")
    if asked.setup:
        lines.append(f"setup={os.getpid()}:{asked.setup}")
    return "\n".join(lines)


def _notes(asked: Asked, variables: Variables) -> list[str]:
    """What was asked for and cannot be had."""
    notes = [*variables.notes, *strange_variables()]
    if asked.config.annotate_trace and not variables.traced:
        notes.append("-a has no effect: OMNITRACE_TRACE is off")
    if asked.config.full_filepath and not asked.config.include_filename:
        notes.append("-F has no effect without --label file")
    if asked.builtin and not variables.measured:
        notes.append("-b: nothing is recorded, as OMNITRACE_ENABLED, OMNITRACE_PROFILE and OMNITRACE_TRACE say")
    return notes


def _verbose(variables: Variables, path: str, asked: Asked) -> None:
    complain(f"the experiment is {path}")
    for line in variables.configuration().splitlines():
        complain(line)
    for line in asked.config.text().splitlines():
        complain("config." + line)


def _start(asked: Asked, flags: list[str]) -> int:
    variables = Variables(os.environ, asked.file)
    if asked.verbosity is None:
        asked.verbosity = int(variables.values["VERBOSE"])
    asked.config.verbosity = asked.verbosity
    command = [sys.executable or "python3", *flags, *asked.command]
    settings = variables.settings(asked.config, not asked.builtin and not asked.setup)
    world = rundir.world_of(command)
    try:
        directory = place.create(variables, command, world=world)
    except Refused as e:
        if rundir.is_silent(world):
            return e.status
        raise
    speaks = not world or world.speaks
    for line in _notes(asked, variables) if speaks else ():
        complain(line)
    try:
        # an empty name: nothing is recorded, whatever runs around this run
        environment = _environment(directory.path if variables.measured else "", settings, _handed_over(asked))
        if speaks and asked.verbosity > 0:
            _verbose(variables, directory.path, asked)
        status = launch.run(command, environment, None if world or not variables.measured else _prepare)
    except Refused as e:
        try:
            if directory.last(e.status << 8):
                place.forget(directory)
        except OSError:
            pass
        if rundir.is_silent(world):
            return e.status
        raise
    return launch.finish(status, directory.path, lambda: _afterwards(directory, status, variables.measured, asked))


def _prepare() -> None:
    """Loads what the end will need while the program starts."""
    try:
        pass
    except Exception:
        pass  # the end will meet the same error and say it


def _afterwards(directory: rundir.Directory, status: int, measured: bool, asked: Asked) -> None:
    try:
        if not directory.last(status):
            return
    except OSError as e:
        complain(f"the end of this rank is not recorded: {reason(e)}")
        return
    crew = directory.crew
    found = rundir.Found(directory.path)
    if found.gone:
        complain(f"lost: the experiment directory {directory.path} was removed while the program ran")
        return
    if directory.no_script(status, found.files) or not measured:
        place.forget(directory)
        return
    try:
        directory.describe(crew.status() if crew else status)
    except OSError as e:
        complain(f"the end of the run is not recorded in experiment.json: {reason(e)}")
    if not found.files and not found.errors:
        from spartito.run.unmeasured import why

        complain("no Python code was measured: " + why(directory.command, found))
    found.seal()
    from spartito.compat.omnitrace import results

    results.tell(directory.path, asked.verbosity or 0, asked.builtin)


def _show_help() -> None:
    out = sys.stdout
    if out is not None:
        out.write(printable(HELP, out.encoding) + "\n")
        out.flush()


def main(words: list[str], flags: list[str]) -> int:
    """The exit status: the program's, or 1 or 2 where it was not started. flags: of the interpreter."""
    try:
        asked = parse(words)
        if asked.help:
            _show_help()
            return 0
        status = _start(asked, flags)
    except Refused as e:
        complain(str(e))
        return e.status
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    launch.leave(status)


def script() -> int:
    """The command omnitrace-python."""
    return main(sys.argv[1:], [])
