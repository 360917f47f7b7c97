# SPDX-License-Identifier: BSD-3-Clause
"""The MPI wait states in `spartito report waits`: which rank waited for which other, how and where."""

from __future__ import annotations

from typing import Any

from spartito.base.text import Column, Output, count, percent, seconds, shortened
from spartito.report.mpitable import PATH, Ranks, limited


class Waiting:
    """The waits of one kind in one call path. time: in s. by, on: time for each waiting process, and for each process waited
    for."""

    def __init__(self) -> None:
        self.time = 0.0
        self.by: dict[int, float] = {}
        self.on: dict[int, float] = {}

    def add(self, row: dict[str, Any]) -> None:
        self.time += row["time"]
        self.by[row["process"]] = self.by.get(row["process"], 0.0) + row["time"]
        if row["on"] is not None:
            self.on[row["on"]] = self.on.get(row["on"], 0.0) + row["time"]


def _main_rank(found: dict[int, float], whole: float, ranks: Ranks) -> str:
    """The process with the most time, with its share of `whole`."""
    if not found:
        return ""
    which = max(found, key=lambda p: (found[p], -p))
    return f"{ranks[which]} ({percent(found[which], whole)} %)"


def _waiting_ranks(
    out: Output, pairs: dict[tuple[int, int], float], found: dict[str, Any], info: dict[str, Any], limit: int
) -> None:
    """Writes how long each rank waited, and how long others waited for it."""
    waited: dict[int, float] = {}
    caused: dict[int, float] = {}
    busy: dict[int, float] = {}
    for row in found["rows"]:
        waited[row["process"]] = waited.get(row["process"], 0.0) + row["time"]
    for (_, on), time in pairs.items():
        caused[on] = caused.get(on, 0.0) + time
    for loc in info["locations"]:
        busy[loc["process"]] = busy.get(loc["process"], 0.0) + loc["busy"]
    ranks = Ranks(info)
    both = sorted({*waited, *caused}, key=lambda p: (-caused.get(p, 0.0), p))
    titles = ("waited", "% of its time", "others waited for it", "rank")

    def cells(p: int) -> tuple[str, ...]:
        time = waited.get(p, 0.0)
        return (seconds(time), percent(time, busy.get(p, 0.0)), seconds(caused.get(p, 0.0)), ranks[p])

    limited(out, [Column(t) for t in titles], both, cells, limit)


def kind_names(metrics: list[dict[str, Any]]) -> dict[int, str]:
    """The titles of the kinds in rows of Model.waits(). metrics: from the same result."""
    names = {k: str(m["shown"]) for m in reversed(metrics) for k in m["kinds"]}
    names.update({k: "Late Sender, wrong order" for k in metrics[1]["kinds"]})
    return names


def write(out: Output, found: dict[str, Any], info: dict[str, Any], limit: int) -> None:
    ranks = Ranks(info)
    busy = sum(loc["busy"] for loc in info["locations"])
    metrics = found["metrics"]
    lines = []
    for m in metrics:
        depth, up = 0, m["parent"]
        while up is not None:
            depth, up = depth + 1, metrics[up]["parent"]
        if m["count"]:
            lines.append((seconds(m["time"]), percent(m["time"], busy), count(m["count"]), "  " * depth + m["shown"]))
    if not lines:
        out.line("no rank waited for another")
        return
    out.table([Column("time"), Column("% of all"), Column("times"), Column("waiting", left=True)], lines)
    shown = kind_names(metrics)
    where: dict[tuple[int, int], Waiting] = {}
    pairs: dict[tuple[int, int], float] = {}
    for row in found["rows"]:
        where.setdefault((row["path"], row["kind"]), Waiting()).add(row)
        if row["on"] is not None:
            pair = (row["process"], row["on"])
            pairs[pair] = pairs.get(pair, 0.0) + row["time"]
    out.line()
    places = sorted(where.items(), key=lambda item: (-item[1].time, item[0]))
    titles = (Column("time"), Column("ranks"), Column("main waiter"), Column("main cause"), Column("waiting", left=True))

    def cells(place: Any) -> tuple[str, ...]:
        (path, kind), w = place
        extremes = (_main_rank(w.by, w.time, ranks), _main_rank(w.on, w.time, ranks))
        return (seconds(w.time), count(len(w.by)), *extremes, shown[kind], shortened(found["stacks"][path]))

    limited(out, [*titles, PATH], places, cells, limit)
    out.line()
    _waiting_ranks(out, pairs, found, info, limit)
    out.line()
    heaviest = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    columns = [Column("time"), Column("rank waited"), Column("for rank")]
    limited(out, columns, heaviest, lambda row: (seconds(row[1]), ranks[row[0][0]], ranks[row[0][1]]), limit)
