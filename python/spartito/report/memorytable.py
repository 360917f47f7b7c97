# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report memory`: allocations by line and call path, the peak, memory left at the end, and the heap over time."""

from __future__ import annotations

import bisect
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused
from spartito.base.text import Column, Output, count, name, percent, plural, seconds, shortened, size
from spartito.experiments.contents import is_recorded, settings
from spartito.experiments.naming import title
from spartito.experiments.ownfiles import own_files
from spartito.report.protocol import Query, Report

if TYPE_CHECKING:
    from spartito._analyse import Model

LINE = ("function", "file", "line", "within")  # keys that identify the source line of a site
CHART_WIDTH, CHART_HEIGHT = 64, 6
# keys of a site that are added when sites are summed up
SUMS = (
    "count", "bytes", "freed", "freed_bytes", "elsewhere", "temporary", "temporary_bytes",
    "peak", "peak_bytes", "left", "left_bytes",
)  # fmt: skip
MAX_PROCESSES = 4  # shown separately; more are summed up
BLOCKS = " ▁▂▃▄▅▆▇█"


def tree(rows: list[dict[str, Any]], threshold: float, limit: int) -> list[dict[str, Any]]:
    """Sorts and filters the rows of Model.tree() by allocated bytes instead of time. rows: the whole tree. Call paths are left out
    that allocated less than the share `threshold` of all bytes (0 to 1), or that are not among the `limit` largest ones (0:
    all)."""
    callees: list[list[int]] = [[] for _ in rows]
    above: list[int] = []  # callers of the current row, one for each depth
    outermost: list[int] = []
    for i, row in enumerate(rows):
        del above[row["depth"] :]
        (callees[above[-1]] if above else outermost).append(i)
        above.append(i)
    bytes_of = [row["metrics"]["allocated"]["incl"] for row in rows]
    whole = sum(bytes_of[i] for i in outermost)
    by_size = sorted(range(len(rows)), key=lambda i: (-bytes_of[i], i))
    shown = {i for i in by_size[: limit or len(rows)] if bytes_of[i] >= threshold * whole}
    out: list[dict[str, Any]] = []
    missing = sum(i not in shown for i in outermost)
    if missing:
        nothing = {metric: {"incl": 0, "excl": 0} for metric in rows[0]["metrics"]}
        more = {"kind": "root", "name": "", "depth": 0, "metrics": nothing, "hidden": missing, "hidden_time": 0.0}
        out.append({**dict.fromkeys(rows[0]), **more})
    todo = sorted((i for i in outermost if i in shown), key=lambda i: bytes_of[i])
    while todo:
        i = todo.pop()
        below = [k for k in callees[i] if k in shown]
        out.append({**rows[i], "hidden": rows[i]["hidden"] + len(callees[i]) - len(below), "hidden_time": 0.0})
        todo += sorted(below, key=lambda k: bytes_of[k])
    return out


def _place(function: str, line: int) -> str:
    return f"{name(function)}, line {line}" if line else name(function)


def place(row: dict[str, Any]) -> str:
    """The source location of a site: "module:function, line 12, in library:function, line 3". Without a function, the interpreter
    or a library allocated the memory."""
    if not row["function"]:
        return "(line not known)"
    return _place(row["function"], row["line"]) + (f", in {row['within']}" if row.get("within") else "")


def _own_files(model: Model, info: dict[str, Any]) -> dict[str, str]:
    """{name: file} of the program's own functions."""
    is_own = own_files(info)
    return {row["name"]: row["file"] for row in model.flat() if row["kind"] == "python" and is_own(row["file"])}


def with_own(model: Model, info: dict[str, Any], found: dict[str, Any]) -> list[dict[str, Any]]:
    """The sites of Model.memory(), attributed to lines of the program. If a library allocated the memory, `within` is the location
    in the library. If the program's line was not recorded, it is 0, and the function is that of the call path."""
    own = _own_files(model, info)
    stacks: dict[int, list[str]] = found["stacks"]
    callers = {path: next((f for f in reversed(stack) if f in own), None) for path, stack in stacks.items()}
    sites = []
    for site in found["sites"]:
        function, file, line = site["own_function"], site["own_file"], site["own_line"]
        if function is None and site["function"] not in own:
            function = callers.get(site["path"])
            file, line = own.get(function or ""), 0
        within = None
        if function is not None and site["function"]:
            within = _place(site["function"], site["line"])
        if function is not None:
            site = {**site, "function": function, "file": file, "line": line}
        sites.append({**site, "within": within})
    return sites


