# SPDX-License-Identifier: BSD-3-Clause
"""spartito diff: compares experiments."""

from __future__ import annotations

from spartito.compare.show import show
from spartito.experiments.reading import another, named, opened
from spartito.options.table import Usage


def _groups(values: dict[str, object], operands: list[str]) -> list[list[str]]:
    """The experiment directories of each group. Usage: fewer than two experiments are given. Refused: one is compared with
    itself."""
    other = values.get("with")
    if other is not None:
        assert isinstance(other, list)
        if not operands or not other:
            raise Usage("--with needs experiments on both sides: spartito diff A1 A2 A3 --with B1 B2 B3")
        return [operands, other]
    if len(operands) < 2:
        raise Usage("two experiments or more are compared: spartito diff A B")
    for i, directory in enumerate(operands):
        for before in operands[:i]:
            another(named(directory), before)
    return [[directory] for directory in operands]


def main(values: dict[str, object], operands: list[str]) -> int:
    return show(values, [[opened(named(directory)) for directory in group] for group in _groups(values, operands)])
