# SPDX-License-Identifier: BSD-3-Clause
"""spartito merge: one file of what all processes hold together."""

from __future__ import annotations

from typing import Any

from spartito._analyse import Error, Model
from spartito.base.messages import Refused
from spartito.base.text import count, size, standard_output
from spartito.experiment import conversion, lod, mpiranks
from spartito.experiment.reading import check, one_directory


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_directory("merge", operands)
    ranks = mpiranks.find()
    try:
        check(directory)
        done = conversion.merge(directory, bool(values.get("force")), bool(values.get("quiet")), ranks)
    except (Refused, Error, OSError):
        # all ranks fail alike, and one says why
        if ranks and ranks.rank:
            ranks.job.let_speak()
            return 1
        raise
    if ranks and ranks.rank:
        return 0
    if not values.get("quiet"):
        _tell(directory, done)
    if not values.get("no_pyramid") and lod.may_be_large(directory):
        model = Model(directory)
        if lod.is_large(model):
            lod.make(model, directory, bool(values.get("quiet")))
    return 0


def _tell(directory: str, done: dict[str, Any]) -> None:
    out = standard_output()
    if done["current"]:
        out.line(f"{directory}: merged before, and nothing has changed since (--force: merge again)")
        return
    processes = "1 process" if done["processes"] == 1 else f"{count(done['processes'])} processes"
    out.line(
        f"{directory}: merged {processes} with {count(done['locations'])} threads and {count(done['paths'] - 1)} call paths "
        f"({size(done['bytes'])})"
    )
