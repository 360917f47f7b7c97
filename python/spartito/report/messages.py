# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report messages`: MPI messages by sender, receiver, communicator and call path of the send."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from spartito.base.text import Column, Output, count, name, plural, seconds, shortened, size
from spartito.options.kinds import Usage
from spartito.report.mpitable import Ranks, clock_sentences, from_trace, limited, lost
from spartito.report.protocol import Query, Report

if TYPE_CHECKING:
    from typing import TextIO

GROUPS = ("pair", "comm", "path", "sender", "receiver", "all")


class Messages(Report):
    name = "messages"

    def check(self, options: dict[str, object]) -> None:
        if options.get("csv") and options.get("json"):
            raise Usage("--csv and --json exclude each other")

    def gather(self, query: Query) -> dict[str, Any]:
        found = from_trace(query, lambda: query.model.messages(GROUPS))
        return {**found, "notes": clock_sentences(found)}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        if query.given("csv"):
            _write_csv(found, out.stream)
            return
        _write(out, found, query)
        for note in found["notes"]:
            out.line(note)


def _sum(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda r: (-r["bytes"], -r["messages"], r[key] is None, r[key] or 0))


def _comm(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    if row["name"]:
        return name(row["name"])
    parent = next((r["name"] for r in rows if r["comm"] == row["parent"]), "")
    made = f", made from {name(parent)}" if parent else ""
    return f"number {row['comm']} ({plural(row['size'], 'rank')}{made})"


def _write(out: Output, found: dict[str, Any], query: Query) -> None:
    ranks, limit = Ranks(query.info), query.limit
    numbers = (Column("messages"), Column("bytes"), Column("time"))

    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        return (count(row["messages"]), size(row["bytes"]), seconds(row["time"]))

    rows = found["rows"]
    if not rows["pair"] and not found["unmatched_receives"]:
        out.line("no messages from rank to rank")
        return
    columns = [*numbers, Column("from rank"), Column("to rank")]
    limited(out, columns, _sum(rows["pair"], "from"), lambda r: (*cells(r), ranks[r["from"]], ranks[r["to"]]), limit)
    out.line()
    received = {r["to"]: r for r in rows["receiver"]}
    sent = {r["from"]: r for r in rows["sender"]}
    none = {"messages": 0, "bytes": 0}
    each = [(p, sent.get(p, none), received.get(p, none)) for p in {*sent, *received}]
    each.sort(key=lambda r: (-r[1]["bytes"] - r[2]["bytes"], r[0] is None, r[0] or 0))
    columns = [Column(t) for t in ("sent", "bytes sent", "received", "bytes received", "rank")]

    def ends(row: Any) -> tuple[str, ...]:
        p, s, r = row
        return (count(s["messages"]), size(s["bytes"]), count(r["messages"]), size(r["bytes"]), ranks[p])

    limited(out, columns, each, ends, limit)
    out.line()
    columns = [*numbers, Column("communicator", left=True, style="cyan")]
    limited(out, columns, _sum(rows["comm"], "comm"), lambda r: (*cells(r), _comm(r, rows["comm"])), limit)
    out.line()
    columns = [*numbers, Column("sent in", left=True, style="cyan")]
    limited(out, columns, _sum(rows["path"], "path"), lambda r: (*cells(r), shortened(found["stacks"][r["path"]])), limit)
    out.line()
    out.line(f"{plural(found['messages'], 'message')}, {size(found['bytes'])}; {lost(found)}")


def _write_csv(found: dict[str, Any], stream: TextIO) -> None:
    """Writes a line for each combination of sender, receiver, communicator and call path. Ranks are numbers."""
    comms = {r["comm"]: r["name"] for r in found["rows"]["comm"]}
    ranks = found["ranks"]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("from", "to", "communicator", "name", "sent_in", "messages", "bytes", "received", "seconds"))
    for r in found["rows"]["all"]:
        ends = ["" if r[key] is None else ranks[r[key]] for key in ("from", "to")]
        where = " > ".join(found["stacks"][r["path"]])
        numbers = (r["messages"], r["bytes"], r["received"], f"{r['time']:.9f}")
        writer.writerow((*ends, r["comm"], comms[r["comm"]], where, *numbers))
