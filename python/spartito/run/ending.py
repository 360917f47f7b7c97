# SPDX-License-Identifier: BSD-3-Clause
"""Finishes a run: compression, names of compiled functions, formats, the summary."""

from __future__ import annotations

import time

from spartito.base.messages import Refused, complain, say
from spartito.experiments import rundir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito._analyse import Model
    from spartito.experiments.rundir import Directory, Found

CHILD_TIMEOUT, HELPER_TIMEOUT = 0.3, 10.0  # seconds to wait for child processes to exit: for any, and if all are helpers
HELPER_COMMANDS = (b"resource_tracker", b"forkserver")  # in the command lines of helpers of multiprocessing and joblib


def finish(directory: Directory, found: Found, texts: dict[str, str], reported: list[str]) -> None:
    """Finishes the experiment of a run that has ended: compression, summary, formats and level-of-detail index, as the settings
    ask. With --no-finalize, it does only the work that needs this machine. found: with its checksums (Found.seal()). texts: the
    values of settings. reported: lines that were printed already."""
    if directory.wanted:
        _defer(directory, found, texts["quiet"] == "1")
        return
    silent = texts["quiet"] == "1" and not texts["to"] and not _may_need_index(texts, directory)
    if texts["compress"] == "1" or not silent:
        wait_for_helpers(found.open)
    if texts["compress"] == "1":
        _compress(directory)
    if texts["quiet"] == "1":  # otherwise the summary reports it
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
    for line in unmatched_includes(model, texts, directory):
        complain(line)
    if not texts["lines"] and texts["lines_only"] == "1" and not model.lines():
        complain("--lines-only: no call was recorded, and no line: name functions by --lines, or mark them with @spartito.lines")
    if texts["quiet"] != "1":
        from spartito.report import summary

        try:
            summary.write(model, directory.path, rundir.label(directory.command), reported)
        except OSError:
            pass  # the terminal may be gone; the rest of the work does not need it
    for name in filter(None, texts["to"].split(",")):
        _convert(model, directory, name, texts["quiet"] == "1")
    if _may_need_index(texts, directory):
        from spartito.experiments import lod

        if lod.is_large(model):
            lod.make_in_child(model, directory.path, texts["quiet"] == "1")


def unmatched_includes(model: Model, texts: dict[str, str], directory: Directory) -> list[str]:
    """A line for each pattern of --include that matched no function. Empty if no calls were recorded: call paths of allocations and
    waits do not depend on filters."""
    if "+" not in texts["filter"] or texts["lines_only"] == "1" or texts["calls"] != "1":
        return []
    from spartito.run import linepatterns

    return linepatterns.not_included(model, texts["filter"].split("\n"), directory.command)


def _may_need_index(texts: dict[str, str], directory: Directory) -> bool:
    """Whether there is a trace that may be so large that its level-of-detail index is made now."""
    if texts["trace"] != "1":
        return False
    from spartito.experiments import lod

    return lod.may_be_large(directory.path)


def _defer(directory: Directory, found: Found, quiet: bool) -> None:
    """Stores the names of compiled functions, which need the object files of this machine. `spartito finalize` does the rest."""
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
    """Waits until the processes exit that still write raw files. files: process id and name of the raw file.

    The helper processes of multiprocessing and joblib exit shortly after the program closes their pipe. If only helpers run, they
    get HELPER_TIMEOUT seconds, for a busy machine. Any other process may run for long: CHILD_TIMEOUT."""
    begin = time.monotonic()
    while True:
        running = [pid for pid, name in files if _has_open(pid, name)]
        timeout = HELPER_TIMEOUT if all(map(_ends_itself, running)) else CHILD_TIMEOUT
        if not running or time.monotonic() - begin > timeout:
            return
        time.sleep(0.01)


def _ends_itself(pid: int) -> bool:
    """Whether the process is a helper, or has exited."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            line = f.read()
    except OSError:
        return True
    return any(word in line for word in HELPER_COMMANDS)


def _has_open(pid: int, name: str) -> bool:
    """Whether the process has mapped that raw file. If it has exited, another process may have its id by now."""
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
        message = put_beside(model, directory.path, name)
    except (Error, Refused, OSError) as e:
        complain(f"--to {name}: {e}")
        return
    if not quiet:
        say(message)
