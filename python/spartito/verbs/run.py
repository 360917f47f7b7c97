# SPDX-License-Identifier: BSD-3-Clause
"""spartito run: measure a program. What is imported above runs before every measured program: keep it light."""

from __future__ import annotations

import os
import time

from spartito import launch, rundir
from spartito.options import Usage
from spartito.rundir import Directory, Found
from spartito.say import Refused, complain, reason
from spartito.settings import Value, resolve, strange_variables, uncounted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.world import World

HELPERS = 0.3  # seconds
SPEAKING = 0.5  # seconds
USAGE = 2


def _environment(path: str, values: list[Value]) -> dict[str, str]:
    environment = dict(os.environ)
    environment["SPARTITO_EXPERIMENT"] = path
    for value in values:
        setting = value.setting
        if setting.recorded and (value.origin != "default" or setting.variable in environment):
            environment[setting.variable] = value.text
        if setting.name == "lines_only" and value.text == "1":
            environment["SPARTITO_INSTRUMENT"] = "0"
        if setting.name == "io" and value.text == "1":
            from spartito import preload

            preload.add(environment, path)
    return environment


def with_trace(texts: dict[str, str], values: list[Value]) -> None:
    """--to FORMAT of a format that needs the trace turns it on, unless someone turned it off."""
    from spartito.conversion import find

    needing = [name for name in texts["to"].split(",") if find(name).needs_trace]
    for value in values:
        if value.setting.name == "trace" and needing and value.text != "1":
            if value.origin != "default":
                origin = "--no-trace" if value.origin == "command line" else value.origin
                raise Usage(f"--to {needing[0]} needs the trace, but {origin} turns it off")
            value.text, value.origin = "1", "--to " + needing[0]


def without_effect(values: dict[str, Value]) -> None:
    """Usage: something that was asked for would be seen nowhere."""
    annotate = values["annotate"]
    if annotate.text == "1" and values["trace"].text != "1":
        raise Usage(f"{annotate.named} is for traces, and there is none: give --trace as well")


def main(given: dict[str, object], command: list[str]) -> int:
    if not command:
        raise Usage("no command given: spartito run [options] -- command line…")
    command = launch.real_command(command)
    world = rundir.world_of(command)
    try:
        values = resolve(given)
        texts = {value.setting.name: value.text for value in values}
        if texts["to"]:
            with_trace(texts, values)
        without_effect({value.setting.name: value for value in values})
    except Usage:
        if _is_silent(world):
            return USAGE
        raise
    said = uncounted(texts["metrics"]) if texts["metrics"] else []
    for line in [*strange_variables(), *said]:
        if not world or world.speaks:
            complain(line)
    try:
        directory = rundir.create(texts["output"], command, world=world)
    except Refused as e:
        if _is_silent(world):
            return e.status
        raise
    try:
        status = launch.run(command, _environment(directory.path, values), lambda: _prepare(texts, directory))
    except Refused as e:
        _refused(directory, e.status << 8)
        if _is_silent(world):
            return e.status
        raise
    return launch.finish(status, directory.path, lambda: _afterwards(directory, status, texts, said))


def _is_silent(world: World | None) -> bool:
    """Whether another rank says what is wrong; it gets the time to: mpiexec ends all when the first one has failed."""
    silent = bool(world and not world.speaks)
    if silent:
        time.sleep(SPEAKING)
    return silent


def _refused(directory: Directory, status: int) -> None:
    try:
        if directory.last(status) and not Found(directory.path).files:
            directory.remove()
    except OSError:
        pass


def _prepare(texts: dict[str, str], directory: Directory) -> None:
    """Loads what the end will need while the program starts: what counts is the time from Enter to prompt. Only one of
    many ranks will need it."""
    if directory.crew:
        return
    try:
        if texts["quiet"] != "1":
            import spartito.summary
        if texts["quiet"] != "1" or texts["to"] or texts["compress"] == "1":
            import spartito._analyse  # noqa: F401
    except Exception:
        pass  # the end will meet the same error and say it


def _afterwards(directory: Directory, status: int, texts: dict[str, str], said: list[str]) -> None:
    try:
        if not directory.last(status):
            return
    except OSError as e:
        complain(f"the end of this rank is not recorded: {reason(e)}")
        return
    found = Found(directory.path)
    if found.gone:
        complain(f"lost: the experiment directory {directory.path} was removed while the program ran")
        return
    if directory.no_script(status, found.files):
        directory.remove()
        return
    if not found.regions:
        if not found.files or found.errors or status == 0:
            from spartito.unmeasured import why

            complain("no Python code was measured: " + why(directory.command, found))
        directory.remove()
        return
    try:
        directory.describe(directory.crew.status() if directory.crew else status)
    except OSError as e:
        complain(f"the end of the run is not recorded in experiment.json: {reason(e)}")
    silent = texts["quiet"] == "1" and not texts["to"] and not _may_finalize(texts, directory)
    if texts["compress"] == "1" or not silent:
        wait_for_helpers(found.open)
    if texts["compress"] == "1":
        _compress(directory)
    if texts["quiet"] == "1":  # else the summary says so
        for text in found.errors:
            complain("a process was not recorded: " + text)
    if silent and not texts["lines"] and texts["lines_only"] != "1":
        return
    from spartito._analyse import Model

    model = Model(directory.path)
    if texts["lines"]:
        from spartito import linepatterns

        for line in linepatterns.unmatched(model, texts["lines"].split("\n"), directory.command):
            complain(line)
    elif texts["lines_only"] == "1" and not model.lines():
        complain("--lines-only: no call was recorded, and no line: name functions by --lines, or mark them with @spartito.lines")
    if texts["quiet"] != "1":
        from spartito import summary

        summary.write(model, directory.path, rundir.label(directory.command), said)
    for name in filter(None, texts["to"].split(",")):
        _convert(model, directory, name, texts["quiet"] == "1")
    if _may_finalize(texts, directory):
        from spartito import finalize

        if finalize.is_large(model):
            finalize.make_apart(model, directory.path, texts["quiet"] == "1")


def _may_finalize(texts: dict[str, str], directory: Directory) -> bool:
    if texts["finalize"] != "1" or texts["trace"] != "1":
        return False
    from spartito import finalize

    return finalize.may_be_large(directory.path)


def wait_for_helpers(files: list[tuple[int, str]]) -> None:
    """The resource trackers of multiprocessing and joblib end when their pipe to the program does, a moment after it."""
    until = time.monotonic() + HELPERS
    while any(_has_open(pid, name) for pid, name in files) and time.monotonic() < until:
        time.sleep(0.01)


def _has_open(pid: int, name: str) -> bool:
    """Whether the process writes that raw file; a killed one's number may be another's by now."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
            return any(line.endswith(f"/{name}\n") for line in f)
    except OSError:
        return False


def _compress(directory: Directory) -> None:
    from spartito._analyse import Error
    from spartito.conversion import compress

    try:
        compress(directory.path)
    except (Error, OSError) as e:
        complain(f"--compress: {e}")


def _convert(model: object, directory: Directory, name: str, quiet: bool) -> None:
    from spartito._analyse import Error, Model
    from spartito.conversion import convert, default_path, find
    from spartito.say import say

    assert isinstance(model, Model)
    f = find(name)
    path = default_path(directory.path, f)
    try:
        convert(model, bool(model.info()["traced"]), f, path)
    except (Error, Refused, OSError) as e:
        complain(f"--to {name}: {e}")
        return
    if not quiet:
        say(f"wrote {path} (open with {f.opens})" if f.opens else f"wrote {path}")
