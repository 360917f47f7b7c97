# SPDX-License-Identifier: BSD-3-Clause
"""Packs the answers to the queries of the views into the one-file page, compressed and within a budget of bytes.

Answers are added in the order of their importance as long as they fit. If the budget is too small, the page omits first detail of
the timeline, then call paths with little time, then the text of source files. For each omission there is a note, which the page and
the terminal show."""

from __future__ import annotations

import base64
import html
import zlib
from array import array
from decimal import Decimal
from urllib.parse import urlencode

from spartito._analyse import Error
from spartito.base.messages import Refused
from spartito.base.text import count, plural, size
from spartito.view import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from typing import Any

    from spartito.view.kinds import Experiment

    # shortens (meta, columns) of an answer to a maximum of rows
    Shortened = Callable[[dict[str, Any], Mapping[str, memoryview], int], tuple[dict[str, Any], Mapping[str, memoryview]]]

MIN_PATHS = 1000
# numbers of functions, and of call paths, with the most time to try if not all fit
FEWER = (2000, 1400, 1000, 700, 500, 350, 250, 180, 120, 80, 50, 30)
ROWS_OF_TABLES = (2000, 400, 200, 100, 50, 25, 12, 6)  # numbers of rows of a table to try
# numbers of paths of a call tree to try: of the whole run, and of one process or thread
PATHS = (200_000, 100_000, 50_000, 20_000, 10_000, 5_000, 2_000, MIN_PATHS)
PATHS_ALONE = (20_000, 5_000, MIN_PATHS)
SELECTIONS = 256  # maximum of processes and threads with a separate call tree
TASKS = 2048  # maximum of tasks with their steps
LOCATIONS = 256  # maximum of threads with their calls
# columns, rows and messages of a tile, as in viewer/src/timeline/data.ts; level n divides the run into 2**n tiles
TILE, ROWS, MESSAGES = 1024, 64, 100_000
FEWER_MESSAGES = 2000  # in a tile of the file; the page shows how many others there are
SMALL = 16 << 10  # bytes below which the uncompressed size of the facts is a good enough estimate
MAX_MISSES = 4  # answers that did not fit, after which no others are tried
LEVELS = 4  # maximum of tile levels
FINE = 4  # factor of columns in tiles of calls, which have exact begin and end times
OF_BOTH = ("balance", "critical", "io", "matrix", "offcpu", "tasks", "waits")  # kinds that the page queries for both runs
GROUPS = 22  # rows of the timeline's overview, as in viewer/src/timeline/data.ts
CURVES = 64  # maximum of threads with separate curves, as in viewer/src/data/curves.ts; for more threads there is the sum
COLUMNS = (TILE, 256, 64)  # numbers of columns to try for curves of metrics and counters
WHOLE = "`spartito view` on the experiment's directory shows all of it"
WHOLE_OF_CELL = "`%spartito_view` shows all of it"


def element(name: str, value: str, data: bytes, effort: int) -> str:
    """An element with data for a script of the page (viewer/src/data/inflate.ts), which finds it by its attribute `name`. effort:
    zlib level."""
    body = base64.b64encode(zlib.compress(data, effort)).decode("ascii")
    return f'<script type="application/octet-stream" {name}="{html.escape(value)}">{body}</script>\n'


class Block:
    """An answer in the page. key: its query; raw: uncompressed bytes; text: its HTML element."""

    __slots__ = ("key", "raw", "text")

    def __init__(self, key: str, data: bytes, effort: int) -> None:
        """effort: zlib level."""
        self.key = key
        self.raw = len(data)
        self.text = element("data-query", key, data, effort)


def key_of(kind: str, parameters: dict[str, str]) -> str:
    """The canonical text of a query, the same as in viewer/src/data/source.ts."""
    return f"{kind}?{urlencode(sorted(parameters.items()))}" if parameters else kind


def number(value: float) -> str:
    """A number as JavaScript formats it."""
    text = repr(value)
    if 1e-6 <= value < 1e21 and "e" in text:
        text = format(Decimal(text), "f")
    mantissa, e, exponent = text.removesuffix(".0").partition("e")
    return mantissa.removesuffix(".0") + (f"e{int(exponent):+d}" if e else "")


