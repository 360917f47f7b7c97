# SPDX-License-Identifier: BSD-3-Clause
"""spartito run: measure a program. What is imported above runs before every measured program: keep it light."""

from __future__ import annotations

import os
import time

from spartito import launch, preload, rundir
from spartito.options import Usage
from spartito.rundir import Directory, Found
from spartito.say import Refused, complain, reason, say
from spartito.settings import Value, resolve, strange_variables, uncounted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito._analyse import Model

HELPERS, THEMSELVES = 0.3, 10.0  # seconds for processes that may end soon, and for those that are sure to
THEIRS = (b"resource_tracker", b"forkserver")  # what they run, of multiprocessing and of joblib
USAGE = 2
SAMPLE = "524288"  # bytes between two samples of memory, where only --limit-rss asks for them


def _environment(path: str, values: list[Value], calls: bool, sampler: dict[str, str]) -> dict[str, str]:
    """calls: functions are recorded; sampler: variables that name the one that samples, none without."""
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
        environment.pop(next(v.setting.variable for v in values if v.setting.name == "metrics"), None)  # the sampler counts
    preload.add_needed(environment, path, {v.setting.name: v.named for v in values if v.text != "0"})
    by_name = {value.setting.name: value for value in values}
    environment.update(("SPARTITO_" + name.upper(), text) for name, text in with_memory(by_name).items())
    return environment


def with_memory(values: dict[str, Value]) -> dict[str, str]:
    """Settings that follow where memory is recorded, but not every block: how often, and that functions are not."""
    asked = any(values[name].text != "0" for name in ("memory_sample", "limit_rss"))
    if values["memory_profile"].text != "0" or not asked:
        return {}
    more = {"memory_sample": SAMPLE} if values["memory_sample"].text == "0" else {}
    return {**more, "instrument": "0"} if values["trace"].text == "0" and values["calls"].origin == "default" else more


def with_trace(texts: dict[str, str], values: list[Value]) -> None:
    """--to FORMAT of a format that needs the trace turns it on, unless someone turned it off, or samples say what happened when."""
    from spartito.conversion import find

    if texts["sample"] == "1":
        return

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
    native = values["sample_native"]
    if native.text == "1" and values["sample"].text != "1":
        raise Usage(f"{native.named} is for samples, and there are none: give --sample as well")


def _in_vain(values: dict[str, Value]) -> None:
    """Usage: one option of this command line leaves another nothing to do. Below those of a notebook's cell lie the session's."""
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
        _in_vain(by_name)
    except Usage:
        if rundir.is_silent(world):
            return USAGE
        raise
    said = uncounted(texts["metrics"]) if texts["metrics"] else []
    for line in [*strange_variables(), *said]:
        if not world or world.speaks:
            complain(line)
    try:
        directory = rundir.create(texts["output"], command, world=world, wanted=for_later(texts))
    except Refused as e:
        if rundir.is_silent(world):
            return e.status
        raise
    calls, sampling = texts["lines_only"] != "1" and texts["calls"] == "1", None
    if texts["sample"] == "1":
        from spartito.sampling import begin, records_calls

        calls = calls and records_calls(by_name)
        sampling = begin(directory.path, by_name, calls, bool(world and not world.speaks))
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
    return launch.finish(status, directory.path, lambda: _afterwards(directory, status, texts, said))


def _refused(directory: Directory, status: int) -> None:
    try:
        if directory.last(status) and not Found(directory.path).files:
            directory.remove()
    except OSError:
        pass


def for_later(texts: dict[str, str]) -> str:
    """Directory.wanted."""
    if texts["finalize"] == "1":
        return ""
    formats, lines = (
        ", ".join(rundir.quoted(word) for word in words if word) for words in (texts["to"].split(","), texts["lines"].split("\n"))
    )
    return f'{{"compress": {"true" if texts["compress"] == "1" else "false"}, "to": [{formats}], "lines": [{lines}]}}'


