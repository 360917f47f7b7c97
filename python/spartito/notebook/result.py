# SPDX-License-Identifier: BSD-3-Clause
"""The result of a measured cell: an experiment, and its display in a notebook."""

from __future__ import annotations

import io
import os
from functools import lru_cache

from spartito._analyse import Error
from spartito.base.messages import Refused, reason
from spartito.base.text import Output, name, percent, plural, seconds
from spartito.experiments.reading import check
from spartito.notebook import frame, tables
from spartito.results.results import Results
from spartito.view import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from pandas import DataFrame

    from spartito.notebook.serving import Page
    from spartito.view.kinds import Experiment

KEPT = 4  # models in the cache: a notebook has many results, but the user reads one at a time
INSTEAD = "A notebook that is not trusted does not show the result's frame, as it has scripts. This is the result as text."


class ResultError(Exception):
    """A result cannot be read, or a request for it fails. IPython shows the message instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"spartito: {self}"]


def _stamp(directory: str) -> tuple[int, int]:
    """A value that changes when another experiment replaces the one in the directory."""
    try:
        found = os.stat(os.path.join(directory, "raw"))
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


@lru_cache(maxsize=KEPT)
def _opened(directory: str, base: str | None, compensate: bool, stamps: tuple[tuple[int, int], ...]) -> Experiment:
    return kinds.open_experiment(directory, compare=base, compensate=compensate)


class Result:
    """The result in an experiment directory. Data are read on first use. Another kernel can read the same result:
    Result(DIRECTORY).

    directory: its absolute path. Times are in seconds. ResultError: the result cannot be read, or a request fails."""

    def __init__(
        self, directory: str | os.PathLike[str], *, base: str | os.PathLike[str] | None = None, compensate: bool = False
    ) -> None:
        """base: the directory of another result, whose numbers are shown beside those of this one. compensate: take the measured
        cost of measuring out of the times."""
        self.directory = os.path.abspath(os.fspath(directory))
        self._base = None if base is None else os.path.abspath(os.fspath(base))
        self.compensated = compensate
        self._there()

    def _there(self) -> None:
        """ResultError: a directory of the result does not exist any more."""
        try:
            for directory in filter(None, (self.directory, self._base)):
                check(directory)
        except Refused as e:
            raise ResultError(str(e)) from None

    # ---- the numbers

    @property
    def _experiment(self) -> Experiment:
        self._there()  # the user may have removed it meanwhile
        try:
            stamps = tuple(_stamp(d) for d in (self.directory, self._base) if d is not None)
            return _opened(self.directory, self._base, self.compensated, stamps)
        except (Refused, Error) as e:
            raise ResultError(str(e)) from None

    @property
    def model(self) -> Any:
        """All recorded data: spartito.analysis.Model."""
        return self._experiment.model

    @property
    def title(self) -> str:
        """The name of the measured cell or cells, such as In[7]."""
        return str(self._facts["title"])

    @property
    def total(self) -> float:
        """Measured seconds, summed over all threads: 100 % for the shares of functions."""
        return float(self._facts["busy"])

    @property
    def duration(self) -> float:
        """Seconds from the first event to the last."""
        return float(self._facts["duration"])

    @property
    def _facts(self) -> dict[str, Any]:
        return self._experiment.facts()

    # ---- display

    def __repr__(self) -> str:
        try:
            facts = self._facts
        except ResultError as e:
            return f"<spartito: {e}>"
        return (
            f"<{name(facts['title'])}: {seconds(facts['duration'])}, {plural(facts['visits'], 'call')} of "
            f"{plural(facts['regions'], 'function')}, in {name(self.directory)}>"
        )

    def text(self) -> str:
        """A summary, and a table of the functions in which the threads ran longest."""
        experiment, facts = self._experiment, self._facts
        lines = [tables.headline(facts)]
        out = io.StringIO()
        tables.written(experiment).write(Output(out))
        lines += out.getvalue().splitlines()
        if facts["cost"]["total"] and "Measuring took" not in lines[0]:
            cost = facts["cost"]["total"]
            lines.append(f"measuring took about {seconds(cost)} ({percent(cost, facts['busy'])} %)")
        lines += [*facts["lost"], *facts["problems"], name(self.directory)]
        return "\n".join(lines)

    def html(self, limit: int | None = None) -> str:
        """The frame below the cell, of at most limit bytes. Default: 100 KB, or more if the smallest result does not fit."""
        try:
            experiment = self._experiment
            table = tables.static(experiment, INSTEAD)
            size = limit or frame.LIMIT
            while True:
                try:
                    return frame.document(experiment, table, size)[0]
                except Refused:
                    if limit is not None or size > frame.MAX_BYTES:
                        raise
                size *= 2
        except (Refused, Error) as e:
            raise ResultError(str(e)) from None

    def _repr_mimebundle_(self, include: Container[str] | None = None, exclude: Container[str] | None = None) -> dict[str, str]:
        def wanted(kind: str) -> bool:
            return (not include or kind in include) and not (exclude and kind in exclude)

        bundle = {}
        lines = []
        if wanted("text/html"):
            try:
                bundle["text/html"] = self.html()
            except ResultError as e:
                lines.append(str(e))
        if wanted("text/plain"):
            try:
                lines.insert(0, self.text())
            except ResultError as e:
                lines = [f"spartito: {e}"]
            bundle["text/plain"] = "\n".join(lines)
        return bundle

    # ---- tables, comparison, export

    def to_dataframe(self, of: str = "regions") -> DataFrame:
        """A table of spartito.load() as a pandas DataFrame. of: "regions", "call_paths", "lines", "waits", "memory", "heap",
        "messages", "findings", "locations" or "processes". docs/python-api.md lists the columns; .attrs["units"] of the table has
        their units.
        ImportError: pandas is not installed."""
        try:
            table = Results._of(self._experiment.model, self.directory, self.compensated).as_dict(of)
        except (ValueError, Error) as e:
            raise ResultError(str(e)) from None
        return table.to_pandas()

    def diff(self, other: Result | str | os.PathLike[str]) -> Comparison:
        """The comparison of this result with an earlier one, `other`."""
        return Comparison(self, other if isinstance(other, Result) else Result(other))

    def save(self, path: str | os.PathLike[str]) -> str:
        """Copies the experiment to the path. If the path ends in .html, writes the viewer with all data as one file instead. An
        incomplete copy or file is removed. Returns the absolute path."""
        from spartito.notebook import saving

        target = os.path.abspath(os.path.expanduser(os.fspath(path)))
        try:
            if target.lower().endswith(".html"):
                saving.page(self._experiment, target)
            else:
                saving.copy(self._experiment.directory, target)
        except OSError as e:
            raise ResultError(f"{e.filename or target}: {reason(e)}") from None
        except (Refused, Error) as e:
            raise ResultError(str(e)) from None
        return target

    def view(self) -> Page:
        """Starts the viewer of `spartito view` in a separate process, which exits with the kernel. A notebook shows the returned
        page as a link; str() of it is the address."""
        from spartito.notebook import serving

        self._facts  # noqa: B018  # raise errors of the experiment here and not in the viewer's process
        try:
            return serving.start(self.directory, self._base, self.compensated)
        except Refused as e:
            raise ResultError(str(e)) from None


class Comparison:
    """The comparison of two results: as text like `spartito diff`, as HTML a frame with the changes."""

    def __init__(self, after: Result, before: Result) -> None:
        if after.directory == before.directory:
            raise ResultError("a result is not compared with itself")
        self.after = after
        self.before = Result(before.directory, compensate=after.compensated)  # compensate both results or neither
        self._both = Result(after.directory, base=before.directory, compensate=after.compensated)

    def __repr__(self) -> str:
        return f"<{self.before!r} to {self.after!r}>"

    def text(self) -> str:
        try:
            both, out = [self.before, self.after], io.StringIO()
            tables.difference(Output(out), [one.directory for one in both], [one.model for one in both], self.after.compensated)
            return out.getvalue().rstrip("\n")
        except Error as e:
            raise ResultError(str(e)) from None

    def _repr_mimebundle_(self, include: Container[str] | None = None, exclude: Container[str] | None = None) -> dict[str, str]:
        bundle = self._both._repr_mimebundle_(include, exclude)
        if "text/plain" in bundle:
            try:
                bundle["text/plain"] = self.text()
            except ResultError as e:
                bundle["text/plain"] = f"spartito: {e}"
        return bundle

    def view(self) -> Page:
        return self._both.view()
