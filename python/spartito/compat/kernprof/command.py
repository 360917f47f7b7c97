# SPDX-License-Identifier: BSD-3-Clause
"""`spartito-kernprof`: runs the program as `spartito run` does, and writes kernprof's output files at the end."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import Refused, reason, say
from spartito.compat.frontend import flags
from spartito.compat.kernprof.inside import SETUP, VARIABLE
from spartito.compat.kernprof.options import HELP, Asked, Wrong, configure, parse
from spartito.compat.kernprof.results import inspect_with, print_line, short, show, write
from spartito.experiments import rundir
from spartito.run import launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito._analyse import Model
    from spartito.experiments.world import World

MAIN = "re:^__main__:[^<]+$"  # all functions of a program from -c or standard input


def complain(text: str) -> None:
    say("kernprof: " + text)


class Job:
    """One run of kernprof."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.lines = bool(asked["line_by_line"])
        self.builtin = self.lines or bool(asked["builtin"])
        self.loudness = int(asked["verbose"]) - int(asked["quiet"] or 0)
        self.made = ""  # path of an output file that was created to reserve its name
        # (file, first line, name) of functions that results list even if they did not run
        self.meant: list[tuple[str, int, str]] = []
        self.script, words = self._program()
        self.command = [sys.executable or "python3", *flags(), *words, *asked.arguments]
        self.setup = self._setup()
        self.outfile = self._outfile()
        self.environment = self._environment()

    def _program(self) -> tuple[str, list[str]]:
        """The file that becomes __main__ ("": none), and the interpreter's arguments."""
        from spartito.compat.kernprof import targets

        asked = self.asked
        if asked.kind == "module":
            script = targets.of_module(asked.what, targets.search_path(os.getcwd()))
            first = asked.what.partition(".")[0]
            if not script and not targets.of_module(first, targets.search_path(os.getcwd())) and "." not in asked.what:
                raise Refused(f"Could not find module `{asked.what}`")
            return script, ["-m", asked.what]
        if asked.kind == "code":
            from textwrap import dedent

            return "", ["-c", dedent(asked.what)]
        if asked.kind == "stdin":
            return "", ["-"]
        script = targets.on_path(asked.what)
        if not script:
            raise Refused(f"Could not find script {asked.what!r}")
        return script, [script]

    def _setup(self) -> str:
        from spartito.compat.kernprof import targets

        if not self.asked["setup"]:
            return ""
        found = targets.on_path(self.asked["setup"])
        if not found:
            raise Refused(f"Could not find script {self.asked['setup']!r}")
        return os.path.abspath(found)

    def _outfile(self) -> str:
        ending = ".lprof" if self.lines else ".prof"
        if self.asked["outfile"]:
            return os.path.abspath(str(self.asked["outfile"]))
        kind = {"code": "command", "stdin": "stdin"}.get(self.asked.kind)
        if kind is None:
            return os.path.abspath(os.path.basename(str(self.asked.what)) + ending)
        import tempfile

        try:
            handle, self.made = tempfile.mkstemp(ending, f"kernprof-{kind}-", os.getcwd())
        except OSError as e:
            raise Refused(f"no file can be made in {os.getcwd()}: {reason(e)}; name one with -o") from None
        os.close(handle)
        return self.made

    def _patterns(self) -> list[str]:
        from spartito.compat.kernprof import targets

        asked = self.asked
        first = os.path.dirname(os.path.abspath(self.script)) if asked.kind == "file" else os.getcwd()
        found = targets.choose(
            self.script, asked["prof_mod"], bool(asked["prof_imports"]), bool(asked["preimports"]), targets.search_path(first)
        )
        for name in dict.fromkeys(found.unknown):
            hint = found.hints.get(name, "")
            complain(f"-p {name}: no module, class, function or Python file of that name{hint}; it is not recorded")
        self.meant += found.meant
        if self.script and not targets.own_profile(self.script):
            lines = targets.first_lines(self.script) or {}
            self.meant += [(os.path.abspath(self.script), lines[name], name) for name in targets.decorated(self.script)]
        return found.patterns + ([MAIN] if asked.kind in ("code", "stdin") else [])

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        for name in ("SPARTITO_TRACE", "SPARTITO_LINES", "SPARTITO_INSTRUMENT", VARIABLE, SETUP):
            environment.pop(name, None)
        environment["SPARTITO_SOURCE"] = "0"  # the experiment is temporary, so it needs no copy of the source files
        if self.lines:
            environment["SPARTITO_LINES"] = "\n".join(self._patterns())
        elif "SPARTITO_C_CALLS" not in environment:
            environment["SPARTITO_C_CALLS"] = "1"
        if self.builtin:
            environment[VARIABLE] = "lines" if self.lines else "calls"
            environment["SPARTITO_INSTRUMENT"] = "0"
        if self.setup:
            # with this process's id: only its direct child runs the setup, not that one's children
            environment[SETUP] = f"{os.getpid()}:{self.setup}"
        return environment

    def warn(self) -> None:
        from spartito.compat.kernprof import targets
        from spartito.options.settings import strange_variables

        for text in strange_variables():
            complain(text)
        if not self.lines and self.asked["prof_mod"]:
            complain("-p needs -l: without it, every call is recorded, or with -b those that `profile` selects")
        line = targets.own_profile(self.script) if self.builtin and self.script else 0
        if line:
            named = self.lines and self.asked["prof_mod"]
            complain(
                f"{self.asked.what} has a `profile` of its own (line {line}): what that decorates is "
                + ("recorded only if -p names it" if named else "not recorded; rename it, or name the functions with -l -p")
            )

    def debug(self, text: str) -> None:
        if self.loudness > 1:
            complain(text)