def _prepare(texts: dict[str, str], directory: Directory) -> None:
    """Loads what the end will need while the program starts: what counts is the time from Enter to prompt. Only one of
    many ranks will need it."""
    if directory.crew:
        return
    try:
        if texts["finalize"] != "1":
            import spartito._analyse
        elif texts["quiet"] != "1":
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
    finish(directory, found, texts, said)


def finish(directory: Directory, found: Found, texts: dict[str, str], said: list[str]) -> None:
    """What is done with an experiment when it has ended, as the settings say: all of it, or what cannot wait. said: what the user
    has been told already."""
    found.seal()
    if directory.wanted:
        _leave_for_later(directory, found, texts["quiet"] == "1")
        return
    silent = texts["quiet"] == "1" and not texts["to"] and not _may_sum_up(texts, directory)
    if texts["compress"] == "1" or not silent:
        wait_for_helpers(found.open)
    if texts["compress"] == "1":
        _compress(directory)
    if texts["quiet"] == "1":  # else the summary says so
        for text in found.errors:
            complain("a process was not recorded: " + text)
    if silent and not texts["lines"] and texts["lines_only"] != "1" and "+" not in texts["filter"]:
        return
    from spartito._analyse import Model

    model = Model(directory.path)
    if texts["lines"]:
        from spartito import linepatterns

        for line in linepatterns.unmatched(model, texts["lines"].split("\n"), directory.command):
            complain(line)
    for line in unincluded(model, texts, directory):
        complain(line)
    if not texts["lines"] and texts["lines_only"] == "1" and not model.lines():
        complain("--lines-only: no call was recorded, and no line: name functions by --lines, or mark them with @spartito.lines")
    if texts["quiet"] != "1":
        from spartito import summary

        try:
            summary.write(model, directory.path, rundir.label(directory.command), said)
        except OSError:
            pass  # the terminal may be gone; the rest is done all the same
    for name in filter(None, texts["to"].split(",")):
        _convert(model, directory, name, texts["quiet"] == "1")
    if _may_sum_up(texts, directory):
        from spartito import pyramid

        if pyramid.is_large(model):
            pyramid.make_apart(model, directory.path, texts["quiet"] == "1")


def unincluded(model: Model, texts: dict[str, str], directory: Directory) -> list[str]:
    """What --include asked for and nothing matched. What allocates or waits has its call paths in any case."""
    if "+" not in texts["filter"] or texts["lines_only"] == "1" or texts["calls"] != "1":
        return []
    from spartito import linepatterns

    return linepatterns.not_included(model, texts["filter"].split("\n"), directory.command)


def _may_sum_up(texts: dict[str, str], directory: Directory) -> bool:
    if texts["trace"] != "1":
        return False
    from spartito import pyramid

    return pyramid.may_be_large(directory.path)


def _leave_for_later(directory: Directory, found: Found, quiet: bool) -> None:
    """What only this machine knows goes into the experiment; all else is left to `spartito finalize`."""
    from spartito._analyse import Error, keep_symbols

    for text in found.errors:
        complain("a process was not recorded: " + text)
    try:
        keep_symbols(directory.path)
    except (Error, OSError) as e:
        complain(f"names of compiled functions are not in the experiment: {e}")
    if not quiet:
        from spartito.text import as_argument, plural

        say(f"spartito: collected {plural(found.files, 'process')}; next: spartito finalize {as_argument(directory.path)}")


def wait_for_helpers(files: list[tuple[int, str]]) -> None:
    """The resource trackers of multiprocessing and joblib end when their pipe to the program does, a moment after it, which is long
    on a busy machine; but not while a process runs that the program has left behind."""
    begin = time.monotonic()
    while True:
        there = [pid for pid, name in files if _has_open(pid, name)]
        most = THEMSELVES if all(map(_ends_itself, there)) else HELPERS
        if not there or time.monotonic() - begin > most:
            return
        time.sleep(0.01)


def _ends_itself(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            line = f.read()
    except OSError:
        return True
    return any(word in line for word in THEIRS)


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
    from spartito.conversion import put_beside

    assert isinstance(model, Model)
    try:
        told = put_beside(model, directory.path, name)
    except (Error, Refused, OSError) as e:
        complain(f"--to {name}: {e}")
        return
    if not quiet:
        say(told)
