# SPDX-License-Identifier: BSD-3-Clause
"""spartito compress: make an experiment smaller."""

from __future__ import annotations

from spartito.base.text import size, standard_output
from spartito.experiment import conversion
from spartito.experiment.reading import check, one_directory


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_directory("compress", operands)
    check(directory)
    before, after = conversion.compress(directory)
    how = "nothing to gain" if after == before else f"{100 * after / before:.0f} %"
    standard_output().line(f"{directory}: {size(before)} before, {size(after)} now ({how})")
    return 0
