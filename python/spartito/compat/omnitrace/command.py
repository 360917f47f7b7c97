# SPDX-License-Identifier: BSD-3-Clause
"""`omnitrace-python` and `python -m omnitrace`: runs the script as `spartito run` does, with Omnitrace's options, variables and
output directory. The imports of this module delay the start of every measured program, so keep them few."""

from __future__ import annotations

import os
import sys

from spartito.compat import frontend
from spartito.compat.omnitrace import directory as place
from spartito.compat.omnitrace.options import HELP, Asked, parse
from spartito.compat.omnitrace.variables import Variables
from spartito.options.settings import strange_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.experiments.rundir import Directory
    from spartito.experiments.world import World

CONFIG = "SPARTITO_OMNITRACE_CONFIG"


def _handed_over(asked: Asked) -> str:
    """The value of the variable CONFIG, which inside.py reads. It has this process's id for -b and --setup: only the direct child
    applies these, not that one's children."""
    lines = [asked.config.text()]
    if asked.builtin:
        lines.append(f"builtin={os.getpid()}")
    if asked.setup:
        lines.append(f"setup={os.getpid()}:{asked.setup}")
    return "\n".join(lines)


def _notes(asked: Asked, variables: Variables) -> list[str]:
    """Messages about options and variables without effect."""
    notes = [*variables.notes, *strange_variables()]
    if asked.config.annotate_trace and not variables.traced:
        notes.append("-a has no effect: OMNITRACE_TRACE is off")
    if asked.config.full_filepath and not asked.config.include_filename:
        notes.append("-F has no effect without --label file")
    if asked.builtin and not variables.measured:
        notes.append("-b: nothing is recorded, as OMNITRACE_ENABLED, OMNITRACE_PROFILE and OMNITRACE_TRACE say")
    return notes


class Job(frontend.Job):
    """A run with the settings of the command line and of Omnitrace's variables."""

    tool = "omnitrace"

    def __init__(self, asked: Asked, flags: list[str]) -> None:
        self.asked = asked
        self.variables = Variables(os.environ, asked.file)
        if asked.verbosity is None:
            asked.verbosity = int(self.variables.values["VERBOSE"])
        asked.config.verbosity = asked.verbosity
        self.verbosity = asked.verbosity
        self.command = [sys.executable or "python3", *flags, *asked.command]
        self.measured = self.variables.measured
        self.settings = self.variables.settings(asked.config, not asked.builtin and not asked.setup)

    def create(self, world: World | None) -> Directory:
        return place.create(self.variables, self.command, world=world)

    def forget(self, directory: Directory) -> None:
        place.forget(directory)

    def is_kept(self) -> bool:
        return False

    def environment(self, path: str) -> dict[str, str]:
        return {**frontend.environment_of(self.settings, path), CONFIG: _handed_over(self.asked)}

    def announce(self, path: str, environment: dict[str, str]) -> None:
        for line in _notes(self.asked, self.variables):
            self.complain(line)
        if self.verbosity > 0:
            self.complain(f"the experiment is {path}")
            for line in self.variables.configuration().splitlines():
                self.complain(line)
            for line in self.asked.config.text().splitlines():
                self.complain("config." + line)

    def prepare(self) -> None:
        import spartito.compat.omnitrace.results  # noqa: F401

    def results(self, path: str) -> None:
        from spartito.compat.omnitrace import results

        results.write_and_report(path, self.verbosity, self.asked.builtin)


def _job(words: list[str], flags: list[str]) -> Job | int:
    asked = parse(words)
    if asked.help:
        frontend.show_help(HELP)
        return 0
    return Job(asked, flags)


def main(words: list[str], flags: list[str]) -> int:
    """Returns the exit status: of the program, or 1 or 2 if it was not started. flags: of the interpreter."""
    return frontend.run(Job.tool, lambda: _job(words, flags))


def script() -> int:
    """The command omnitrace-python."""
    return main(sys.argv[1:], [])
