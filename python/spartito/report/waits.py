# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report waits`: off-CPU time, waits of threads (`run --waits`), of tasks, and of MPI ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spartito.experiments import contents, waiting
from spartito.report import locktable, mpiwaits
from spartito.report.mpitable import clock_sentences, from_trace, missing_sentences
from spartito.report.protocol import Query, Report
from spartito.report.waittables import awaits, offcpu

if TYPE_CHECKING:
    from spartito.base.text import Output


class Waits(Report):
    name = "waits"

    def gather(self, query: Query) -> dict[str, Any]:
        threads, split = locktable.recorded(query.info), contents.split(query.info)
        found: dict[str, Any] = {"notes": []}
        if split:
            found["off_cpu"] = waiting.rows(query.model)
        if threads:
            found.update(query.model.locks())
            found["awaits"] = awaits.rows(found)
        elif not query.info["worlds"] and not split:
            raise query.lacks("it contains neither waits of threads, which `spartito run --waits` records, nor MPI")
        if (not threads and query.info["worlds"]) or (query.info["traced"] and query.info["worlds"]):
            of_mpi = from_trace(query, query.model.waits)
            found.update(of_mpi)
            found["notes"] = [*missing_sentences(of_mpi["found"]), *clock_sentences(of_mpi["found"])]
        return found

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        if "waits" in found:
            locktable.write(out, found, query.info, query.limit)
            awaits.write(out, found["awaits"], query.limit)
        if "off_cpu" in found:
            if "waits" in found:
                out.line()
            offcpu.write(out, found["off_cpu"], query.info, query.limit)
        if "ranks" in found:
            if "waits" in found or "off_cpu" in found:
                out.line()
            mpiwaits.write(out, found, query.info, query.limit)
        for note in found["notes"]:
            out.line(note)
