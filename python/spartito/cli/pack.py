# SPDX-License-Identifier: BSD-3-Clause
"""spartito pack: packs an experiment into one compressed file."""

from __future__ import annotations

import os

from spartito._analyse import Error, keep_symbols
from spartito.base.messages import Refused, complain
from spartito.base.text import size, standard_output
from spartito.experiments import finalization, packfile
from spartito.experiments.reading import PACKED, beside, check, one_directory


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_directory("pack", operands)
    check(directory)
    path = str(values.get("output") or beside(directory, PACKED))
    if os.path.isdir(path):
        raise Refused(f"{path} is a directory: name a file with -o")
    inside = os.path.realpath(directory) + os.sep
    if os.path.realpath(path).startswith(inside):
        raise Refused(f"{path} would be in the experiment that it packs: name another file with -o")
    finalization.refuse_unfinished(directory, "packed")
    try:
        keep_symbols(directory)
    except Error as e:
        if not os.path.isdir(os.path.join(directory, "raw")):
            raise
        complain(f"{e}: compiled functions may have no names elsewhere")
    before, after, left_out = packfile.written(directory, path, bool(values.get("force")))
    for text in left_out:
        complain(f"{directory}: not packed: {text}")
    how = f" ({100 * after / before:.0f} %)" if before else ""
    standard_output().line(f"wrote {path}: {size(before)} before, {size(after)} now{how}")
    return 0