class _Writing:
    """-i: a thread that writes the results so far at regular intervals while the program runs."""

    def __init__(self, job: Job, directory: rundir.Directory) -> None:
        import threading

        self.job = job
        self.directory = directory
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)

    def begin(self) -> None:
        self.thread.start()

    def _work(self) -> None:
        from spartito._analyse import Model

        while not self.over.wait(self.job.asked["output_interval"]):
            try:
                write(Model(self.directory.path), self.directory, self.job.lines, self.job.outfile, self.job.meant)
            except Exception:
                pass  # no complete data yet; _afterwards() reports persistent errors

    def end(self) -> None:
        self.over.set()
        self.thread.join()


def _directory(job: Job, world: World | None) -> rundir.Directory:
    """Creates a hidden experiment directory beside the output file. It is kept if the output cannot be written."""
    import tempfile
    import time

    above = os.path.dirname(job.outfile)
    if world:
        return rundir.meet(
            above, world, lambda: f".kernprof-{time.monotonic_ns()}", lambda path: rundir.Directory(path, job.command)
        )
    try:
        path = tempfile.mkdtemp(prefix=".kernprof-", dir=above)
    except OSError as e:
        raise Refused(f"{job.outfile} cannot be written: {reason(e)}") from None
    directory = rundir.Directory(path, job.command)
    directory.made.append(path)
    directory.create()
    return directory


def _model(directory: rundir.Directory) -> Model | None:
    """Opens the experiment. None: no process was recorded."""
    found = rundir.Found(directory.path)
    for text in found.errors:
        complain("a process was not recorded: " + text)
    if not found.files:
        return None
    from spartito._analyse import Model
    from spartito.run.ending import wait_for_helpers

    wait_for_helpers(found.open)
    found.seal()
    return Model(directory.path)


def _afterwards(job: Job, directory: rundir.Directory) -> None:
    """Writes and prints the results. Refused, OSError, _analyse.Error: the output cannot be written."""
    model = _model(directory)
    paths = write(model, directory, job.lines, job.outfile, job.meant)
    job.made = ""
    if job.lines and not (model and model.lines()):
        complain("no lines were recorded: no function that ran was decorated with @profile or named by -p")
    if not job.lines and not (model and model.flat(sort="excl", limit=1)):
        why = ": with -b it is what @profile decorates, and what runs after profile.enable()" if job.builtin else ""
        complain("no calls were recorded" + why)
    if model:
        from spartito.experiments import losses

        for line in losses.sentences(model.info()):
            complain(line)
    try:
        _print(job, model, paths)
    except BrokenPipeError:  # `kernprof -lv script.py | head`; the output file has been written
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _print(job: Job, model: Model | None, paths: list[str]) -> None:
    if job.loudness >= 0:
        for path in paths:
            print_line(f"Wrote profile results to {short(path)!r}")
    if job.loudness > 0:
        show(model, job.asked, job.lines, job.outfile, job.meant)
    elif job.loudness == 0:
        print_line(f"Inspect results with:\n{inspect_with(short(job.outfile), job.lines)}")
    if sys.stdout is not None:
        sys.stdout.flush()


def _end(job: Job, directory: rundir.Directory, status: int) -> None:
    from shutil import rmtree

    from spartito._analyse import Error

    try:
        if not directory.last(status):
            return
        try:
            directory.describe(directory.crew.status() if directory.crew else status)
        except OSError:
            pass  # the description is only needed if the experiment is kept
        _afterwards(job, directory)
    except (Error, Refused, OSError) as e:
        text = reason(e) if isinstance(e, OSError) else str(e)
        complain(f"the results cannot be written: {text}; what was recorded is in {directory.path}")
        return
    rmtree(directory.path, ignore_errors=True)


def _hide(loudness: int) -> None:
    """-qq and -qqq: discards standard output, and standard error, of the program, too."""
    for number in (1, 2)[: max(-loudness - 1, 0)]:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)


def _start(job: Job) -> int:
    world = rundir.world_of(job.command)
    speaks = not world or world.reports
    if speaks:
        job.warn()
    try:
        directory = _directory(job, world)
    except Refused as e:
        if rundir.is_silent(world):
            return e.status
        raise
    writing = _Writing(job, directory) if job.asked["output_interval"] and speaks else None
    environment = {**job.environment, "SPARTITO_EXPERIMENT": directory.path}
    job.debug(f"runs {job.command}, recorded in {directory.path}")
    for name in ("SPARTITO_LINES", "SPARTITO_INSTRUMENT", "SPARTITO_C_CALLS"):
        job.debug(f"{name} is {environment.get(name, '')!r}")
    _hide(job.loudness)
    try:
        status = launch.run(job.command, environment, writing.begin if writing else None)
    except Refused as e:
        if directory.last(e.status << 8):
            directory.remove()
        raise
    if writing:
        writing.end()
    return launch.finish(status, directory.path, lambda: _end(job, directory, status))


def _run(words: list[str]) -> int:
    asked = parse(words)
    if asked["help"]:
        print_line(HELP)
        return 0
    if asked["version"]:
        from spartito._version import __version__

        print_line(f"kernprof of spartito {__version__}")
        return 0
    if not asked.kind:
        raise Wrong("no program given: a script, -m module or -c code")
    configure(asked)
    job = Job(asked)
    try:
        return _start(job)
    finally:
        if job.made:  # the reserved file is still empty
            os.unlink(job.made)


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: of the program; 1: it was not started; 2: the command line is invalid."""
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
    except Refused as e:
        complain(str(e))
        return e.status
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    if argv is None:
        launch.leave(status)
    return status
