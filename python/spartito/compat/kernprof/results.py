# SPDX-License-Identifier: BSD-3-Clause
"""Writes and prints the results of kernprof, at the end and with -i also while the program runs."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import Refused, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model
    from spartito.compat.kernprof.options import Asked
    from spartito.experiments.rundir import Directory

    Meant = list[tuple[str, int, str]]  # (file, first line, name) of the requested functions, also of those that did not run

# pickle of a LineStats without functions, as src/write/profile/lprof.c writes it
EMPTY = (
    b"\x80\x04X\x1b\0\0\0line_profiler.line_profilerX\x09\0\0\0LineStats\x93)\x81}(X\x07\0\0\0timings}("
    b"uX\x04\0\0\0unitG>\x11.\x0b\xe8&\xd6\x95ub."
)
EMPTY_CALLS = b"{0"  # marshal's empty dictionary


def print_line(text: str) -> None:
    """Prints to standard output, as kernprof does."""
    if sys.stdout is not None:
        sys.stdout.write(printable(text, sys.stdout.encoding) + "\n")


def short(path: str) -> str:
    """The path relative to the current directory, if that is shorter."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return relative if len(relative) < len(path) and not relative.startswith("..") else path


def _write(model: Model | None, lines: bool, path: str, meant: Meant, process: int = -1) -> None:
    from spartito.experiments.conversion import convert, find

    if model is None or (lines and not model.lines()):
        with open(path + ".new", "wb") as f:
            f.write(EMPTY if lines else EMPTY_CALLS)
        os.replace(path + ".new", path)
    else:
        convert(model, find("lprof" if lines else "pstats"), path, process)
    if lines and meant:
        from spartito.compat.kernprof.stats import LineStats, dump, load_stats

        found = load_stats(path)
        timings = {**{key: [] for key in meant}, **found.timings}
        dump(LineStats({key: timings[key] for key in sorted(timings)}, found.unit), path)


def ranks(info: dict[str, Any], directory: Directory) -> dict[int, int]:
    """Mapping from rank numbers to processes; empty if there is only one rank."""
    from spartito.experiments.naming import rank_number

    found: dict[int, int] = {}
    launchers = {place.pid: place.rank for place in directory.crew.places()} if directory.crew else {}
    for i, process in enumerate(info["processes"]):
        rank = rank_number(info, i)
        if rank is None:  # the process did not initialize MPI, but its launcher was started as a rank
            rank = launchers.get(process["ppid"])
        if rank is not None:
            found.setdefault(rank, i)
    return found if len(found) > 1 else {}


def write(model: Model | None, directory: Directory, lines: bool, path: str, meant: Meant) -> list[str]:
    """Writes the output file and one for each rank; returns their paths. Refused, OSError, _analyse.Error: a file cannot be
    written."""
    if os.path.isdir(path):
        raise Refused(f"{path} is a directory: name a file with -o")
    _write(model, lines, path, meant)
    paths = [path]
    for rank, process in sorted(ranks(model.info(), directory).items()) if model else ():
        one = f"{path}{rank}"
        _write(model, lines, one, meant, process)
        paths.append(one)
    return paths


def show(model: Model | None, asked: Asked, lines: bool, path: str, meant: Meant) -> None:
    """-v: prints the results to standard output."""
    if not lines:
        import pstats

        if not (model and model.flat(sort="excl", limit=1)):
            return  # pstats raises an error for an empty file
        pstats.Stats(path).strip_dirs().sort_stats(-1).print_stats()
        return
    from spartito.base.text import standard_output
    from spartito.report.lines import table as linetable
    from spartito.report.lines import text as linetext
    from spartito.report.lines.source import Sources
    from spartito.report.parts import Part

    info: dict[str, Any] = model.info() if model else {"dir": "", "end": 0.0}
    sources = Sources(info["dir"], info["end"])
    found = model.lines() if model else []
    if asked["rich"] and found:
        assert model is not None
        whole = [Part("", [])]
        functions = linetable.chosen(model, "", whole)
        linetable.write(standard_output(), linetable.gather(info, functions, whole, 0))
        return
    timed = {(f.file, f.first, f.name): f for f in linetext.timed(found)}
    timed = {**{key: linetext.Timed(*key, []) for key in meant}, **timed}
    shown = [timed[key] for key in sorted(timed)]
    text = linetext.text(shown, sources, asked["unit"], asked["skip_zero"], asked["summarize"])
    linetable.print_text(sys.stdout, text)


def inspect_with(path: str, lines: bool) -> str:
    """The command line that prints the file."""
    from importlib.util import find_spec
    from shlex import quote

    python = os.path.basename(sys.executable or "python3")
    if not lines:
        return f"{python} -m pstats {quote(path)}"
    if find_spec("line_profiler"):
        return f"{python} -m line_profiler -rmt {quote(path)}"
    return f"{python} -m line_profiler -rmt {quote(path)} (pip install line_profiler), or leave -v to spartito-kernprof"
