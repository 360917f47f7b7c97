# SPDX-License-Identifier: BSD-3-Clause
"""The base class of reports. A report answers a question about one experiment, as data for JSON and as text.

A report is one class in one file, with a row in `table.py`. Its name and its options are in `options/reports.py`, from which
the command line, its help and the completions are made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused
from spartito.experiments import naming
from spartito.experiments.reading import shown

if TYPE_CHECKING:
    from spartito._analyse import Model
    from spartito.base.text import Output

SORT_KEYS = {"self": "excl", "total": "incl", "calls": "visits"}  # columns of tables: the keys of Model.flat() and Model.tree()
ROWS = 20  # of a table without --limit


class Query:
    """One experiment, and the options of the command line by name (Option.dest)."""

    def __init__(self, model: Model, directory: str, options: dict[str, object]) -> None:
        self.model = model
        self.info: dict[str, Any] = model.info()
        self.directory = directory
        self.options = options

    @property
    def limit(self) -> int:
        """Rows to show; 0: all."""
        return self.number("limit", ROWS)

    @property
    def match(self) -> str:
        """The pattern of --match, or ""."""
        return str(self.options.get("match") or "")

    @property
    def process(self) -> int:
        """The index of the process that --process or --rank names; -1: all. Usage: there is no such process."""
        return naming.chosen(self.info, self.options)

    @property
    def sort(self) -> str:
        """The key of --sort as Model.flat() takes it, or ""."""
        given = str(self.options.get("sort") or "")
        return SORT_KEYS.get(given, given)

    def lacks(self, what: str) -> Refused:
        """The error for an experiment that does not contain the data that a report needs."""
        return Refused(f"{shown(self.directory)}: {what}")

    def number(self, key: str, default: int) -> int:
        value = self.options.get(key, default)
        assert isinstance(value, int)
        return value

    def given(self, key: str) -> bool:
        """Whether a flag is set."""
        return bool(self.options.get(key))


class Report(ABC):
    """One report. name: its word on the command line."""

    name: str
    framed = True  # the JSON output also has the keys that all reports share: the experiment, its losses

    def check(self, options: dict[str, object]) -> None:
        """Checks the options. Usage: two of them exclude each other."""
        return

    @abstractmethod
    def gather(self, query: Query) -> dict[str, Any]:
        """The data of the report, which must be valid JSON. Key "notes": sentences about what they lack. Refused: the experiment
        has no such data."""

    @abstractmethod
    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        """Writes the result of gather() as tables."""
