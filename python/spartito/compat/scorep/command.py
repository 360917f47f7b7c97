# SPDX-License-Identifier: BSD-3-Clause
"""`python -m scorep`: starts the interpreter on the script as `spartito run` does, with Score-P's options, variables and
directory. What is imported above runs before every measured program: keep it light."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import Refused, printable, reason, say
from spartito.compat.scorep import directory as place
from spartito.compat.scorep.options import HELP, Asked, parse
from spartito.compat.scorep.variables import Variables
from spartito.experiment import rundir
from spartito.run import launch

INSTRUMENTER_FILE = "SPARTITO_INSTRUMENTER_FILE"
PROGRAM = "SPARTITO_SCOREP_PROGRAM"


def complain(text: str) -> None:
    say("scorep: " + text)


def _words() -> list[str]:
    """The interpreter's own command line."""
    if sys.version_info >= (3, 10):
        return list(sys.orig_argv)
    try:
        with open("/proc/self/cmdline", "rb") as f:
            return [os.fsdecode(word) for word in f.read().split(b"\0")[:-1]]
    except OSError:
        return []


def flags() -> list[str]:
    """The interpreter's flags in front of `-m scorep`, as they were typed."""
    found: list[str] = []
    words = iter(_words()[1:])
    for word in words:
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            found += [word, next(words, "")]
        elif word.startswith("--"):
            found.append(word)
        elif word.startswith("-") and word != "-":
            for i, letter in enumerate(word[1:], 1):
                if letter == "m":
                    return [*found, word[:i]] if i > 1 else found
                if letter in "WX":
                    break
            found.append(word)
        else:
            break
    # started by something else than `-m`: what the interpreter still knows of its flags
    import subprocess

    known: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return known


def _directory_of(command: list[str]) -> str:
    """What the interpreter will put in front of sys.path."""
    name = command[0]
    if name.startswith("-"):
        return os.getcwd()
    return os.path.realpath(name) if os.path.isdir(name) else os.path.dirname(os.path.realpath(name))


def _environment(path: str, settings: dict[str, str], asked: Asked) -> dict[str, str]:
    environment = dict(os.environ)
    for name in settings:
        environment["SPARTITO_" + name.upper()] = settings[name]
    environment["SPARTITO_EXPERIMENT"] = path
    environment.pop(INSTRUMENTER_FILE, None)
    # only for the process that this one starts: its own children have another parent
    environment[PROGRAM] = f"{os.getpid()}:{_directory_of(asked.command)}"
    if asked.file:
        environment[INSTRUMENTER_FILE] = f"{os.getpid()}:{asked.file}"
    if path and settings["io"] == "1":
        from spartito.run import preload

        preload.add(environment, path)
    return environment


def _verbose(asked: Asked, variables: Variables, path: str, preloaded: str) -> None:
    complain(f"the experiment directory is {path}")
    for line in variables.configuration(path).splitlines():
        complain(line)
    complain(f"LD_PRELOAD is {preloaded}" if preloaded else "nothing is preloaded")
    for line in asked.notes:
        complain(line)


def _start(asked: Asked) -> int:
    variables = Variables(os.environ)
    command = [sys.executable or "python3", *flags(), *asked.command]
    settings = variables.settings(asked.instrument, asked.io, asked.mpi)
    measured = variables.on("SCOREP_ENABLE_PROFILING") or variables.on("SCOREP_ENABLE_TRACING")
    world = rundir.world_of(command)
    try:
        directory = place.create(variables, command, world=world)
    except Refused as e:
        if rundir.is_silent(world):
            return e.status
        raise
    speaks = not world or world.speaks
    if asked.keep and speaks:
        complain("--keep-files: there are no temporary files")
    try:
        # an empty name: nothing is recorded, whatever runs around this run
        environment = _environment(directory.path if measured else "", settings, asked)
        for line in variables.notes if speaks else ():
            complain(line)
        if speaks and (asked.verbose or variables.on("SCOREP_VERBOSE")):
            _verbose(asked, variables, directory.path, environment.get("LD_PRELOAD", ""))
        status = launch.run(command, environment, None if world or not measured else _prepare)
    except Refused as e:
        try:
            if directory.last(e.status << 8):
                place.forget(directory)
        except OSError:
            pass
        if rundir.is_silent(world):
            return e.status
        raise
    return launch.finish(status, directory.path, lambda: _afterwards(directory, status, measured))


def _prepare() -> None:
    """Loads what the end will need while the program starts."""
    try:
        pass
    except Exception:
        pass  # the end will meet the same error and say it


def _afterwards(directory: rundir.Directory, status: int, measured: bool) -> None:
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
    if directory.no_script(status, found.files):
        place.forget(directory)
        return
    try:
        directory.describe(crew.status() if crew else status)
    except OSError as e:
        complain(f"the end of the run is not recorded in experiment.json: {reason(e)}")
    if measured and not found.files and not found.errors:
        from spartito.run.unmeasured import why

        complain("no Python code was measured: " + why(directory.command, found))
    found.seal()
    from spartito.compat.scorep import results

    for line in results.write(directory.path):
        complain(line)


def _show_help() -> None:
    out = sys.stdout
    if out is not None:
        out.write(printable(HELP, out.encoding) + "\n")
        out.flush()


def main(words: list[str]) -> int:
    """The exit status: the program's, or 1 where it was not started."""
    try:
        asked = parse(words)
        if asked.help:
            _show_help()
            return 0
        if not asked.command:
            complain("Did not find a script to run")
            return 1
        status = _start(asked)
    except Refused as e:
        complain(str(e))
        return e.status
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    launch.leave(status)
