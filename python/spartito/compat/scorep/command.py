# SPDX-License-Identifier: BSD-3-Clause
"""`python -m scorep`: runs the script as `spartito run` does, with Score-P's options, variables and experiment directory. The
imports of this module delay the start of every measured program, so keep them few."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import say
from spartito.compat import frontend
from spartito.compat.scorep import directory as place
from spartito.compat.scorep.options import HELP, Asked, parse
from spartito.compat.scorep.variables import Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.experiments.rundir import Directory
    from spartito.experiments.world import World

INSTRUMENTER_FILE = "SPARTITO_INSTRUMENTER_FILE"
PROGRAM = "SPARTITO_SCOREP_PROGRAM"


def _directory_of(command: list[str]) -> str:
    """The directory that the interpreter will insert at the front of sys.path."""
    name = command[0]
    if name.startswith("-"):
        return os.getcwd()
    return os.path.realpath(name) if os.path.isdir(name) else os.path.dirname(os.path.realpath(name))


class Job(frontend.Job):
    """A run with the settings of the command line and of Score-P's variables."""

    tool = "scorep"

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.variables = Variables(os.environ)
        self.command = [sys.executable or "python3", *frontend.flags(), *asked.command]
        self.settings = self.variables.settings(asked.instrument, asked.io, asked.mpi)
        self.measured = self.variables.on("SCOREP_ENABLE_PROFILING") or self.variables.on("SCOREP_ENABLE_TRACING")

    def create(self, world: World | None) -> Directory:
        return place.create(self.variables, self.command, world=world)

    def forget(self, directory: Directory) -> None:
        place.forget(directory)

    def environment(self, path: str) -> dict[str, str]:
        environment = frontend.environment_of(self.settings, path)
        environment.pop(INSTRUMENTER_FILE, None)
        # with this process's id: only its direct child applies it, not that one's children
        environment[PROGRAM] = f"{os.getpid()}:{_directory_of(self.asked.command)}"
        if self.asked.file:
            environment[INSTRUMENTER_FILE] = f"{os.getpid()}:{self.asked.file}"
        if path and self.settings["io"] == "1":
            from spartito.run import preload

            preload.add(environment, path)
        return environment

    def announce(self, path: str, environment: dict[str, str]) -> None:
        if self.asked.keep:
            self.complain("--keep-files: there are no temporary files")
        for line in self.variables.notes:
            self.complain(line)
        if self.asked.verbose or self.variables.on("SCOREP_VERBOSE"):
            self._verbose(path, environment.get("LD_PRELOAD", ""))

    def _verbose(self, path: str, preloaded: str) -> None:
        self.complain(f"the experiment directory is {path}")
        for line in self.variables.configuration(path).splitlines():
            self.complain(line)
        self.complain(f"LD_PRELOAD is {preloaded}" if preloaded else "nothing is preloaded")
        for line in self.asked.notes:
            self.complain(line)

    def prepare(self) -> None:
        import spartito.compat.scorep.results  # noqa: F401

    def results(self, path: str) -> None:
        from spartito.compat.scorep import results

        for line in results.write(path):
            self.complain(line)


def _job(words: list[str]) -> Job | int:
    asked = parse(words)
    if asked.help:
        frontend.show_help(HELP)
        return 0
    if not asked.command:
        say("scorep: Did not find a script to run")
        return 1
    return Job(asked)


def main(words: list[str]) -> int:
    """Returns the exit status: of the program, or 1 if it was not started."""
    return frontend.run(Job.tool, lambda: _job(words))
