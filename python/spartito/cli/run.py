# SPDX-License-Identifier: BSD-3-Clause
"""spartito run: measures a program. The imports of this module run before every measured program, so they must be fast."""

from __future__ import annotations

import os

from spartito.base.messages import Refused, complain, reason
from spartito.experiments import rundir
from spartito.experiments.rundir import Directory, Found
from spartito.options.settings import Value, resolve, strange_variables, uncounted
from spartito.options.table import Usage
from spartito.run import costagain, launch, preload
from spartito.run.ending import finish
from spartito.run.implied import with_memory, with_trace, without_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = 2


def _environment(path: str, values: list[Value], calls: bool, sampler: dict[str, str]) -> dict[str, str]:
    """The environment of the measured program. calls: functions are recorded. sampler: variables for --sample, otherwise empty."""
    environment = dict(os.environ)
    environment["SPARTITO_EXPERIMENT"] = path
    for name in ("SPARTITO_SAMPLER", "SPARTITO_SAMPLING"):
        environment.pop(name, None)
    environment.update(sampler)
    if not calls:
        environment["SPARTITO_INSTRUMENT"] = "0"
    for value in values:
        setting = value.setting
        if setting.recorded and (value.origin != "default" or setting.variable in environment):
            environment[setting.variable] = value.text
    if sampler and not calls:
        environment.pop(next(v.setting.variable for v in values if v.setting.name == "metrics"), None)  # the sampler counts metrics
    preload.add_needed(environment, path, {v.setting.name: v.named for v in values if v.text != "0"})
    by_name = {value.setting.name: value for value in values}
    environment.update(("SPARTITO_" + name.upper(), text) for name, text in with_memory(by_name).items())
    return environment


def _check_conflicts(values: dict[str, Value]) -> None:
    """Usage: an option has no effect because of another one. Notebooks do not check this: a cell may override settings of the
    session."""
    rate = values["sample_rate"]
    if rate.origin == "command line" and values["sample"].text != "1":
        raise Usage(f"{rate.named} is for samples, and there are none: give --sample as well")
    every, some = values["memory_profile"], values["memory_sample"]
    if every.text == "1" and some.text != "0" and every.origin == some.origin:
        raise Usage(f"{every.named} records every block, {some.named} samples them: give one of the two")


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
        by_name = {value.setting.name: value for value in values}
        without_effect(by_name)
        _check_conflicts(by_name)
    except Usage:
        if rundir.is_silent(world):
            return USAGE
        raise
    reported = uncounted(texts["metrics"]) if texts["metrics"] else []
    for line in [*strange_variables(), *reported]:
        if not world or world.reports:
            complain(line)
    try:
        directory = rundir.create(texts["output"], command, world=world, wanted=deferred_work(texts))
    except Refused as e:
        if rundir.is_silent(world):
            return e.status
        raise
    calls, sampling = texts["lines_only"] != "1" and texts["calls"] == "1", None
    if texts["sample"] == "1":
        from spartito.sample.sampling import begin, records_calls

        calls = calls and records_calls(by_name)
        sampling = begin(directory.path, by_name, calls, bool(world and not world.reports))
    try:
        environment = _environment(directory.path, values, calls, sampling.environment() if sampling else {})
        status = launch.run(command, environment, lambda: _prepare(texts, directory))
        if sampling:
            sampling.finish()
    except Refused as e:
        _refused(directory, e.status << 8)
        if rundir.is_silent(world):
            return e.status
        raise
    return launch.finish(status, directory.path, lambda: _afterwards(directory, status, texts, reported))


def _refused(directory: Directory, status: int) -> None:
    """Removes the directory if the program could not be started; of several ranks the last one does it."""
    try:
        if directory.last(status) and not Found(directory.path).files:
            directory.remove()
    except OSError:
        pass


def deferred_work(texts: dict[str, str]) -> str:
    """The work that `spartito finalize` will do, as JSON (Directory.wanted); "": the run does all work itself."""
    if texts["finalize"] == "1":
        return ""
    formats, lines = (
        ", ".join(rundir.quoted(word) for word in words if word) for words in (texts["to"].split(","), texts["lines"].split("\n"))
    )
    return f'{{"compress": {"true" if texts["compress"] == "1" else "false"}, "to": [{formats}], "lines": [{lines}]}}'


def _prepare(texts: dict[str, str], directory: Directory) -> Callable[[], bool] | None:
    """Imports the modules for the end of the run while the program starts, so that the command takes less time in total. Ranks skip
    it, as only one of them needs the modules. Returns what launch.run() calls each second."""
    if directory.crew:
        return None
    try:
        if texts["finalize"] != "1":
            import spartito._analyse
        elif texts["quiet"] != "1":
            import spartito.report.summary
        if texts["quiet"] != "1" or texts["to"] or texts["compress"] == "1":
            import spartito._analyse  # noqa: F401
        if texts["trace"] == "1":
            from spartito.run import tracewatch

            return tracewatch.wanted(texts, directory.path)
    except Exception:
        pass  # the end of the run reports the same error
    return None


def _afterwards(directory: Directory, status: int, texts: dict[str, str], reported: list[str]) -> None:
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
            from spartito.run.unmeasured import why

            complain("no Python code was measured: " + why(directory.command, found))
        directory.remove()
        return
    try:
        directory.describe(directory.crew.status() if directory.crew else status)
    except OSError as e:
        complain(f"the end of the run is not recorded in experiment.json: {reason(e)}")
    found.seal()
    costagain.measure(directory.path, texts)
    finish(directory, found, texts, reported)


