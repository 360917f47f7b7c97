# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report --messages, --waits, --critical-path`: what ranks did with each other."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Any

from spartito._analyse import Error
from spartito.base.messages import Refused
from spartito.base.text import Column, Output, count, name, percent, plural, seconds, shortened, size
from spartito.experiment.naming import rank_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito._analyse import Model

VIEWS = ("messages", "waits", "critical_path")
MANY_EVENTS = 20_000_000  # reading more takes seconds, which only who asks for it waits
SOME_EVENTS = 2_000_000  # reading these takes a quarter of a second
PATH = Column("call path", left=True, style="cyan")


def option(view: str) -> str:
    return "--" + view.replace("_", "-")


class Ranks:
    """Names of processes."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.names = rank_names(info)

    def __getitem__(self, process: int | None) -> str:
        return "not measured" if process is None else self.names[process]


def _asked(view: str, info: dict[str, Any], find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    if not info["worlds"]:
        if view == "waits":
            threads = "what threads wait for was not recorded, which `spartito run --waits` does"
            raise Refused(f"{option(view)}: {threads}; and there is no MPI in this experiment")
        raise Refused(f"{option(view)}: no MPI was recorded in this experiment")
    if not info["traced"]:
        raise Refused(f"{option(view)} needs the trace: run with --trace")
    try:
        return find()
    except Error as e:
        raise Refused(f"{option(view)}: {e}") from None


def gather(view: str, model: Model, info: dict[str, Any]) -> dict[str, Any]:
    """Everything about one of VIEWS."""
    if view == "messages":
        groups = ("pair", "comm", "path", "sender", "receiver", "all")
        found = _asked(view, info, lambda: model.messages(groups))
    elif view == "waits":
        found = _asked(view, info, model.waits)
    else:
        found = _asked(view, info, model.critical_path)
    found["ranks"] = Ranks(info).names
    numbers = found.get("found", found)
    # of messages the table says it
    found["notes"] = [*([] if view == "messages" else missing_sentences(numbers)), *clock_sentences(numbers)]
    return found


def write(view: str, out: Output, found: dict[str, Any], info: dict[str, Any], limit: int) -> None:
    {"messages": _messages, "waits": _waits, "critical_path": _critical_path}[view](out, found, info, limit)
    for sentence in found["notes"]:
        out.line(sentence)


def _table(
    out: Output, columns: list[Column], rows: list[Any], cells: Callable[[Any], tuple[str, ...]], limit: int
) -> None:
    """The first rows of a table, and how many there are more; limit 0: all."""
    shown = rows[:limit] if limit else rows
    out.table(columns, [cells(row) for row in shown])
    if len(shown) < len(rows):
        out.line(f"… {count(len(rows) - len(shown))} more")


# ---- messages ----


def clock_sentences(found: dict[str, Any]) -> list[str]:
    lines = []
    if found["early"]:
        lines.append(
            f"{count(found['early'])} of {plural(found['messages'], 'message')} came before they were sent, by up to "
            f"{seconds(found['early_worst'])}: the clocks of the processes do not agree better than that"
        )
    if found["early_operations"]:
        lines.append(
            f"in {count(found['early_operations'])} of {plural(found['operations'], 'collective operation')} a rank left "
            f"before those came that it depends on, by up to {seconds(found['early_operations_worst'])}: "
            "the clocks of the processes do not agree better than that"
        )
    return lines


def missing_sentences(found: dict[str, Any]) -> list[str]:
    """What has no partner in the trace."""
    lines = []
    if found["unmatched_sends"] or found["unmatched_receives"]:
        lines.append(_lost(found))
    if found["incomplete"]:
        lines.append(
            f"of {count(found['incomplete'])} of {plural(found['operations'], 'collective operation')} not all parts are "
            "recorded: a process ended early, recorded only at times, or lost events"
        )
    return lines


def check(model: Model, info: dict[str, Any]) -> dict[str, Any] | None:
    """The numbers of messages, where it takes no time worth mentioning to find them; None: there are none."""
    if not info["traced"] or info["events"] > MANY_EVENTS:
        return None
    try:
        found = model.messages(("comm",))
    except Error:
        return None
    del found["rows"], found["stacks"]
    return found


def _sum(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda r: (-r["bytes"], -r["messages"], r[key] is None, r[key] or 0))


def _lost(found: dict[str, Any]) -> str:
    sends, receives = found["unmatched_sends"], found["unmatched_receives"]
    if not sends and not receives:
        return "every message that was sent was received"
    text = f"no receive was found of {plural(sends, 'message')} and no send of {count(receives)}"
    if found["unmeasured"]:
        text += f" ({count(found['unmeasured'])} of these with processes that were not measured)"
    return text


def _comm(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    if row["name"]:
        return name(row["name"])
    parent = next((r["name"] for r in rows if r["comm"] == row["parent"]), "")
    made = f", made from {name(parent)}" if parent else ""
    return f"number {row['comm']} ({plural(row['size'], 'rank')}{made})"


def _messages(out: Output, found: dict[str, Any], info: dict[str, Any], limit: int) -> None:
    ranks = Ranks(info)
    numbers = (Column("messages"), Column("bytes"), Column("time"))

    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        return (count(row["messages"]), size(row["bytes"]), seconds(row["time"]))

    rows = found["rows"]
    if not rows["pair"] and not found["unmatched_receives"]:
        out.line("no messages from rank to rank")
        return
    columns = [*numbers, Column("from rank"), Column("to rank")]
    _table(out, columns, _sum(rows["pair"], "from"), lambda r: (*cells(r), ranks[r["from"]], ranks[r["to"]]), limit)
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

    _table(out, columns, each, ends, limit)
    out.line()
    columns = [*numbers, Column("communicator", left=True, style="cyan")]
    _table(out, columns, _sum(rows["comm"], "comm"), lambda r: (*cells(r), _comm(r, rows["comm"])), limit)
    out.line()
    columns = [*numbers, Column("sent in", left=True, style="cyan")]
    _table(out, columns, _sum(rows["path"], "path"), lambda r: (*cells(r), shortened(found["stacks"][r["path"]])), limit)
    out.line()
    out.line(f"{plural(found['messages'], 'message')}, {size(found['bytes'])}; {_lost(found)}")


def write_csv(found: dict[str, Any]) -> None:
    """The matrix with everything that is told apart, ranks as numbers."""
    comms = {r["comm"]: r["name"] for r in found["rows"]["comm"]}
    ranks = found["ranks"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("from", "to", "communicator", "name", "sent_in", "messages", "bytes", "received", "seconds"))
    for r in found["rows"]["all"]:
        ends = ["" if r[key] is None else ranks[r[key]] for key in ("from", "to")]
        where = " > ".join(found["stacks"][r["path"]])
        numbers = (r["messages"], r["bytes"], r["received"], f"{r['time']:.9f}")
        writer.writerow((*ends, r["comm"], comms[r["comm"]], where, *numbers))


# ---- waits ----


def remarks(model: Model, info: dict[str, Any]) -> list[str]:
    """What a report about something else says of waiting, and of what there is to doubt."""
    if not info["traced"] or info["events"] > SOME_EVENTS:
        return []
    try:
        found = model.waits()
    except Error:
        return []
    lines = [*missing_sentences(found["found"]), *clock_sentences(found["found"])]
    waited = sum(row["time"] for row in found["rows"])
    busy = sum(loc["busy"] for loc in info["locations"])
    if waited:
        lines.append(
            f"{percent(waited, busy)} % of the time, {seconds(waited)}, was waiting for other ranks in MPI; --waits shows where"
        )
    return lines


class Waiting:
    """Waits of one kind in one call path."""

    def __init__(self) -> None:
        self.time = 0.0
        self.by: dict[int, float] = {}
        self.on: dict[int, float] = {}

    def add(self, row: dict[str, Any]) -> None:
        self.time += row["time"]
        self.by[row["process"]] = self.by.get(row["process"], 0.0) + row["time"]
        if row["on"] is not None:
            self.on[row["on"]] = self.on.get(row["on"], 0.0) + row["time"]


def _most(found: dict[int, float], whole: float, ranks: Ranks) -> str:
    if not found:
        return ""
    which = max(found, key=lambda p: (found[p], -p))
    return f"{ranks[which]} ({percent(found[which], whole)} %)"


def _waiting_ranks(
    out: Output, pairs: dict[tuple[int, int], float], found: dict[str, Any], info: dict[str, Any], limit: int
) -> None:
    """How long each rank waited, and how long others waited for it."""
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
        own = waited.get(p, 0.0)
        return (seconds(own), percent(own, busy.get(p, 0.0)), seconds(caused.get(p, 0.0)), ranks[p])

    _table(out, [Column(t) for t in titles], both, cells, limit)


def _waits(out: Output, found: dict[str, Any], info: dict[str, Any], limit: int) -> None:
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
        out.line("nobody waited for anybody")
        return
    out.table([Column("time"), Column("% of all"), Column("times"), Column("waiting", left=True)], lines)
    shown = {k: m["shown"] for m in reversed(metrics) for k in m["kinds"]}
    shown.update({k: "Late Sender, wrong order" for k in metrics[1]["kinds"]})
    where: dict[tuple[int, int], Waiting] = {}
    pairs: dict[tuple[int, int], float] = {}
    for row in found["rows"]:
        where.setdefault((row["path"], row["kind"]), Waiting()).add(row)
        if row["on"] is not None:
            pair = (row["process"], row["on"])
            pairs[pair] = pairs.get(pair, 0.0) + row["time"]
    out.line()
    places = sorted(where.items(), key=lambda item: (-item[1].time, item[0]))
    titles = (Column("time"), Column("ranks"), Column("most in"), Column("most for"), Column("waiting", left=True))

    def cells(place: Any) -> tuple[str, ...]:
        (path, kind), w = place
        extremes = (_most(w.by, w.time, ranks), _most(w.on, w.time, ranks))
        return (seconds(w.time), count(len(w.by)), *extremes, shown[kind], shortened(found["stacks"][path]))

    _table(out, [*titles, PATH], places, cells, limit)
    out.line()
    _waiting_ranks(out, pairs, found, info, limit)
    out.line()
    heaviest = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    columns = [Column("time"), Column("rank waited"), Column("for rank")]
    _table(out, columns, heaviest, lambda row: (seconds(row[1]), ranks[row[0][0]], ranks[row[0][1]]), limit)


# ---- critical path ----


def _critical_path(out: Output, found: dict[str, Any], info: dict[str, Any], limit: int) -> None:
    ranks = Ranks(info)
    whole = found["length"]
    regions = sorted(found["regions"], key=lambda r: (-r["time"], r["name"]))
    columns = [Column("time"), Column("%"), Column("10 % faster saves"), Column("function", left=True, style="cyan")]

    def cells(r: dict[str, Any]) -> tuple[str, ...]:
        least, most = seconds(r["at_least"]), seconds(r["at_most"])
        saves = most if least == most else f"{least} – {most}"
        return (seconds(r["time"]), percent(r["time"], whole), saves, name(r["name"]))

    def on_path(p: dict[str, Any]) -> tuple[str, ...]:
        return (seconds(p["time"]), percent(p["time"], whole), shortened(found["stacks"][p["path"]]) or "<root>")

    _table(out, columns, regions, cells, limit)
    out.line()
    paths = sorted(found["paths"], key=lambda p: (-p["time"], p["path"]))
    _table(out, [Column("time"), Column("%"), PATH], paths, on_path, limit)
    out.line()
    of: dict[int, float] = {}
    for location, time in zip(info["locations"], found["locations"]):
        of[location["process"]] = of.get(location["process"], 0.0) + time
    longest = sorted((p for p in of if of[p] > 0), key=lambda p: (-of[p], p))
    columns = [Column("time"), Column("%"), Column("rank")]
    _table(out, columns, longest, lambda p: (seconds(of[p]), percent(of[p], whole), ranks[p]), limit)
    out.line()
    out.line(
        f"the critical path is {seconds(whole)} long, touches {plural(len(longest), 'rank')} and goes "
        f"{plural(found['jumps'], 'time')} from one to another"
    )
