# SPDX-License-Identifier: BSD-3-Clause
"""What stands below a cell: a document in a frame of its own, with script, style and data in it.

The frame may run scripts and nothing else: it has an origin of its own, so it reaches neither the notebook nor its storage, and its
policy lets it ask nobody for anything. It is a part of the notebook's file, once for each measured cell, so it holds what its views
show, and at most LIMIT where no more is asked for; script and style are in it deflated, which unpack.js undoes.

Beside it stands the same as a table, for where frames and styles are taken out of outputs."""

from __future__ import annotations

import html
from functools import lru_cache

from spartito.base.messages import Refused
from spartito.base.text import count, name, size
from spartito.view import locks, memory, onefile, page, payload
from spartito.view.packing import FEWER, LEAST_PATHS, Packing, element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from spartito.view.kinds import Experiment

# bytes of all that is put into the notebook, to whose file each measured cell adds as much; and where nothing fits into that
LIMIT, MOST_BYTES = 100_000, 5 << 20
# Classes by which JupyterLab, nbconvert and Bootstrap hide elements. A trusted notebook keeps the style, which shows the frame all
# the same and hides the table. One that is not trusted loses style and frame; the table is left. Where --sanitize-html of nbconvert
# makes text of both, that text is hidden. The page may also show a trusted notebook, so a table is hidden only beside a frame.
HIDDEN = ("lm-Widget", "lm-mod-hidden", "hidden")
# scripts and styles in a frame take its color-scheme for the system's
STYLE = (
    f"<style>.spartito-frame.{'.'.join(HIDDEN)}{{display:block!important}}"
    ".spartito-frame:has(iframe)+.spartito-table{display:none}"
    '[data-jp-theme-light="false"] .spartito-frame iframe,.vscode-dark .spartito-frame iframe{color-scheme:dark}'
    '[data-jp-theme-light="true"] .spartito-frame iframe,.vscode-light .spartito-frame iframe{color-scheme:light}</style>'
)
EFFORT, ALL_EFFORT = 3, 9  # of zlib: half the time of its usual one for a few percent more; for what is packed once
MANY = 64  # threads, processes
PART = 0.6  # of the room, for memory, waits or lines where they were asked for
WORDS = 1500  # bytes, for what is said of what a frame does not hold
SOURCE = 0.05  # of the time: files of the library in which there is less are not in every notebook
PATHS = (20_000, 10_000, 5_000, 2_000, LEAST_PATHS)  # with the most time; more cannot be told apart in a frame of that width
MUCH = 0.02  # of the time: levels of calls that are in sight at once
# pixels: what is around a view, a level of the icicle (viewer/src/views/icicle.tsx), and the height in which a table is of use
AROUND, LEVEL, LEAST, MOST = 104, 19, 284, 504
TALL = 560  # of the views of memory and of waits: a picture above a table
LINE, LETTERS = 18, 110  # pixels of a line of words, and how many letters it has in a notebook of usual width


def attribute(text: str) -> str:
    """For an attribute in apostrophes, of which code has fewer than quotation marks."""
    return text.replace("&", "&amp;").replace("'", "&#39;")


@lru_cache(maxsize=2)
def _around(more: bool) -> tuple[str, str, int]:
    """What is the same in all frames, before and after the data, and its bytes. more: with the views that only some have. Refused:
    this Spartito has no viewer."""
    which = "cellmore" if more else "cell"
    unpack, script, style = onefile.inline("unpack.js"), page.asset(which + ".js"), page.asset(which + ".css")
    policy = onefile.policy([unpack, script.decode()], style.decode())
    begin = (
        f'{page.HEAD}<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<title>Spartito</title>\n</head>\n<body>\n<div id="app"></div>\n{page.NO_SCRIPT}'
    )
    packed = "".join(element("data-element", name, data, ALL_EFFORT) for name, data in (("style", style), ("script", script)))
    both = attribute(begin), attribute(f"{packed}<script>{unpack}</script>\n</body>\n</html>\n")
    return *both, sum(len(part.encode()) for part in both)


def _depth(experiment: Experiment) -> int:
    """Levels of calls in which there is much time: imports are deep, and seldom what one looks for."""
    meta, tree = payload.unpack(experiment.get("tree", {"limit": str(LEAST_PATHS)}))
    levels: list[int] = []
    for parent in tree["parent"]:
        levels.append(1 if parent == payload.NONE else levels[parent] + 1)
    return max((level for level, incl in zip(levels, tree["incl"]) if incl >= MUCH * meta["total"]), default=0)


def _source_lines(experiment: Experiment) -> int:
    """Of the function with the most time in its lines."""
    first = max(experiment.model.lines(), key=lambda f: float(f["excl"] + f["callees"]))
    numbers = [line[0] for line in first["lines"]]
    return int(max(numbers) - min(first["line"], *numbers) + 2)


