# SPDX-License-Identifier: BSD-3-Clause
"""Reads and prints .lprof files without line_profiler."""

from __future__ import annotations

import os
import pickle
import sys

from spartito.base.messages import Refused, printable, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO, Any

    Timings = dict[tuple[str, int, str], list[tuple[int, int, int]]]

HELP = """\
usage: python -m line_profiler [-u SECONDS] [-z] [-t] [-m] [-r] FILE.lprof...

Prints what kernprof has recorded; several files are added up.

  -u, --unit SECONDS   unit of printed times (default 1e-6)
  -z, --skip-zero      omit functions that did not run
  -t, --sort           the costliest function last
  -m, --summarize      a line for each function at the end
  -r, --rich           accepted without effect
  -V, --version        print the version and exit

`spartito report lines` and `kernprof -lvr` print the lines coloured by time."""


LETTERS = {"--unit": "u", "--skip-zero": "z", "--sort": "t", "--summarize": "m", "--rich": "r", "--help": "h", "--version": "V"}


class LineStats:
    """timings: {(file, first line, function): [(line, hits, time)…]}; unit: of time, in seconds."""

    def __init__(self, timings: Timings, unit: float) -> None:
        self.timings = timings
        self.unit = unit

    def __repr__(self) -> str:
        return f"LineStats({self.timings!r}, {self.unit:G})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LineStats) and (self.timings, self.unit) == (other.timings, other.unit)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: LineStats) -> LineStats:
        return _sum([self, other])

    def to_file(self, filename: str | os.PathLike[str]) -> None:
        with open(filename, "wb") as f:
            pickle.dump(self, f, pickle.HIGHEST_PROTOCOL)

    def print(self, stream: Any = None, **keywords: Any) -> None:
        show_text(self.timings, self.unit, stream=stream, **keywords)

    @classmethod
    def from_files(cls, file: str | os.PathLike[str], /, *files: str | os.PathLike[str]) -> LineStats:
        return load_stats(file, *files)


def dump(stats: LineStats, path: str) -> None:
    """Writes a .lprof file. The pickle names line_profiler's class, which need not be installed."""
    state = pickle.dumps({"timings": stats.timings, "unit": stats.unit}, 3)
    with open(path + ".new", "wb") as f:
        f.write(state[:2] + b"cline_profiler.line_profiler\nLineStats\n)\x81" + state[2:-1] + b"b.")
    os.replace(path + ".new", path)


class _Loader(pickle.Unpickler):
    """An unpickler that accepts no class except LineStats."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "LineStats" and module in ("line_profiler.line_profiler", "line_profiler._line_profiler", "_line_profiler"):
            return LineStats
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def _load(f: IO[bytes], path: str) -> LineStats:
    try:
        found = _Loader(f).load()
        timings = {(str(a), int(b), str(c)): [(int(x), int(y), int(z)) for x, y, z in v] for (a, b, c), v in found.timings.items()}
        return LineStats(timings, float(found.unit))
    except Exception as e:
        raise Refused(f"{path} is no .lprof file: {e}") from None


def load_stats(*paths: str | os.PathLike[str]) -> LineStats:
    """The sum of the files, in nanoseconds if there are several. Refused, OSError: a file cannot be read."""
    loaded = []
    for path in paths:
        with open(path, "rb") as f:
            loaded.append(_load(f, os.fspath(path)))
    return loaded[0] if len(loaded) == 1 else _sum(loaded)


def _sum(loaded: list[LineStats]) -> LineStats:
    sums: dict[tuple[str, int, str], dict[int, tuple[int, int]]] = {}
    for stats in loaded:
        for key, lines in stats.timings.items():
            into = sums.setdefault(key, {})
            for line, hits, time in lines:
                before = into.get(line, (0, 0))
                into[line] = before[0] + hits, before[1] + round(time * stats.unit * 1e9)
    return LineStats({key: [(n, *lines[n]) for n in sorted(lines)] for key, lines in sums.items()}, 1e-9)


def _print(lines: Iterable[str], stream: Any) -> None:
    out = sys.stdout if stream is None else stream
    for line in lines:
        out.write(printable(line, getattr(out, "encoding", None)) + "\n")


def show_text(
    stats: dict[tuple[str, int, str], list[tuple[int, int, int]]],
    unit: float,
    output_unit: float | None = None,
    stream: Any = None,
    stripzeros: bool = False,
    details: bool = True,
    summarize: bool = False,
    sort: bool = False,
    rich: bool = False,
    **keywords: object,
) -> None:
    """Prints LineStats.timings."""
    from spartito.report.lines.source import Sources
    from spartito.report.lines.text import OWN_UNIT, Timed, text

    scale = unit / OWN_UNIT
    found = [Timed(*key, [(n, hits, round(t * scale)) for n, hits, t in lines]) for key, lines in stats.items()]
    if sort:
        found.sort(key=lambda f: f.time)
    _print(text(found, Sources("", float("inf")), output_unit or unit, stripzeros, summarize, details), stream)


def show_func(
    filename: str,
    start_lineno: int,
    func_name: str,
    timings: list[tuple[int, int, int]],
    unit: float,
    output_unit: float | None = None,
    stream: Any = None,
    stripzeros: bool = False,
    rich: bool = False,
    **keywords: object,
) -> None:
    """Prints one function."""
    from spartito.report.lines.source import Sources
    from spartito.report.lines.text import OWN_UNIT, Timed, function

    scale = unit / OWN_UNIT
    found = Timed(filename, start_lineno, func_name, [(n, hits, round(t * scale)) for n, hits, t in timings])
    if stripzeros and not found.hits:
        return
    _print(function(found, Sources("", float("inf")), output_unit or unit), stream)


def main(words: list[str]) -> int:
    import getopt

    long = ["unit=", "skip-zero", "sort", "summarize", "rich", "help", "version"]
    try:
        options, paths = getopt.gnu_getopt(words, "u:ztmrhV", long)
        given = {LETTERS.get(name, name[-1]): value for name, value in options}
        if "h" in given:
            print(HELP)
            return 0
        if "V" in given:
            from spartito import __version__

            print(f"kernprof of spartito {__version__}")  # as that says it
            return 0
        unit = float(given.get("u", "1e-6"))
        if not paths or not unit > 0:
            raise getopt.GetoptError("no file given" if not paths else "-u: not above 0")
    except (getopt.GetoptError, ValueError) as e:
        say(f"line_profiler: {e}")
        return 2
    try:
        stats = load_stats(*paths)
        show_text(stats.timings, stats.unit, unit, None, "z" in given, True, "m" in given, "t" in given)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except (Refused, OSError) as e:
        say(f"line_profiler: {e}")
        return 1
    return 0