class Packing:
    def __init__(self, experiment: Experiment, budget: int, effort: int = 6) -> None:
        """budget: maximum of bytes of all blocks. effort: zlib level."""
        self.experiment = experiment
        self.effort = effort
        self.left = budget
        self.blocks: list[Block] = []
        self.pruned: list[str] = []
        self.fewer = 0  # number of functions and paths in the page; 0: all
        self.facts = experiment.facts()
        self.whole = WHOLE_OF_CELL if self.facts["title"].startswith("In[") else WHOLE

    def _block(self, key: str, data: bytes) -> Block:
        return Block(key, data, self.effort)

    def _made(self, kind: str, asked: dict[str, str], key: dict[str, str] | None = None) -> Block:
        """The block of an answer. asked: parameters of the query. key: parameters of the page's query, if different."""
        return self._block(key_of(kind, asked if key is None else key), self.experiment.get(kind, asked))

    def _take(self, block: Block) -> bool:
        if len(block.text) > self.left:
            return False
        self.left -= len(block.text)
        self.blocks.append(block)
        return True

    # ---- data that every page needs

    def reserve_facts(self, words: int = 8192, times: int = 2) -> None:
        """Reserves bytes for the facts, which are packed last with all notes: `times` their current size, and `words` bytes."""
        raw = payload.pack(self.facts)
        self.left -= times * (len(raw) if times > 1 and len(raw) < SMALL else len(self._block("facts", raw).text)) + words

    def least(self, fewer: int) -> int:
        """The bytes of `fewer` functions and paths."""
        return sum(len(block.text) for block in self._fewer(fewer, ()))

    def core(self, fewer: tuple[int, ...] = (), named: Container[str] = ()) -> None:
        """Adds functions and their flat profile, and reserves bytes for a small call tree. fewer: numbers of functions with the
        most time to try if not all fit. named: functions that always keep their names. Refused: not even the smallest number
        fits."""
        regions, flat = self._made("regions", {}), self._made("flat", {})
        tree = self._made("tree", {"limit": str(MIN_PATHS)}, {})
        short = self._short(regions, flat, tree)
        for limit in fewer:
            if short <= 0:
                break
            regions, flat, tree = self._fewer(limit, named)
            short = self._short(regions, flat, tree)
            self.fewer = limit
        if short > 0:
            raise Refused(f"the names and numbers of the functions alone take {size(short)} more than that")
        meta, columns = payload.unpack(self.experiment.get("flat", {"limit": "1"}))
        ran, time = meta["functions"], "running" if "running" in columns and "base_excl" not in columns else "exclusive"
        if 0 < self.fewer < ran:
            most = f"the {count(self.fewer)} with the most {time} time"
            self.pruned.append(f"Of {count(ran)} functions the table has {most}; {self.whole}.")
        for block in (regions, flat):
            self._take(block)
        self.left -= len(tree.text)
        self.reserved = tree

    def _short(self, *blocks: Block) -> int:
        """The bytes by which these blocks exceed the remaining budget."""
        return sum(len(block.text) for block in blocks) - self.left

    def _fewer(self, limit: int, named: Container[str]) -> tuple[Block, Block, Block]:
        """Blocks of regions, flat and tree with `limit` functions and paths. All regions keep their indices; omitted ones have
        empty names."""
        flat = self.experiment.get("flat", {"limit": str(limit)})
        tree = self.experiment.get("tree", {"limit": str(limit)})
        meta, regions = payload.unpack(self.experiment.get("regions", {}))
        shown = {*payload.unpack(flat)[1]["region"], *payload.unpack(tree)[1]["region"]}
        kept = [i in shown or name in named for i, name in enumerate(meta["names"])]
        for what in ("names", "qualnames"):
            meta[what] = [text if keep else "" for text, keep in zip(meta[what], kept)]
        for what in ("module", "file"):
            used = {number for number, keep in zip(regions[what], kept) if keep}
            meta[what + "s"] = [text if i in used else "" for i, text in enumerate(meta[what + "s"])]
        columns = {}
        for name in ("line", "kind", "module", "file"):
            numbers = [number if keep else 0 for number, keep in zip(regions[name], kept)]
            columns[name] = memoryview(array(regions[name].format, numbers))
        packed = payload.repack(meta, {**regions, **columns})
        return self._block("regions", packed), self._block("flat", flat), self._block("tree", tree)

    def shortened(self, kind: str, what: str, shortened: Shortened, limit: float) -> dict[str, Any] | None:
        """Adds an answer of at most `limit` bytes, with as many rows as fit, and returns its meta. None: it does not fit. what:
        name of the data for the note."""
        meta: dict[str, Any]
        columns: Mapping[str, memoryview]
        meta, columns = payload.unpack(self.experiment.get(kind, {}))
        for rows in ROWS_OF_TABLES:
            meta, columns = shortened(meta, columns, rows)
            block = self._block(kind, payload.repack(meta, columns))
            if len(block.text) <= limit:
                self._take(block)
                return meta
        self.pruned.append(f"This file does not hold {what}, which takes {size(len(block.text))}; {self.whole}.")
        return None

    def tables(self) -> None:
        has, processes, locations = self.facts["has"], len(self.facts["processes"]), len(self.facts["locations"])
        wanted: list[tuple[str, dict[str, str], str]] = [
            ("findings", {}, "the findings"),
            ("own", {}, "own code"),
            ("imports", {}, "the imports"),
        ]
        if has["compare"]:
            wanted.append(("compare", {}, "what changed"))
        wanted.append(("balance", {}, "the balance"))
        for over, n in (
            ("ranks", sum(p["rank"] is not None for p in self.facts["processes"])),
            ("processes", processes),
            ("threads", locations),
        ):
            if n > 1:
                wanted.append(("balance", {"over": over}, f"the balance over {over}"))
        if has["lines"]:
            wanted.append(("lines", {}, "line by line"))
        if has["io"] and has["trace"]:
            wanted.append(("io", {}, "the files"))
        if has["locks"]:
            wanted.append(("locks", {}, "locks and waits"))
        if has["memory"]:
            wanted.append(("memory", {}, "the memory"))
        if has["tasks"]:
            wanted.append(("tasks", {}, "tasks"))
        if has["messages"]:
            wanted.append(("matrix", {}, "the communication matrix"))
        if has["off_cpu"]:
            wanted.append(("offcpu", {}, "off-CPU time"))
        if has["waits"]:
            wanted += [("waits", {}, "wait states"), ("critical", {}, "the critical path")]
        for kind, asked, what in wanted:
            self.optional(kind, asked, what)
            if has["compare"] and kind in OF_BOTH:
                self.optional(kind, {**asked, "of": "base"}, f"of the other run {what}")

    def optional(self, kind: str, asked: dict[str, str], what: str) -> None:
        try:
            block = self._made(kind, asked)
        except (Error, Refused) as e:
            self.pruned.append(f"This file does not hold {what}: {e}.")
            return
        if not self._take(block):
            self.pruned.append(f"This file does not hold {what}, which takes {size(len(block.text))}; {self.whole}.")

    # ---- sources, paths, timeline: each takes the remaining budget

    def sources(self, least: float = 0.0, also: Container[str] = ()) -> None:
        """Adds source files, most time first. least: fraction of the time that a file needs, unless it is in `also`."""
        meta, regions = payload.unpack(self.experiment.get("regions", {}))
        flat = payload.unpack(self.experiment.get("flat", {}))[1]
        times: dict[int, float] = {}
        for region, excl in zip(flat["region"], flat["excl"]):
            if region != payload.NONE:
                file = regions["file"][region]
                times[file] = times.get(file, 0.0) + excl
        enough = least * sum(times.values())
        missed = 0
        for file in sorted(times, key=lambda f: (-times[f], f)):
            if times[file] < enough and meta["files"][file] not in also:
                continue
            data = self.experiment.get("source", {"file": str(file)})
            if "text" in payload.unpack(data)[0]:
                missed += not self._take(self._block(key_of("source", {"file": str(file)}), data))
        if missed:
            self.pruned.append(f"The text of {plural(missed, 'source file')} with little time is left out; {self.whole}.")

    def _tree(self, selected: dict[str, str], budget: int, limits: tuple[int, ...]) -> tuple[Block, int, int] | None:
        """The largest call tree of at most `budget` bytes, the number of its paths, and of all paths. limits: numbers of paths to
        try, in descending order."""
        fits = float("inf")  # estimated number of paths that fit, from the previous attempt
        for limit in limits:
            if limit > fits and limit != limits[-1]:
                continue
            data = self.experiment.get("tree", {**selected, "limit": str(limit)})
            block, meta = self._block(key_of("tree", selected), data), payload.unpack(data)[0]
            if len(block.text) <= budget:
                return block, meta["shown"], meta["paths"]
            fits = meta["shown"] * budget / len(block.text)
        return None

    def paths(self, limits: tuple[int, ...] = PATHS) -> None:
        """Adds the call tree of the whole run. limits: numbers of paths to try."""
        self.left += len(self.reserved.text)
        found = self._tree({}, self.left, (self.fewer,) if self.fewer else limits)
        block, shown, there = found if found else (self.reserved, 0, 0)
        self._take(block)
        if found is None:
            meta = payload.unpack(self.experiment.get("tree", {"limit": str(MIN_PATHS)}))[0]
            shown, there = meta["shown"], meta["paths"]
        if shown < there:
            self.pruned.append(
                f"Of {count(there)} call paths the {count(shown)} with the most time are here one by one, "
                f"the others summed up; {self.whole}."
            )

    def _selections(self) -> Iterable[tuple[str, int, float]]:
        """(parameter, index, running time) of each process and thread that can be selected; empty if there is only one."""
        locations = self.facts["locations"]
        if len(locations) < 2:
            return
        by_process: dict[int, float] = {}
        for loc in locations:
            by_process[loc["process"]] = by_process.get(loc["process"], 0.0) + loc["running"]
        if len(by_process) > 1:
            yield from (("process", i, time) for i, time in by_process.items())
        if len(locations) > len(by_process) or len(by_process) == 1:
            yield from (("location", i, loc["running"]) for i, loc in enumerate(locations))

    def selections(self) -> None:
        """Adds call trees and flat profiles of single processes and threads, the longest running time first."""
        wanted = sorted(self._selections(), key=lambda s: (-s[2], s[0], s[1]))
        missed = cut = missing_lines = 0
        for n, (name, index, _) in enumerate(wanted):
            selected = {name: str(index)}
            if n >= SELECTIONS or missed == MAX_MISSES:
                missed = len(wanted) - n + missed
                break
            flat = self._made("flat", selected)
            tree = self._tree(selected, self.left - len(flat.text), PATHS_ALONE)
            if tree is None:
                missed += 1
                continue
            self._take(flat)
            self._take(tree[0])
            if self.facts["has"]["lines"]:
                missing_lines += not self._take(self._made("lines", selected))
            cut += tree[1] < tree[2]
        if cut:
            self.pruned.append(
                f"In the call trees of {plural(cut, 'process or thread', 'processes and threads')} small paths are summed up."
            )
        if missing_lines:
            who = plural(missing_lines, "process or thread", "processes and threads")
            self.pruned.append(f"Lines are not known separately for {who}; {self.whole}.")
        if missed:
            who = plural(missed, "process or thread", "processes and threads")
            self.pruned.append(f"{who[0].upper()}{who[1:]} cannot be selected alone in this file; {self.whole}.")

    def _tile(self, level: int, index: int) -> dict[str, str]:
        """The parameters for the time range of a tile, formatted as in the page's queries."""
        if level == 0:
            return {}
        whole = max(self.facts["duration"], 1e-9)
        part = whole / 2**level
        end = whole if index + 1 == 2**level else (index + 1) * part
        return {"begin": number(index * part), "end": number(end)}

    def _level(self, level: int, locations: list[int]) -> Iterable[tuple[str, dict[str, str], dict[str, str]]]:
        """(kind, parameters of the query, parameters of the page's query) of all tiles of a level. Tiles of all rows come first,
        then the calls of these locations."""
        n = len(self.facts["locations"])
        tiles = [self._tile(level, i) for i in range(2**level)]
        for tile in tiles:
            for first in range(0, n, ROWS):
                key = {**tile, "pixels": str(TILE), "rows": f"{first}-{min(first + ROWS, n) - 1}"}
                yield "overview", key, key
                if self.facts["has"]["states"]:
                    yield "states", key, key
            if self.facts["has"]["messages"]:
                yield "messages", {**tile, "limit": str(FEWER_MESSAGES)}, {**tile, "limit": str(MESSAGES)}
            for kind, asked in self._curves() if level else ():
                key = {**tile, **asked, "pixels": str(TILE)}
                yield kind, key, key
            for first in range(0, self.tasks, ROWS):
                key = {**tile, "pixels": str(TILE), "rows": f"{first}-{first + ROWS - 1}"}
                yield "steps", key, key
        for location in locations:
            for tile in tiles:
                key = {**tile, "location": str(location), "pixels": str(TILE)}
                yield "timeline", {**key, "pixels": str(TILE * FINE)}, key

    def weights(self) -> None:
        """Adds for each metric the call tree of the whole run weighted by it. Compared runs are only weighted by time."""
        if self.facts["has"]["compare"]:
            return
        missed = []
        for metric in self.facts["metrics"]:
            if not metric["total"]:
                continue
            # if functions are omitted, paths chosen by a metric may have functions without names
            found = None if self.fewer else self._tree({"metric": metric["name"]}, self.left, PATHS_ALONE)
            if found:
                self._take(found[0])
            else:
                missed.append(metric["name"])
        if missed:
            self.pruned.append(f"Call trees cannot be weighed by {', '.join(missed)} in this file; {self.whole}.")

    def _curves(self) -> list[tuple[str, dict[str, str]]]:
        """(kind, parameters without tile) of the queries for curves over time."""
        has = self.facts["has"]
        together = {"over": "sum"} if len(self.facts["locations"]) > CURVES else {}
        return [("counters", {})] * has["counters"] + [("metrics", together)] * has["metrics"]

    def curves(self) -> None:
        """Adds metrics and counters over the whole run, with as many columns as fit."""
        for kind, asked in self._curves():
            key = {**asked, "pixels": str(TILE)}
            for columns in COLUMNS:
                if self._take(self._made(kind, {**asked, "pixels": str(columns)}, key)):
                    break
            else:
                self.pruned.append(f"This file does not hold {kind} over time; {self.whole}.")
                continue
            if columns < TILE:
                self.pruned.append(f"{kind.capitalize()} over time are here in {columns} columns; {self.whole}.")

    def timeline(self) -> None:
        """Adds tiles level by level from coarse to fine, until a level does not fit."""
        if not self.facts["has"]["time"]:
            return
        if self.facts["has"]["trace"]:
            self.optional("markers", {}, "markers")
        if len(self.facts["locations"]) > GROUPS:
            self.optional("overview", {"limit": str(GROUPS), "pixels": "256"}, "the whole run in small")
        self.tasks = 0
        if self.facts["has"]["tasks"] and self.facts["has"]["trace"]:
            self.tasks = min(TASKS, payload.unpack(self.experiment.get("steps", {"rows": "0-0"}))[0]["tasks"])
        running = [loc["running"] for loc in self.facts["locations"]]
        locations = sorted(range(len(running)), key=lambda i: (-running[i], i))[:LOCATIONS]
        held = missed = 0
        while held < LEVELS and not missed:
            tiles = list(self._level(held, locations))
            for n, (kind, asked, key) in enumerate(tiles):
                missed += not self._take(self._made(kind, asked, key))
                if missed == MAX_MISSES:
                    missed += len(tiles) - n - 1
                    break
            held += not missed
        if held == 0:
            self.pruned.append(f"The timeline is not whole in this file: {plural(missed, 'part')} had no room; {self.whole}.")
        elif held < LEVELS:
            self.pruned.append(f"The timeline is here in {count(TILE << (held - 1))} columns; {self.whole}.")
        if len(running) > len(locations):
            self.pruned.append(f"The calls of the {count(len(locations))} threads that ran most are here one by one; {self.whole}.")

    def finish(self) -> list[Block]:
        """All blocks. The first has the facts with the notes about omitted data."""
        facts = {**self.facts, "pruned": self.pruned, "file": True}
        return [self._block("facts", payload.pack(facts)), *self.blocks]


def pack(experiment: Experiment, budget: int, source: bool) -> tuple[list[Block], list[str]]:
    """The blocks of the page, of at most budget bytes, and notes about omitted data. source: include source text. Refused: the
    smallest page does not fit."""
    packing = Packing(experiment, budget)
    packing.reserve_facts()
    packing.core()
    packing.tables()
    if source:
        packing.sources()
    packing.paths()
    packing.weights()
    packing.selections()
    packing.curves()
    packing.timeline()
    return packing.finish(), packing.pruned
