# SPDX-License-Identifier: BSD-3-Clause
"""Conversion for `run --to`, `convert` and `finalize`: default paths, progress bar and checks. Also merging and compression."""

from __future__ import annotations

import os

from spartito.base.messages import Refused
from spartito.base.progress import with_bar
from spartito.experiments import contents
from spartito.experiments.reading import beside
from spartito.options.table import near

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from spartito._analyse import Model
    from spartito.experiments.mpiranks import Ranks

    Result = TypeVar("Result")


class Format:
    """A row of _analyse.writers()."""

    __slots__ = ("directory", "merges", "name", "needs_trace", "opens", "suffix", "what")

    def __init__(self, row: tuple[str, str, str, str, bool, bool, bool]) -> None:
        self.name, self.what, self.suffix, self.opens, self.needs_trace, self.directory, self.merges = row


def formats() -> list[Format]:
    from spartito._analyse import writers

    return [Format(row) for row in writers()]


def find(wanted: str) -> Format:
    known = formats()
    for f in known:
        if f.name == wanted:
            return f
    names = [f.name for f in known]
    raise Refused(f"unknown format {wanted!r}{near(wanted, names)} (known: {', '.join(names)})", 2)


def default_path(directory: str, f: Format) -> str:
    return beside(directory, f.suffix or "-" + f.name)


def has_events(info: dict[str, Any]) -> bool:
    """Whether there are events with timestamps: a trace or samples."""
    return bool(info["traced"]) or contents.taken(info)


def _shows_nothing_else(f: Format, info: dict[str, Any]) -> bool:
    """Whether a format of events can show only memory over time, as there are no events."""
    return f.needs_trace and not has_events(info)


def refuse(f: Format, info: dict[str, Any]) -> None:
    """Refused: the format needs a trace, which the experiment lacks."""
    if _shows_nothing_else(f, info) and not contents.is_recorded(info):
        raise Refused(f"the format {f.name} needs the trace, which this experiment does not hold: measure with --trace")


def convert(model: Model, f: Format, path: str, process: int = -1, calls: bool = False) -> None:
    """Writes the file or directory `path`. calls: write samples as calls, in a format that has both. Refused: it cannot be written.
    An interrupted conversion leaves no file behind; the writers ensure that."""
    refuse(f, model.info())
    if f.directory and os.path.lexists(path):
        raise Refused(f"{path} already exists; {f.name} writes a new directory: name another with -o")
    if not f.directory and os.path.isdir(path):
        raise Refused(f"{path} is a directory; {f.name} writes a file: name it with -o")
    with_bar(
        f"writing {os.path.basename(path)}",
        lambda progress: model.convert(f.name, path, process=process, progress=progress, calls=calls),
    )


def put_beside(model: Model, directory: str, name: str) -> str:
    """Writes the format beside the experiment, as `run --to` and `finalize` do. Returns a message. Refused, _analyse.Error,
    OSError: it cannot be written."""
    f = find(name)
    path = default_path(directory, f)
    convert(model, f, path)
    return wrote(path, f, model.info())


def wrote(path: str, f: Format, info: dict[str, Any]) -> str:
    """The message after a conversion."""
    what = ", memory over time alone: there is no trace" if _shows_nothing_else(f, info) else ""
    return f"wrote {path}{what}" + (f" (open with {f.opens})" if f.opens else "")


def compress(directory: str) -> tuple[int, int]:
    """Compresses the raw files, and returns their bytes before and after. A merged file is merged again, because it contains the
    state of the raw files."""
    from spartito._analyse import compress as do

    sizes = with_bar(f"compressing {os.path.basename(directory)}", lambda progress: do(directory, progress))
    if os.path.lexists(os.path.join(directory, "merged")):
        merge(directory)
    return sizes


def merge(directory: str, force: bool = False, quiet: bool = False, ranks: Ranks | None = None) -> dict[str, Any]:
    """Calls _analyse.merge() with a progress bar. ranks: all of these ranks call this function and merge together."""
    from spartito._analyse import merge as do

    if ranks:
        done = do(directory, force, _nothing, mpi=(ranks.wrappers, *ranks.libraries))
    else:
        done = _merging(directory, quiet, lambda progress: do(directory, force, progress))
    assert done is not None
    return done


def merge_large(directory: str, quiet: bool = False) -> dict[str, Any] | None:
    """Merges an experiment with millions of call paths that has no merged file, so that it opens at once. None: it is not so large.
    _analyse.Error, OSError: it cannot be merged, for instance because a process still runs."""
    from spartito._analyse import merge as do

    if os.path.lexists(os.path.join(directory, "merged")):
        return None
    return _merging(directory, quiet, lambda progress: do(directory, False, progress, workers=1, large=True))


def _merging(directory: str, quiet: bool, work: Callable[[Callable[[int, int], None]], Result]) -> Result:
    return work(_nothing) if quiet else with_bar(f"merging {os.path.basename(directory)}", work)


def _nothing(done: int, total: int) -> None:
    pass
