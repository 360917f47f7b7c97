# SPDX-License-Identifier: BSD-3-Clause
"""The class that spartito.load() returns. Importing it is fast: the analysis module is loaded when an experiment is opened."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pandas import DataFrame

    from spartito._analyse import Model
    from spartito.results.columns import Columns

TABLES = ("regions", "call_paths", "lines", "waits", "memory", "heap", "messages", "findings", "locations", "processes")


def _table(name: str) -> Callable[..., Columns]:
    """The function that makes a table. ValueError: there is no such table."""
    from spartito.results import advice, allocations, calls, overview, waiting

    if name not in TABLES:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
    for module in (calls, waiting, allocations, advice, overview):
        if made := getattr(module, name, None):
            return made  # type: ignore[no-any-return]
    raise AssertionError(name)


def _opened(path: str | os.PathLike[str] | None) -> str:
    """The directory of an experiment; a pack is unpacked first. FileNotFoundError: it does not exist. Refused: it cannot be
    unpacked."""
    from spartito.experiments import reading

    if path is None:
        found = reading.newest(".")
        if not found:
            raise FileNotFoundError(f"there is no experiment in the current directory {os.getcwd()}")
        return os.path.normpath(found)
    path = os.fspath(path)
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{path}: there is no such experiment")
    directory = reading.opened(path)
    reading.check(directory)
    return directory


class Results:
    """The numbers of an experiment as tables of pandas; spartito.load() returns it.

    directory: a directory that `spartito run` made, or a pack (`spartito pack`); None: the newest experiment in the current
    directory. compensate: subtract the cost of measuring from the times. Errors are those of spartito.load().

    Members: .directory, .info, .warnings, .notes, .model. Tables: regions(), call_paths(), lines(), waits(), memory(), heap(),
    messages(), findings(), locations(), processes(); as_dict() returns each of them without pandas. All times are in seconds,
    sizes in bytes. table.attrs["units"] is a dictionary of the units of columns, table.attrs["notes"] a list of sentences about
    what the numbers of this table lack. A table of what was not recorded raises spartito.analysis.Error.

        >>> import spartito, tempfile
        >>> spartito.stop()
        >>> with tempfile.TemporaryDirectory() as place:
        ...     with spartito.measure(place + "/run-1"), spartito.region("work"):
        ...         total = sum(range(10))
        ...     results = spartito.Results(place + "/run-1")
        >>> regions = results.as_dict("regions")
        >>> regions["visits"][regions["region"].index("work")]
        1
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, *, compensate: bool = False) -> None:
        from spartito._analyse import Error
        from spartito.base.messages import Refused
        from spartito.experiments import reading

        try:
            opened = _opened(directory)
            try:
                model, _ = reading.load(opened, compensate)
            except Error as e:
                raise Refused(str(e).replace(opened, reading.shown(opened))) from None
        except Refused as e:
            raise Error(str(e)) from None
        self._take(model, opened, compensate)
        self._warn()

    @classmethod
    def _of(cls, model: Model, directory: str, compensated: bool) -> Results:
        """The results of a loaded model, without warnings, as its user knows them already."""
        made = cls.__new__(cls)
        made._take(model, directory, compensated)
        made._warned.update(made.warnings)
        return made

    def _take(self, model: Model, directory: str, compensated: bool) -> None:
        from spartito.experiments.reading import shown

        self._model = model
        self._place = directory
        self._compensated = compensated
        self._warned: set[str] = set()
        self.directory = os.path.abspath(shown(directory))
        """Absolute path of the directory or of the pack."""

    def __repr__(self) -> str:
        from spartito.base.text import name, plural, seconds

        info = self._model.info()
        return (
            f"<spartito.Results of {name(self.directory)}: {seconds(info['end'] - info['begin'])}, "
            f"{plural(info['regions'], 'region')}, {plural(len(info['processes']), 'process')}, "
            f"{plural(len(info['locations']), 'thread')}>"
        )

    def _warn(self) -> None:
        """Issues new warnings. Reading a trace may have found damage since the last call."""
        new = [line for line in self.warnings if line not in self._warned]
        if new:
            import warnings

            self._warned.update(new)
            level = 1  # stack level of the first caller outside of Spartito
            while _is_ours(level):
                level += 1
            warnings.warn(f"{self.directory}: {'; '.join(new)}", stacklevel=level + 1)

    # ---- what was recorded

    @property
    def model(self) -> Model:
        """The experiment as lists and dictionaries, without pandas: a spartito.analysis.Model.

        >>> spartito.load("run-1").model.flat(match="step")[0]["visits"]
        1000
        """
        return self._model

    @property
    def info(self) -> dict[str, Any]:
        """What was measured, as a dictionary.

        Keys: command (list of words), begin (datetime in UTC), duration (s, first event to last), python and spartito (versions),
        hosts (list), processes, threads, ranks (how many), recorded (list of the following: calls, samples, trace, lines, memory,
        waits, io, tasks, mpi, counters), metrics ({name: description}), inclusive_time (s in regions, all threads together),
        running_time (s of it on a processor, as far as known), measuring_cost (s that measuring calls took, all threads together),
        measuring_error (its uncertainty in s; None: unknown), compensated (whether the cost is subtracted), complete (False:
        something is damaged or was lost, see warnings), running (whether a process still ran).

        >>> spartito.load("run-1").info["recorded"]
        ['calls', 'lines', 'memory', 'waits']
        """
        from spartito.results import overview

        return overview.describe(self._model, self._model.info(), self._place, self._compensated)

    @property
    def warnings(self) -> list[str]:
        """What was lost, is damaged, ended early or still ran, a sentence each. Empty: nothing was.

        load() issues the same sentences as a UserWarning, and so does a table in which more damage is found.

        >>> spartito.load("run-1").warnings
        []
        """
        from spartito.results import overview

        return overview.warnings(self._model.info(), self._place)

    @property
    def notes(self) -> list[str]:
        """How the numbers came about, a sentence each: how many samples there are, what measuring cost.

        >>> len(spartito.load("run-1").notes)
        1
        """
        from spartito.results import overview

        return overview.notes(self._model.info(), self._compensated)

    # ---- tables

    def as_dict(self, table: str, *, process: int | None = None, location: int | None = None) -> Columns:
        """A table without pandas: a dictionary of a list for each column, with the attributes units and notes.

        table: the name of the method that returns it, such as "regions". process, location: as for that method. ValueError:
        there is no such table, process or location. Other errors are those of the method, but ImportError.

        >>> columns = spartito.load("run-1").as_dict("regions")
        >>> max(columns["visits"]), columns.units["exclusive_time"]
        (1000, 's')
        """
        from spartito._analyse import Error
        from spartito.base.messages import Refused

        make = _table(table)
        info = self._model.info()
        chosen: dict[str, int] = {}
        for what, index, n in (
            ("process", process, len(info["processes"])),
            ("location", location, len(info["locations"])),
        ):
            if index is None:
                continue
            if table not in ("regions", "call_paths", "lines"):
                raise ValueError(f"the table {table!r} has no argument {what}: select rows by its columns")
            if not 0 <= index < n:
                raise ValueError(f"{self.directory}: there is no {what} {index}; there are {n}, from 0 on")
            chosen[what] = index
        if table == "findings":
            chosen["compensated"] = self._compensated
        try:
            made = make(self._model, info, **chosen)
        except Refused as e:
            raise Error(f"{self.directory}: {e}") from None
        self._warn()
        return made

    def regions(self, *, process: int | None = None, location: int | None = None) -> DataFrame:
        """A row for each region, such as a function: how often it was called, and its times. Most exclusive time first.

        process, location: the index of a row of processes() or locations() whose calls alone are counted; default: all.
        Columns: region, module, qualname, file, line, kind, visits, resumptions, exclusive_time, inclusive_time, mean_time,
        min_time, max_time, std_time (s), and for each metric NAME exclusive_NAME and inclusive_NAME.
        ValueError: there is no such process or location. ImportError: pandas is not installed.

        >>> regions = spartito.load("run-1").regions().set_index("region")
        >>> int(regions.visits["__main__:step"])
        1000
        """
        return self.as_dict("regions", process=process, location=location).to_pandas()

    def call_paths(self, *, process: int | None = None, location: int | None = None) -> DataFrame:
        """A row for each call path; a caller is before its callees. The paths of samples are here, too, with their times.

        process, location and errors are those of regions().
        Columns: parent (row of the caller, -1 for outermost calls), depth (0 for these), the columns of regions() for the calls
        of this path, and parameters ("n=3, case=small"; empty without).

        >>> paths = spartito.load("run-1").call_paths()
        >>> paths.region[paths.parent[paths.region == "__main__:step"]].tolist()
        ['__main__:main']
        """
        return self.as_dict("call_paths", process=process, location=location).to_pandas()

    def lines(self, *, process: int | None = None, location: int | None = None) -> DataFrame:
        """A row for each source line that ran, of functions recorded with `--lines` and of samples.

        process, location and errors are those of regions(). spartito.analysis.Error: no lines were recorded.
        Columns: region, module, file, first_line (of the function), line, hits, exclusive_time, inclusive_time (s).

        >>> lines = spartito.load("run-1").lines()
        >>> lines.loc[lines.region == "__main__:step", ["line", "hits"]].values.tolist()
        [[2, 1000]]
        """
        return self.as_dict("lines", process=process, location=location).to_pandas()

    def waits(self) -> DataFrame:
        """A row for each call path in which a thread, task or rank waited for the same object. Most time first.

        Columns: waiter ("thread", "task" or "rank"), kind, object, process, location, region, call_path, file, line, waited_for
        (location of the lock holder or late rank), waited_for_region, count, time, longest_time (s), unfinished.
        spartito.analysis.Error: no waits were recorded. ImportError: pandas is not installed.

        >>> waits = spartito.load("run-1").waits()
        >>> int(waits[waits.kind == "sleep"]["count"].sum())
        3
        """
        return self.as_dict("waits").to_pandas()

    def memory(self) -> DataFrame:
        """A row for each allocation site: a line, call path, thread and allocator. Most bytes at the peak first.

        Columns: process, location, region, file, line (of the program), innermost_region, innermost_file, innermost_line (where a
        library allocates for it), call_path, allocator, allocated_, freed_, temporary_, peak_, left_ each with blocks and bytes
        (peak: at the peak of the process; left: at its end), kept.
        spartito.analysis.Error: no memory was recorded. ImportError: pandas is not installed.

        >>> memory = spartito.load("run-1").memory()
        >>> bool((memory.allocated_bytes >= memory.freed_bytes).all())
        True
        """
        return self.as_dict("memory").to_pandas()

    def heap(self) -> DataFrame:
        """The heap and the resident memory of each process over time.

        Columns: process, time (s since the begin of the experiment), heap_bytes, heap_blocks, resident_bytes.
        spartito.analysis.Error: no memory was recorded. ImportError: pandas is not installed.

        >>> spartito.load("run-1").heap().attrs["units"]["heap_bytes"]
        'B'
        """
        return self.as_dict("heap").to_pandas()

    def messages(self) -> DataFrame:
        """MPI messages of a trace: a row for each sender, receiver, communicator and call path of the send.

        Columns: from_process, to_process (missing: not measured), from_rank, to_rank, communicator, region, call_path, messages,
        bytes, received (how many receives were found), time (s, begin of the send to end of the receive, all together).
        spartito.analysis.Error: there is no trace, or no MPI in it. ImportError: pandas is not installed.

        >>> messages = spartito.load("ranks-1").messages()
        >>> int(messages.messages.sum())
        8
        """
        return self.as_dict("messages").to_pandas()

    def findings(self) -> DataFrame:
        """A row for each finding of `spartito report findings`, the largest share first.

        Columns: topic, title, saved_time (s), saved_bytes (B) (at most; one of the two is missing), share (of `of`, 0 to 1), of,
        region, file, line, call_path, evidence (a list of sentences), advice, command (that shows more).
        ImportError: pandas is not installed.

        >>> spartito.load("run-1").findings().columns.tolist()[:3]
        ['topic', 'title', 'saved_time']
        """
        return self.as_dict("findings").to_pandas()

    def locations(self) -> DataFrame:
        """A row for each location: a thread of a process. The number of a row is the location of other tables.

        Columns: process, rank (missing without MPI), pid, host, name, role, runs (the outermost function of the thread), helper,
        thread_id, creator (location), begin, end (s since the begin of the experiment), inclusive_time (s in regions), running_time
        (s of it on a processor, as far as known), mpi_time (s of it in MPI), visits, resumptions, lost_events.
        ImportError: pandas is not installed.

        >>> spartito.load("run-1").locations().name.tolist()
        ['MainThread']
        """
        return self.as_dict("locations").to_pandas()

    def processes(self) -> DataFrame:
        """A row for each measured process. The number of a row is the process of other tables.

        Columns: rank (missing without MPI), pid, parent (process), host, role, name, helper, command, python, begin, end (s since
        the begin of the experiment), ended ("normal", "running", "abrupt" …), exit_status, signal (missing: not known).
        ImportError: pandas is not installed.

        >>> spartito.load("run-1").processes().ended.tolist()
        ['normal']
        """
        return self.as_dict("processes").to_pandas()


def _is_ours(level: int) -> bool:
    """Whether the frame `level` levels above _warn() is that of a function of Spartito."""
    import sys

    frame = sys._getframe()
    for _ in range(level + 1):
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "spartito"
