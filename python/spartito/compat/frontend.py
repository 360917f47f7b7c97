# SPDX-License-Identifier: BSD-3-Clause
"""Code shared by the launchers that replace those of other tools: the interpreter's flags, and a run that writes the tool's
results. The imports of this module delay the start of every measured program, so keep them few."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import Refused, printable, reason, say
from spartito.experiments import rundir
from spartito.run import launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito.experiments.world import World


def _words() -> list[str]:
    """The command line of this interpreter."""
    if sys.version_info >= (3, 10):
        return list(sys.orig_argv)
    try:
        with open("/proc/self/cmdline", "rb") as f:
            return [os.fsdecode(word) for word in f.read().split(b"\0")[:-1]]
    except OSError:
        return []


def flags() -> list[str]:
    """The interpreter's flags before `-m TOOL`, as the user typed them."""
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
    # not started with `-m`: ask the interpreter, which does not know all of its flags
    import subprocess

    known: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return known


def environment_of(settings: dict[str, str], path: str) -> dict[str, str]:
    """The environment of a program that is measured with these settings. path: of the experiment; "": record nothing, even if this
    process is being measured."""
    environment = dict(os.environ)
    for name in settings:
        environment["SPARTITO_" + name.upper()] = settings[name]
    environment["SPARTITO_EXPERIMENT"] = path
    return environment


class Job:
    """One run by a replaced launcher. Each tool has a subclass."""

    tool: str  # name of the tool, the prefix of messages
    command: list[str]
    measured: bool  # whether anything is recorded

    def complain(self, text: str) -> None:
        say(f"{self.tool}: {text}")

    def create(self, world: World | None) -> rundir.Directory:
        """Creates the experiment directory. Refused: it cannot be created."""
        raise NotImplementedError

    def forget(self, directory: rundir.Directory) -> None:
        """Removes the directory after a run that recorded nothing."""
        raise NotImplementedError

    def environment(self, path: str) -> dict[str, str]:
        raise NotImplementedError

    def announce(self, path: str, environment: dict[str, str]) -> None:
        """Prints messages before the program starts."""

    def is_kept(self) -> bool:
        """Whether to keep the directory of a run that measured nothing."""
        return True

    def prepare(self) -> None:
        """Imports the modules that results() needs, while the program starts."""

    def results(self, path: str) -> None:
        """Writes the tool's results from the experiment, and prints their paths."""
        raise NotImplementedError

    def start(self) -> int:
        """Runs the program and returns its exit status. Refused: it was not started."""
        world = rundir.world_of(self.command)
        try:
            directory = self.create(world)
        except Refused as e:
            if rundir.is_silent(world):
                return e.status
            raise
        try:
            environment = self.environment(directory.path if self.measured else "")
            if not world or world.reports:
                self.announce(directory.path, environment)
            status = launch.run(self.command, environment, None if world or not self.measured else self._prepare)
        except Refused as e:
            try:
                if directory.last(e.status << 8):
                    self.forget(directory)
            except OSError:
                pass
            if rundir.is_silent(world):
                return e.status
            raise
        return launch.finish(status, directory.path, lambda: self._afterwards(directory, status))

    def _prepare(self) -> None:
        try:
            import spartito._analyse
            import spartito.experiments.losses  # noqa: F401

            self.prepare()
        except Exception:
            pass  # results() will fail with the same error and report it

    def _afterwards(self, directory: rundir.Directory, status: int) -> None:
        try:
            if not directory.last(status):
                return
        except OSError as e:
            self.complain(f"the end of this rank is not recorded: {reason(e)}")
            return
        crew = directory.crew
        found = rundir.Found(directory.path)
        if found.gone:
            self.complain(f"lost: the experiment directory {directory.path} was removed while the program ran")
            return
        if directory.no_script(status, found.files) or not (self.measured or self.is_kept()):
            self.forget(directory)
            return
        try:
            directory.describe(crew.status() if crew else status)
        except OSError as e:
            self.complain(f"the end of the run is not recorded in experiment.json: {reason(e)}")
        if self.measured and not found.files and not found.errors:
            from spartito.run.unmeasured import why

            self.complain("no Python code was measured: " + why(directory.command, found))
        found.seal()
        self.results(directory.path)


def show_help(text: str) -> None:
    out = sys.stdout
    if out is not None:
        out.write(printable(text, out.encoding) + "\n")
        out.flush()


def run(tool: str, job: Callable[[], Job | int]) -> int:
    """Runs a launcher. job: parses the command line and returns the run, or an exit status if there is nothing to run. After a run,
    exits with the program's exit status; otherwise returns the exit status."""
    try:
        made = job()
        if isinstance(made, int):
            return made
        status = made.start()
    except Refused as e:
        say(f"{tool}: {e}")
        return e.status
    except KeyboardInterrupt:
        say(f"{tool}: interrupted")
        return 130
    launch.leave(status)
