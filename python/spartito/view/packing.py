# SPDX-License-Identifier: BSD-3-Clause
"""What a page that is one file holds: answers to the questions that its views ask, deflated, within a budget of bytes.

The most important comes first and takes what it needs; what comes last gets what is left. So the detail of the timeline goes first,
then call paths with little time, then the text of source files, and each time a sentence says so, on the page and in the
terminal."""

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

    # meta and columns of an answer, with at most so many rows
    Shortened = Callable[[dict[str, Any], Mapping[str, memoryview], int], tuple[dict[str, Any], Mapping[str, memoryview]]]

LEAST_PATHS = 1000
# functions, those with the most time, that a page has where there is no room for all of them, and as many call paths
FEWER = (2000, 1400, 1000, 700, 500, 350, 250, 180, 120, 80, 50, 30)
ROWS_OF_TABLES = (2000, 400, 200, 100, 50, 25, 12, 6)  # the first number with which a table fits
# paths of a call tree: the first number of these with which it fits; of one process or thread
PATHS = (200_000, 100_000, 50_000, 20_000, 10_000, 5_000, 2_000, LEAST_PATHS)
PATHS_ALONE = (20_000, 5_000, LEAST_PATHS)
SELECTIONS = 256  # processes, and threads, of which the page holds an own tree
TASKS = 2048  # tasks of which it holds the steps
LOCATIONS = 256  # threads of which it holds the calls
# as viewer/src/timeline/data.ts asks: a tile of a level is one of 2**level parts of the run
TILE, ROWS, MESSAGES = 1024, 64, 2000
SMALL = 16 << 10  # bytes that are not worth a measured guess
ENOUGH = 4  # answers for which there was no room: smaller ones are not looked for any longer
LEVELS = 4  # of tiles that a page may hold
FINE = 4  # times as many columns in tiles of calls, which tell begin and end themselves
BESIDE = ("balance", "critical", "io", "matrix", "tasks", "waits")  # which the page asks of both runs
GROUPS = 22  # lines of the run in small, as in viewer/src/timeline/data.ts
CURVES = 64  # threads that have curves of their own, as in viewer/src/data/curves.ts; of more there is the sum
COLUMNS = (TILE, 256, 64)  # of curves of metrics and counters: the first number of these with which they fit
WHOLE = "`spartito view` on the experiment's directory shows all of it"
WHOLE_OF_CELL = "`%spartito_view` shows all of it"


def element(name: str, value: str, data: bytes, effort: int) -> str:
    """Data that a script of the page reads (viewer/src/data/inflate.ts), found by its attribute `name`. effort: of zlib."""
    body = base64.b64encode(zlib.compress(data, effort)).decode("ascii")
    return f'<script type="application/octet-stream" {name}="{html.escape(value)}">{body}</script>\n'


class Block:
    """One answer in the page."""

    __slots__ = ("key", "raw", "text")

    def __init__(self, key: str, data: bytes, effort: int) -> None:
        """effort: of zlib."""
        self.key = key
        self.raw = len(data)
        self.text = element("data-query", key, data, effort)


def key_of(kind: str, parameters: dict[str, str]) -> str:
    """The one spelling of a question, as viewer/src/data/source.ts has it."""
    return f"{kind}?{urlencode(sorted(parameters.items()))}" if parameters else kind


def number(value: float) -> str:
    """As JavaScript writes it."""
    text = repr(value)
    if 1e-6 <= value < 1e21 and "e" in text:
        text = format(Decimal(text), "f")
    mantissa, e, exponent = text.removesuffix(".0").partition("e")
    return mantissa.removesuffix(".0") + (f"e{int(exponent):+d}" if e else "")