def _words(experiment: Experiment, facts: dict[str, Any]) -> int:
    """Lines of words above the view, as viewer/src/cell.tsx has them."""
    if not facts["has"]["compare"]:
        return _lines(" ".join(facts["sentences"]))
    compared = payload.unpack(experiment.get("compare", {}))[0]
    base = compared["base"]
    against = f"Against {base['title']} of 22/11/2026, 10:15:00 in {base['directory']}, {compared['headline']}"
    changed = " ".join(compared["sentences"] + compared["costs"])
    return sum(map(_lines, (against, *compared["unlike"], *base["lost"], changed)))


def _lines(text: str) -> int:
    return -(-len(text) // LETTERS)


def _height(experiment: Experiment) -> int:
    """Pixels: as the view needs that it opens with, as viewer/src/cell.tsx chooses it."""
    facts = experiment.facts()
    has = facts["has"]
    if not has["compare"] and any(has[what] for what in page.CELL_MORE):
        view = TALL
    else:
        rows = _source_lines(experiment) if has["lines"] and not has["compare"] else _depth(experiment)
        view = min(max(AROUND + LEVEL * rows, LEAST), MOST)
    return view + LINE * _words(experiment, facts)


def _light(facts: dict[str, Any]) -> dict[str, Any]:
    """Of very many threads and processes a frame names those that its tables speak of, and shows nothing else."""
    light = dict(facts)
    if len(facts["locations"]) > MANY:
        light["locations"] = [{**at, "begin": 0, "end": 0, "mpi": 0, "busy": int(at["busy"] > 0)} for at in facts["locations"]]
    if len(facts["processes"]) > MANY:
        light["processes"] = [{**p, "begin": 0, "end": 0, "command": ""} for p in facts["processes"]]
    return light


def _fewer_functions(
    meta: dict[str, Any], columns: Mapping[str, memoryview], limit: int
) -> tuple[dict[str, Any], Mapping[str, memoryview]]:
    return {**meta, "functions": meta["functions"][:limit]}, columns


def _fill(packing: Packing) -> set[str]:
    """What was asked for, and what the frame cannot be without; the files whose source it is to have. Refused: there is no room."""
    has = packing.facts["has"]
    packing.facts = _light(packing.facts)
    packing.keep_room(WORDS, 1)
    least = packing.least(FEWER[-1])

    def part() -> float:
        return PART * (packing.left - least)

    if has["memory"]:
        packing.shortened("memory", "the memory", memory.shortened, part())
    if has["locks"]:
        packing.shortened("locks", "locks and waits", locks.shortened, part())
    lines: list[dict[str, Any]] = []
    if has["lines"]:
        there = len(packing.experiment.model.lines())
        found = packing.shortened("lines", "line by line", _fewer_functions, part())
        lines = found["functions"] if found else []
        if found and len(lines) < there:
            packing.pruned.append(f"Of {count(there)} functions line by line {count(len(lines))} are here; {packing.whole}.")
    packing.core(FEWER, {f["name"] for f in lines})
    # of cells always: they are short, and nowhere else once the notebook has gone on
    files = {file for file in payload.unpack(packing.experiment.get("regions", {}))[0]["files"] if file.startswith("In[")}
    files.update(f["file"] for f in lines)
    if has["compare"]:
        packing.optional("compare", {}, "what changed")
    return files


def document(experiment: Experiment, table: str, limit: int = LIMIT) -> tuple[str, list[str]]:
    """The element of the frame with a table in its place, of at most limit bytes, and in sentences what it does not hold. table: in
    HTML of elements that need no trust. Refused: there is no room, or no viewer."""
    facts = experiment.facts()
    begin, end, constant = _around(any(facts["has"][what] for what in page.CELL_MORE))
    packing = Packing(experiment, limit, EFFORT)
    title = html.escape(name(facts["title"]).encode("utf-8", "replace").decode())
    head = (
        f'<div class="spartito-frame {" ".join(HIDDEN)}">{STYLE}<iframe title="Spartito: {title}" sandbox="allow-scripts" '
        f'style="display:block;box-sizing:border-box;width:100%;'
        f"height:{_height(experiment)}px;border:1px solid #8884;resize:vertical\" srcdoc='"
    )
    tail = f"'></iframe></div><div class=\"spartito-table\">{table}</div>"
    packing.left -= constant + len((head + tail).encode())
    try:
        kept = _fill(packing)
    except Refused as e:
        raise Refused(f"the result cannot be shown within {size(limit)}: {e}") from None
    packing.sources(SOURCE, kept)
    packing.paths(PATHS)
    packing.weights()
    blocks = "".join(attribute(block.text) for block in packing.finish())
    return "".join((head, begin, blocks, end, tail)), packing.pruned
