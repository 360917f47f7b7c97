# SPDX-License-Identifier: BSD-3-Clause
"""spartito merge: one file of what all processes hold together."""

from __future__ import annotations

from spartito import conversion, mpiranks
from spartito._analyse import Error
from spartito.reading import check, one_directory
from spartito.say import Refused
from spartito.text import count, size, standard_output


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_directory("merge", operands)
    ranks = mpiranks.find()
    try:
        check(directory)
        done = conversion.merge(directory, bool(values.get("force")), bool(values.get("quiet")), ranks)
    except (Refused, Error, OSError):
        # all ranks fail alike, and one says why
        if ranks and ranks.rank:
            return 1
        raise
    if values.get("quiet") or (ranks and ranks.rank):
        return 0
    out = standard_output()
    if done["current"]:
        out.line(f"{directory}: merged before, and nothing has changed since (--force: merge again)")
        return 0
    processes = "1 process" if done["processes"] == 1 else f"{count(done['processes'])} processes"
    out.line(
        f"{directory}: merged {processes} with {count(done['locations'])} threads and {count(done['paths'] - 1)} call paths "
        f"({size(done['bytes'])})"
    )
    return 0
