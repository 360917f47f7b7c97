# SPDX-License-Identifier: BSD-3-Clause
"""The end of a run: compression, names of functions, formats, the summary."""

from __future__ import annotations

import time

from spartito.base.messages import Refused, complain, say
from spartito.experiments import rundir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito._analyse import Model
    from spartito.experiments.rundir import Directory, Found

HELPERS, THEMSELVES = 0.3, 10.0  # seconds for processes that may end soon, and for those that are sure to
THEIRS = (b"resource_tracker", b"forkserver")  # what they run, of multiprocessing and of joblib


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
        from spartito.run import linepatterns

        for line in linepatterns.unmatched(model, texts["lines"].split("\n"), directory.command):
            complain(line)
    for line in unincluded(model, texts, directory):
        complain(line)
    if not texts["lines"] and texts["lines_only"] == "1" and not model.lines():
        complain("--lines-only: no call was recorded, and no line: name functions by --lines, or mark them with @spartito.lines")
    if texts["quiet"] != "1":
        from spartito.report import summary

        try:
            summary.write(model, directory.path, rundir.label(directory.command), said)
        except OSError:
            pass  # the terminal may be gone; the rest is done all the same
    for name in filter(None, texts["to"].split(",")):
        _convert(model, directory, name, texts["quiet"] == "1")
    if _may_sum_up(texts, directory):
        from spartito.experiments import lod

        if lod.is_large(model):
            lod.make_apart(model, directory.path, texts["quiet"] == "1")


def unincluded(model: Model, texts: dict[str, str], directory: Directory) -> list[str]:
    """What --include asked for and nothing matched. What allocates or waits has its call paths in any case."""
    if "+" not in texts["filter"] or texts["lines_only"] == "1" or texts["calls"] != "1":
        return []
    from spartito.run import linepatterns

    return linepatterns.not_included(model, texts["filter"].split("\n"), directory.command)


def _may_sum_up(texts: dict[str, str], directory: Directory) -> bool:
    if texts["trace"] != "1":
        return False
    from spartito.experiments import lod

    return lod.may_be_large(directory.path)


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
        from spartito.base.text import as_argument, plural

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
    from spartito.experiments.conversion import compress

    try:
        compress(directory.path)
    except (Error, OSError) as e:
        complain(f"--compress: {e}")


def _convert(model: object, directory: Directory, name: str, quiet: bool) -> None:
    from spartito._analyse import Error, Model
    from spartito.experiments.conversion import put_beside

    assert isinstance(model, Model)
    try:
        told = put_beside(model, directory.path, name)
    except (Error, Refused, OSError) as e:
        complain(f"--to {name}: {e}")
        return
    if not quiet:
        say(told)
