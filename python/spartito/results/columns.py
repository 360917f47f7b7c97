# SPDX-License-Identifier: BSD-3-Clause
"""A table as a dictionary of columns, without pandas, and as a pandas DataFrame."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from pandas import DataFrame

    # for each column: its name, the key of its values in rows of Model, the unit ("": text or an index)
    Description = Sequence[tuple[str, str, str]]

NO_PANDAS = (
    "this table is a DataFrame of pandas, which is not installed: pip install pandas. "
    "Without pandas, as_dict() of spartito.Results returns the same columns"
)


class Columns(dict[str, "list[Any]"]):
    """The columns of a table by name, all of the same length. pandas.DataFrame(columns) accepts it, as do polars and others.

    units: {column: unit} of the columns with numbers that have one. notes: sentences about what the numbers lack."""

    def __init__(self, columns: Mapping[str, list[Any]], units: Mapping[str, str], notes: Iterable[str] = ()) -> None:
        super().__init__(columns)
        self.units = dict(units)
        self.notes = list(notes)

    def to_pandas(self) -> DataFrame:
        """A DataFrame with attrs["units"] and attrs["notes"]. ImportError: pandas is not installed."""
        try:
            pandas: Any = import_module("pandas")
        except ImportError as e:
            if e.name not in (None, "pandas"):
                raise  # pandas is installed, but a module that it needs is missing
            raise ImportError(NO_PANDAS, name="pandas") from None
        table = pandas.DataFrame({title: self._typed(pandas, title) for title in self})
        table.attrs["units"] = dict(self.units)
        table.attrs["notes"] = list(self.notes)
        return table

    def _typed(self, pandas: Any, title: str) -> Any:
        """The values of a column for pandas. Integers with missing values get the type Int64; pandas would convert them to
        floats."""
        values = self[title]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            return values
        if self.units.get(title) == "s":
            return pandas.array(values, dtype="float64")
        if all(type(value) is int for value in known) and (known or title in self.units):
            return pandas.array(values, dtype="Int64")
        return values


def of_rows(rows: Sequence[Mapping[str, Any]], description: Description, notes: Iterable[str] = ()) -> Columns:
    columns = {title: [row[key] for row in rows] for title, key, _ in description}
    return Columns(columns, {title: unit for title, _, unit in description if unit}, notes)
