# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report critical-path`: the chain of activities that determines the length of an MPI run."""

from __future__ import annotations

from typing import Any

from spartito.base.text import Column, Output, name, percent, plural, seconds, shortened
from spartito.report.mpitable import PATH, Ranks, clock_sentences, from_trace, limited, missing_sentences
from spartito.report.protocol import Query, Report


class CriticalPath(Report):
    name = "critical-path"

    def gather(self, query: Query) -> dict[str, Any]:
        found = from_trace(query, query.model.critical_path)
        return {**found, "notes": [*missing_sentences(found["found"]), *clock_sentences(found["found"])]}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        _write(out, found, query)
        for note in found["notes"]:
            out.line(note)


def _write(out: Output, found: dict[str, Any], query: Query) -> None:
    info, limit = query.info, query.limit
    ranks = Ranks(info)
    whole = found["length"]
    regions = sorted(found["regions"], key=lambda r: (-r["time"], r["name"]))
    columns = [Column(title) for title in ("time", "waiting", "%", "10 % faster saves")]
    columns.append(Column("function", left=True, style="cyan"))

    def cells(r: dict[str, Any]) -> tuple[str, ...]:
        least, most = seconds(r["at_least"]), seconds(r["at_most"])
        saves = most if least == most else f"{least} – {most}"
        return (seconds(r["time"]), seconds(r["waiting"]), percent(r["time"], whole), saves, name(r["name"]))

    def on_path(p: dict[str, Any]) -> tuple[str, ...]:
        stack = shortened(found["stacks"][p["path"]]) or "<root>"
        return (seconds(p["time"]), seconds(p["waiting"]), percent(p["time"], whole), stack)

    limited(out, columns, regions, cells, limit)
    out.line()
    paths = sorted(found["paths"], key=lambda p: (-p["time"], p["path"]))
    limited(out, [Column("time"), Column("waiting"), Column("%"), PATH], paths, on_path, limit)
    out.line()
    of: dict[int, float] = {}
    for location, time in zip(info["locations"], found["locations"]):
        of[location["process"]] = of.get(location["process"], 0.0) + time
    longest = sorted((p for p in of if of[p] > 0), key=lambda p: (-of[p], p))
    columns = [Column("time"), Column("%"), Column("rank")]
    limited(out, columns, longest, lambda p: (seconds(of[p]), percent(of[p], whole), ranks[p]), limit)
    out.line()
    out.line(
        f"the critical path is {seconds(whole)} long, touches {plural(len(longest), 'rank')} and goes "
        f"{plural(found['jumps'], 'time')} from one to another"
    )