def summed(sites: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Groups sites with equal values of `keys`. A group has these keys, the sums of SUMS, and the list `sites`."""
    groups: dict[object, list[dict[str, Any]]] = {}
    key_of, numbers_of = itemgetter(*keys), itemgetter(*SUMS)
    for site in sites:
        groups.setdefault(key_of(site), []).append(site)
    return [
        {**{k: alike[0][k] for k in keys}, **dict(zip(SUMS, map(sum, zip(*map(numbers_of, alike))))), "sites": alike}
        for alike in groups.values()
    ]


def by_line(sites: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sites grouped by source line."""
    return summed(sites, LINE)


def largest(rows: list[dict[str, Any]], what: str, limit: int) -> list[dict[str, Any]]:
    """The `limit` rows (0: all) with the largest values of the key `what`, without those with 0."""
    found = sorted((row for row in rows if row[what]), key=lambda row: -row[what])
    return found[:limit] if limit else found


def gather(model: Model, info: dict[str, Any], limit: int, process: int = -1) -> dict[str, Any]:
    """The data of the report, for one process or for all (-1).

    dict(totals, processes (each with its totals in `sums`), allocators, stacks, and lists of at most `limit` rows: threads; peak
    (lines with memory at the peaks of processes); allocated, left (with `kept`), temporary (lines); paths (call paths with memory
    at the peaks)). Refused: no memory was recorded."""
    if not is_recorded(info):
        raise Refused("no memory was recorded; `spartito run --memory-profile` or `--memory-sample 512K` records it")
    found = model.memory()
    sites = [site for site in with_own(model, info, found) if process in (-1, site["process"])]
    processes = [p for p in found["processes"] if process in (-1, p["process"])]
    if not processes:
        raise Refused(f"no memory was recorded in {title(info, process)}")
    sums = {group["process"]: {what: group[what] for what in SUMS} for group in summed(sites, ("process",))}
    nothing = dict.fromkeys(SUMS, 0)
    lines = by_line(sites)
    left = summed([site for site in sites if site["kept"] != "nothing"], ("kept", *LINE))
    kept = {what: sum(row["left_bytes"] for row in left if row["kept"] == what) for what in ("growing", "cache")}
    return {
        "totals": {
            **{what: sum(site[what] for site in sites) for what in SUMS},
            "growing_bytes": kept["growing"],
            "cache_bytes": kept["cache"],
        },
        "processes": [{**p, "sums": sums.get(p["process"], nothing)} for p in processes],
        "allocators": largest(summed(sites, ("allocator",)), "bytes", 0),
        "threads": largest(summed(sites, ("process", "location")), "bytes", limit),
        "peak": largest(lines, "peak_bytes", limit),
        "allocated": largest(lines, "bytes", limit),
        "left": largest(left, "left_bytes", limit),
        "temporary": largest(lines, "temporary_bytes", limit),
        "paths": largest(summed(sites, ("path",)), "peak_bytes", limit),
        "stacks": found["stacks"],
    }


def points(p: dict[str, Any]) -> list[tuple[float, int, int]]:
    """(time in s, heap bytes, resident bytes) of a process over time. Both peaks are inserted, as they may lie between recorded
    points."""
    found = [(at, heap, resident) for at, heap, _, resident in p["series"]]
    for i, peak_time, peak in ((1, p["peak_time"], p["peak_bytes"]), (2, p["resident_peak_time"], p["resident_peak"])):
        if peak_time is None:
            continue
        at = bisect.bisect_right(found, (peak_time, 1 << 64, 0))
        before = found[at - 1] if at else (peak_time, 0, 0)
        found.insert(at, (peak_time, peak, before[2]) if i == 1 else (peak_time, before[1], peak))
    return found


def chart(points: list[tuple[float, int]], width: int = CHART_WIDTH, height: int = CHART_HEIGHT) -> list[str]:
    """A bar chart as lines of text. Each of the `width` columns shows the maximum in its part of the time. Empty: fewer than two
    points."""
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return []
    begin, span = points[0][0], points[-1][0] - points[0][0]
    columns = [-1] * width
    for t, value in points:
        at = min(int((t - begin) / span * width), width - 1)
        columns[at] = max(columns[at], value)
    for i in range(1, width):
        if columns[i] < 0:
            columns[i] = columns[i - 1]  # no point in this part: the value did not change
    top = max(columns) or 1
    rows = []
    for level in range(height, 0, -1):
        cells = (min(max(int(value * height * 8 / top) - (level - 1) * 8, 0), 8) for value in columns)
        label = size(top) if level == height else ""
        rows.append(f"{label:>10} │" + "".join(BLOCKS[cell] for cell in cells))
    rows.append(f"{'0':>10} └" + "─" * width)
    rows.append(f"{'':>11} {seconds(begin):<{width - 10}}{seconds(points[-1][0]):>10}")
    return rows


def _limit(limit: dict[str, Any]) -> str:
    if limit["passed"] is None:
        return f"the limit of {size(limit['bytes'])} resident was not passed"
    return (
        f"the limit of {size(limit['bytes'])} resident was passed after {seconds(limit['passed'])} in "
        f"{place(limit)}, {plural(limit['passes'], 'time')}, {seconds(limit['over'])} in total"
    )


def summary(found: dict[str, Any], info: dict[str, Any]) -> list[str]:
    """Lines for the summary of a run: allocations, peak, limit, and the command that shows more."""
    processes = found["processes"]
    if not processes:
        return []
    several = len(processes) > 1
    highest = max(processes, key=lambda p: p["peak_bytes"])
    line = f"allocated {size(sum(p['allocated'] for p in processes))} in {plural(sum(p['count'] for p in processes), 'block')}"
    where = f" in process {info['processes'][highest['process']]['pid']}" if several else ""
    line += f"; peak {size(highest['peak_bytes'])}{where}"
    if any(p["sample"] for p in processes):
        line += " (estimates)"
    lines = [f"{line}{_cost(processes)}; spartito report memory shows where"]
    passed = [p for p in processes if p["limit"] and (not several or p["limit"]["passed"] is not None)]
    if len(passed) > MAX_PROCESSES:
        return [*lines, _limits(passed)]
    for p in passed:
        who = f"process {info['processes'][p['process']]['pid']}: " if several else ""
        lines.append(who + _limit(p["limit"]))
    return lines


def _cost(processes: list[dict[str, Any]]) -> str:
    """The cost of recording, as the end of a sentence. Empty if it was not measured, as in experiments of older versions."""
    cost = sum(p["cost"] for p in processes)
    return f"; recording took about {seconds(cost)}" if cost else ""


def _limits(processes: list[dict[str, Any]]) -> str:
    """A sentence about the limit in many processes."""
    passed = [p["limit"] for p in processes if p["limit"]["passed"] is not None]
    line = f"the limit of {size(processes[0]['limit']['bytes'])} resident was passed in {plural(len(passed), 'process')}"
    if not passed:
        return line
    first = min(passed, key=lambda limit: float(limit["passed"]))
    return f"{line}, first after {seconds(first['passed'])} in {place(first)}"


def notes(found: dict[str, Any], info: dict[str, Any]) -> list[str]:
    """Sentences about what the numbers lack, and about the limit."""
    if len(found["processes"]) > MAX_PROCESSES:
        return _notes_of_many(found["processes"])
    out = []
    for p in found["processes"]:
        who = f"process {p['process']}: " if len(found["processes"]) > 1 else ""
        if p["sample"]:
            out.append(f"{who}sampled: one block in {size(p['sample'])} was recorded with its weight; numbers are estimates")
        if p["lost"]:
            out.append(f"{who}{plural(p['lost'], 'block')} of {size(p['lost_bytes'])} allocated, but not recorded")
        if p["unknown"]:
            out.append(f"{who}{plural(p['unknown'], 'block')} released that were there before, or were not recorded")
        if p["unnamed"]:
            out.append(f"{who}the names of {plural(p['unnamed'], 'frame')} are not known: their memory counts for their callers")
        if p["limit"]:
            out.append(who + _limit(p["limit"]))
    return out


def _notes_of_many(processes: list[dict[str, Any]]) -> list[str]:
    def total(key: str) -> int:
        return sum(int(p[key]) for p in processes)

    out = []
    for sample in sorted({p["sample"] for p in processes if p["sample"]}):
        out.append(f"sampled: one block in {size(sample)} was recorded with its weight; numbers are estimates")
    for key, text in (
        ("lost", f"{plural(total('lost'), 'block')} of {size(total('lost_bytes'))} allocated, but not recorded"),
        ("unknown", f"{plural(total('unknown'), 'block')} released that were there before, or were not recorded"),
        ("unnamed", f"the names of {plural(total('unnamed'), 'frame')} are not known: their memory counts for their callers"),
    ):
        if total(key):
            out.append(f"{text}, in {plural(sum(bool(p[key]) for p in processes), 'process')}")
    limited = [p for p in processes if p["limit"]]
    return [*out, _limits(limited)] if limited else out


def _write_lines(
    out: Output, title: str, rows: list[dict[str, Any]], what: str, blocks: str, whole: int, kept: bool = False
) -> None:
    if not rows:
        return
    out.line(title, "bold")
    columns = [Column("bytes"), Column("%", rank=2), Column("blocks", rank=1)]
    if kept:
        columns.append(Column("", left=True))
    columns += [Column("where", left=True, style="cyan"), Column("file", left=True, rank=3)]
    out.table(
        columns,
        [
            (
                size(row[what]),
                percent(row[what], whole),
                count(row[blocks]),
                *((row["kept"],) if kept else ()),
                place(row),
                row["file"] or "",
            )
            for row in rows
        ],
    )
    out.line()


def _write_process(out: Output, p: dict[str, Any], info: dict[str, Any]) -> None:
    process = info["processes"][p["process"]]
    rank = f", rank {process['rank']}" if process["rank"] is not None else ""
    out.line(f"process {p['process']}{rank}: {process['command']}", "bold")
    out.line(
        f"allocated {size(p['allocated'])} in {plural(p['count'], 'block')}; peak {size(p['peak_bytes'])} in "
        f"{plural(p['peak_blocks'], 'block')}" + (f" after {seconds(p['peak_time'])}" if p["peak_time"] is not None else "")
    )
    cost = f" and about {seconds(p['cost'])}" if p["cost"] else ""
    out.line(f"resident {size(p['resident_peak'])} at most; recording itself took {size(p['own'])}{cost}")
    out.line()
    heap, resident = [(at, h) for at, h, _ in points(p)], [(at, r) for at, _, r in points(p)]
    for what, values in (("heap", heap), ("resident", resident)):
        rows = chart(values)
        if rows:
            out.line(what)
            for row in rows:
                out.line(row)
    out.line()


def _write_processes(out: Output, processes: list[dict[str, Any]], info: dict[str, Any]) -> None:
    out.line("by process", "bold")
    columns = [Column("allocated"), Column("blocks", rank=1), Column("peak"), Column("left"), Column("resident", rank=2)]
    rows = [
        (
            size(p["allocated"]),
            count(p["count"]),
            size(p["peak_bytes"]),
            size(p["sums"]["left_bytes"]),
            size(p["resident_peak"]),
            title(info, p["process"]),
        )
        for p in processes
    ]
    out.table([*columns, Column("process", left=True, style="cyan")], rows)
    out.line()


def _write_threads(out: Output, threads: list[dict[str, Any]], info: dict[str, Any]) -> None:
    out.line("by thread", "bold")
    columns = (Column("allocated"), Column("blocks", rank=1), Column("at the peak"), Column("left"), Column("process"))
    out.table(
        [*columns, Column("thread", left=True, style="cyan")],
        [
            (
                size(t["bytes"]),
                count(t["count"]),
                size(t["peak_bytes"]),
                size(t["left_bytes"]),
                str(t["process"]),
                info["locations"][t["location"]]["name"] or f"thread {t['location']}",
            )
            for t in threads
        ],
    )
    out.line()


TABLES = ("threads", "peak", "allocated", "left", "temporary", "paths")  # lists with at most --limit rows


class Memory(Report):
    name = "memory"

    def gather(self, query: Query) -> dict[str, Any]:
        found = gather(query.model, query.info, query.limit, query.process)
        return {**found, "notes": notes(found, query.info)}

    def write(self, query: Query, found: dict[str, Any], out: Output) -> None:
        info = query.info
        totals, processes = found["totals"], found["processes"]
        for p in processes if len(processes) <= MAX_PROCESSES else []:
            _write_process(out, p, info)
        if len(processes) > 1:
            _write_processes(out, processes, info)
        _write_lines(out, "there at the peak, by line", found["peak"], "peak_bytes", "peak", totals["peak_bytes"])
        paths = [(size(row["peak_bytes"]), count(row["peak"]), shortened(found["stacks"][row["path"]])) for row in found["paths"]]
        if paths:
            out.line("there at the peak, by call path", "bold")
            out.table([Column("bytes"), Column("blocks", rank=1), Column("call path", left=True, style="cyan")], paths)
            out.line()
        growing, cache = size(totals["growing_bytes"]), size(totals["cache_bytes"])
        title = f"left at the end, by line: {growing} in lines that kept growing, {cache} in lines that were soon complete"
        _write_lines(out, title, found["left"], "left_bytes", "left", totals["left_bytes"], kept=True)
        _write_lines(out, "allocated, by line", found["allocated"], "bytes", "count", totals["bytes"])
        temporary = settings(info).get("temporary", "1")
        others = plural(int(temporary) if temporary.isdecimal() else 1, "other")
        title = f"temporary: released before the thread allocated more than {others} of about that size"
        _write_lines(out, title, found["temporary"], "temporary_bytes", "temporary", totals["bytes"])
        if len(found["threads"]) > 1:
            _write_threads(out, found["threads"], info)
        if query.limit and any(len(found[table]) == query.limit for table in TABLES):
            out.line(f"tables have at most {plural(query.limit, 'row')} (--limit)")
        for note in found["notes"]:
            out.line(note)
        kinds = ", ".join(f"{size(a['bytes'])} by {a['allocator']}" for a in found["allocators"])
        out.line(f"{size(totals['bytes'])} allocated in {plural(totals['count'], 'block')}: {kinds}")
