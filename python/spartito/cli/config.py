# SPDX-License-Identifier: BSD-3-Clause
"""spartito config: the active value of each setting, and its source."""

from __future__ import annotations

from spartito.base.messages import complain
from spartito.base.text import Column, name, standard_output
from spartito.options.settings import resolve, strange_variables
from spartito.options.table import Usage


def main(values: dict[str, object], operands: list[str]) -> int:
    if operands:
        raise Usage(f"takes options only, not {operands[0]!r}")
    columns = [
        Column("setting", True),
        Column("value", True),
        Column("from", True),
        Column("variable", True),
        Column("option", True),
    ]
    rows = []
    for value in resolve(values):
        s = value.setting
        text = {"0": "off", "1": "on"}[value.text] if s.kind == "flag" else value.text.replace("\n", " ")
        rows.append((s.name, name(text) or "-", value.origin, s.variable, s.option))
    standard_output().table(columns, rows)
    for line in strange_variables():
        complain(line)
    return 0
