# SPDX-License-Identifier: BSD-3-Clause
"""spartito unpack: restores an experiment from the file that `spartito pack` wrote."""

from __future__ import annotations

import os

from spartito.base.messages import Refused
from spartito.base.text import plural, size, standard_output
from spartito.experiments import packfile
from spartito.experiments.reading import PACKED, named
from spartito.options.table import Usage


def main(values: dict[str, object], operands: list[str]) -> int:
    if not operands:
        raise Usage("no file given: spartito unpack FILE")
    if len(operands) > 1:
        raise Usage(f"one file at a time, not also {operands[1]!r}")
    path = named(operands[0])
    if not os.path.lexists(path):
        raise Refused(f"{path}: there is no such file")
    if not os.path.isfile(path):
        raise Refused(f"{path} is not a file")
    directory = str(values.get("output") or path.removesuffix(PACKED))
    if directory == path:
        raise Usage(f"{path} does not end with {PACKED}: name the directory with -o")
    directory = os.path.normpath(directory)
    files, total = packfile.unpacked(path, directory, 0 if values.get("any_size") else packfile.ALWAYS_ALLOWED)
    standard_output().line(f"wrote {directory}: {plural(files, 'file')}, {size(total)}")
    return 0