class Packing:
    def __init__(self, experiment: Experiment, budget: int, effort: int = 6) -> None:
        """budget: bytes of all blocks. effort: of zlib."""
        self.experiment = experiment
        self.effort = effort
        self.left = budget
        self.blocks: list[Block] = []
        self.pruned: list[str] = []
        self.fewer = 0  # functions and paths that it has, where not all
        self.facts = experiment.facts()
        self.whole = WHOLE_OF_CELL if self.facts["title"].startswith("In[") else WHOLE

    def _block(self, key: str, data: bytes) -> Block:
        return Block(key, data, self.effort)

    def _made(self, kind: str, asked: dict[str, str], key: dict[str, str] | None = None) -> Block:
        """key: the parameters under which the page finds it, where they are not those asked for."""
        return self._block(key_of(kind, asked if key is None else key), self.experiment.get(kind, asked))

    def _take(self, block: Block) -> bool:
        if len(block.text) > self.left:
            return False
        self.left -= len(block.text)
        self.blocks.append(block)
        return True

    # ---- what the page cannot be without

    def keep_room(self, words: int = 8192, times: int = 2) -> None:
        """For the facts, which come last, when all is known: so many times what they take now, and bytes for words more."""
        raw = payload.pack(self.facts)
        self.left -= times * (len(raw) if times > 1 and len(raw) < SMALL else len(self._block("facts", raw).text)) + words

    def least(self, fewer: int) -> int:
        """Bytes that so many functions and paths take."""
        return sum(len(block.text) for block in self._fewer(fewer, ()))

    def core(self, fewer: tuple[int, ...] = (), named: Container[str] = ()) -> None:
        """fewer: numbers of functions with the most time that will do where there is no room for all. named: functions that have
        their names in any case. Refused: not even that fits."""
        regions, flat = self._made("regions", {}), self._made("flat", {})
        tree = self._made("tree", {"limit": str(LEAST_PATHS)}, {})
        short = self._short(regions, flat, tree)
        for limit in fewer:
            if short <= 0:
                break
            regions, flat, tree = self._fewer(limit, named)
            short = self._short(regions, flat, tree)
            self.fewer = limit
        if short > 0:
            raise Refused(f"the names and numbers of the functions alone take {size(short)} more than that")
        ran = payload.unpack(self.experiment.get("flat", {"limit": "1"}))[0]["functions"]
        if 0 < self.fewer < ran:
            most = f"the {count(self.fewer)} with the most exclusive time"
            self.pruned.append(f"Of {count(ran)} functions the table has {most}; {self.whole}.")
        for block in (regions, flat):
            self._take(block)
        self.left -= len(tree.text)
        self.reserved = tree

    def _short(self, *blocks: Block) -> int:
        """Bytes that are missing for these."""
        return sum(len(block.text) for block in blocks) - self.left

    def _fewer(self, limit: int, named: Container[str]) -> tuple[Block, Block, Block]:
        """Regions, flat and tree of so many functions and paths. Regions keep their indices; those that are not shown have empty
        names."""
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

    def shortened(self, kind: str, what: str, shortened: Shortened, room: float) -> dict[str, Any] | None:
        """An answer of at most so many bytes, its meta with as many rows as fit. None: there is no room."""
        meta: dict[str, Any]
        columns: Mapping[str, memoryview]
        meta, columns = payload.unpack(self.experiment.get(kind, {}))
        for limit in ROWS_OF_TABLES:
            meta, columns = shortened(meta, columns, limit)
            block = self._block(kind, payload.repack(meta, columns))
            if len(block.text) <= room:
                self._take(block)
                return meta
        self.pruned.append(f"This file does not hold {what}, which takes {size(len(block.text))}; {self.whole}.")
        return None

    def tables(self) -> None:
        has, processes, locations = self.facts["has"], len(self.facts["processes"]), len(self.facts["locations"])
        wanted: list[tuple[str, dict[str, str], str]] = []
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
        if has["waits"]:
            wanted += [("waits", {}, "wait states"), ("critical", {}, "the critical path")]
        for kind, asked, what in wanted:
            self.optional(kind, asked, what)
            if has["compare"] and kind in BESIDE:
                self.optional(kind, {**asked, "of": "base"}, f"of the other run {what}")

    def optional(self, kind: str, asked: dict[str, str], what: str) -> None:
        try:
            block = self._made(kind, asked)
        except Error as e:
            self.pruned.append(f"This file does not hold {what}: {e}.")
            return
        if not self._take(block):
            self.pruned.append(f"This file does not hold {what}, which takes {size(len(block.text))}; {self.whole}.")

    # ---- sources, paths, time: each takes what is left

    def sources(self, least: float = 0.0, also: Container[str] = ()) -> None:
        """Files in the order of the time in them. least: the share of all time that a file needs, unless it is one of `also`."""
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

    def _tree(self, selected: dict[str, str], room: int, limits: tuple[int, ...]) -> tuple[Block, int, int] | None:
        """The tree with as many paths as fit into the room, how many it has, and how many there are. limits: to be tried."""
        fits = float("inf")  # paths, as far as the attempt before tells
        for limit in limits:
            if limit > fits and limit != limits[-1]:
                continue
            data = self.experiment.get("tree", {**selected, "limit": str(limit)})
            block, meta = self._block(key_of("tree", selected), data), payload.unpack(data)[0]
            if len(block.text) <= room:
                return block, meta["shown"], meta["paths"]
            fits = meta["shown"] * room / len(block.text)
        return None

    def paths(self, limits: tuple[int, ...] = PATHS) -> None:
        """limits: numbers of paths to be tried."""
        self.left += len(self.reserved.text)
        found = self._tree({}, self.left, (self.fewer,) if self.fewer else limits)
        block, shown, there = found if found else (self.reserved, 0, 0)
        self._take(block)
        if found is None:
            meta = payload.unpack(self.experiment.get("tree", {"limit": str(LEAST_PATHS)}))[0]
            shown, there = meta["shown"], meta["paths"]
        if shown < there:
            self.pruned.append(
                f"Of {count(there)} call paths the {count(shown)} with the most time are here one by one, "
                f"the others summed up; {self.whole}."
            )

    def _selections(self) -> Iterable[tuple[str, int, float]]:
        """(parameter, index, busy) of what can be looked at alone; nothing where there is one thing only."""
        locations = self.facts["locations"]
        if len(locations) < 2:
            return
        by_process: dict[int, float] = {}
        for loc in locations:
            by_process[loc["process"]] = by_process.get(loc["process"], 0.0) + loc["busy"]
        if len(by_process) > 1:
            yield from (("process", i, busy) for i, busy in by_process.items())
        if len(locations) > len(by_process) or len(by_process) == 1:
            yield from (("location", i, loc["busy"]) for i, loc in enumerate(locations))

    def selections(self) -> None:
        """Trees and flat profiles of single processes and threads, the busiest first."""
        wanted = sorted(self._selections(), key=lambda s: (-s[2], s[0], s[1]))
        missed = cut = missing_lines = 0
        for n, (name, index, _) in enumerate(wanted):
            selected = {name: str(index)}
            if n >= SELECTIONS or missed == ENOUGH:
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
        """The parameters of a range of time, in the words of the page."""
        if level == 0:
            return {}
        whole = max(self.facts["duration"], 1e-9)
        part = whole / 2**level
        end = whole if index + 1 == 2**level else (index + 1) * part
        return {"begin": number(index * part), "end": number(end)}

    def _level(self, level: int, locations: list[int]) -> Iterable[tuple[str, dict[str, str], dict[str, str]]]:
        """(kind, what is asked for, what the page asks for) of all tiles, those of all rows first."""
        n = len(self.facts["locations"])
        tiles = [self._tile(level, i) for i in range(2**level)]
        for tile in tiles:
            for first in range(0, n, ROWS):
                key = {**tile, "pixels": str(TILE), "rows": f"{first}-{min(first + ROWS, n) - 1}"}
                yield "overview", key, key
                if self.facts["has"]["states"]:
                    yield "states", key, key
            if self.facts["has"]["messages"]:
                key = {**tile, "limit": str(MESSAGES)}
                yield "messages", key, key
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
        """The call tree as wide as each metric, of the whole run; beside another run it is as wide as the time only."""
        if self.facts["has"]["compare"]:
            return
        missed = []
        for metric in self.facts["metrics"]:
            if not metric["total"]:
                continue
            # where functions are left out, other paths than those by time have some that have no names
            found = None if self.fewer else self._tree({"metric": metric["name"]}, self.left, PATHS_ALONE)
            if found:
                self._take(found[0])
            else:
                missed.append(metric["name"])
        if missed:
            self.pruned.append(f"Call trees cannot be weighed by {', '.join(missed)} in this file; {self.whole}.")

    def _curves(self) -> list[tuple[str, dict[str, str]]]:
        """Questions about what was counted over time, but for its part."""
        has = self.facts["has"]
        together = {"over": "sum"} if len(self.facts["locations"]) > CURVES else {}
        return [("counters", {})] * has["counters"] + [("metrics", together)] * has["metrics"]

    def curves(self) -> None:
        """Metrics and counters over the whole run, in fewer columns where there is less room."""
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
        """Tiles of ever finer levels, until there is no room for the next one."""
        if not self.facts["has"]["time"]:
            return
        if self.facts["has"]["trace"]:
            self.optional("markers", {}, "markers")
        if len(self.facts["locations"]) > GROUPS:
            self.optional("overview", {"limit": str(GROUPS), "pixels": "256"}, "the whole run in small")
        self.tasks = 0
        if self.facts["has"]["tasks"] and self.facts["has"]["trace"]:
            self.tasks = min(TASKS, payload.unpack(self.experiment.get("steps", {"rows": "0-0"}))[0]["tasks"])
        busy = [loc["busy"] for loc in self.facts["locations"]]
        locations = sorted(range(len(busy)), key=lambda i: (-busy[i], i))[:LOCATIONS]
        held = missed = 0
        while held < LEVELS and not missed:
            tiles = list(self._level(held, locations))
            for n, (kind, asked, key) in enumerate(tiles):
                missed += not self._take(self._made(kind, asked, key))
                if missed == ENOUGH:
                    missed += len(tiles) - n - 1
                    break
            held += not missed
        if held == 0:
            self.pruned.append(f"The timeline is not whole in this file: {plural(missed, 'part')} had no room; {self.whole}.")
        elif held < LEVELS:
            self.pruned.append(f"The timeline is here in {count(TILE << (held - 1))} columns; {self.whole}.")
        if len(busy) > len(locations):
            self.pruned.append(f"The calls of the {count(len(locations))} busiest threads are here one by one; {self.whole}.")

    def finish(self) -> list[Block]:
        """All blocks, the facts first, which tell what is missing."""
        facts = {**self.facts, "pruned": self.pruned, "file": True}
        return [self._block("facts", payload.pack(facts)), *self.blocks]


def pack(experiment: Experiment, budget: int, source: bool) -> tuple[list[Block], list[str]]:
    """The blocks of the page, of at most budget bytes, and in sentences what they do not hold. Refused: there is no room."""
    packing = Packing(experiment, budget)
    packing.keep_room()
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
