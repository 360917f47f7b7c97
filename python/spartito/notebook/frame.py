# SPDX-License-Identifier: BSD-3-Clause
"""The output below a measured cell: an iframe whose document contains script, style and data.

The iframe is sandboxed: it may run scripts, but has a separate origin, so it can read neither the notebook nor its storage. Its
content security policy forbids all network access. The notebook's file contains one such frame for each measured cell. So a frame
holds only the data that its views show, by default at most LIMIT bytes. Script and style are compressed; unpack.js inflates them.

The output also has the result as a plain table, for programs that remove frames and styles from outputs."""

from __future__ import annotations

import html
from functools import lru_cache

from spartito.base.messages import Refused
from spartito.base.text import count, name, size
from spartito.view import locks, memory, onefile, page, payload
from spartito.view.packing import FEWER, MIN_PATHS, Packing, element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from spartito.view.kinds import Experiment

# bytes of a cell's output in the notebook's file: by default, and for a result that does not fit into the default
LIMIT, MAX_BYTES = 100_000, 5 << 20
# Classes that JupyterLab, nbconvert and Bootstrap hide. A trusted notebook keeps STYLE, which shows the frame despite these classes
# and hides the table. A notebook that is not trusted loses style and frame, and shows the table. nbconvert --sanitize-html turns
# style and frame into text, which these classes hide. One page may show outputs of both kinds, so STYLE hides a table only beside
# a frame.
HIDDEN = ("lm-Widget", "lm-mod-hidden", "hidden")
# Scripts and styles in a frame take the frame's color-scheme for the system's.
STYLE = (
    f"<style>.spartito-frame.{'.'.join(HIDDEN)}{{display:block!important}}"
    ".spartito-frame:has(iframe)+.spartito-table{display:none}"
    '[data-jp-theme-light="false"] .spartito-frame iframe,.vscode-dark .spartito-frame iframe{color-scheme:dark}'
    '[data-jp-theme-light="true"] .spartito-frame iframe,.vscode-light .spartito-frame iframe{color-scheme:light}</style>'
)
# zlib levels: for data, which needs half the time of the default level and few percent more bytes; for script and style, which are
# compressed once, and for the data of very many threads or processes, whose names take most of the frame
EFFORT, BEST_EFFORT = 3, 9
FULL_DETAIL = 64  # threads or processes above which a frame has only their names
PART = 0.6  # fraction of the remaining bytes that each of memory, waits and lines may use if recorded
WORDS = 1500  # bytes reserved for the notes about omitted data
SOURCE = 0.05  # fraction of the time that a library file needs for its source text to be included
PATHS = (20_000, 10_000, 5_000, 2_000, MIN_PATHS)  # numbers of call paths to try; a frame is too narrow to show more
VISIBLE_SHARE = 0.02  # fraction of the time that a call level needs to be visible without scrolling
# pixels: the height around a view, of a level of the icicle (viewer/src/views/icicle.tsx), the smallest and largest view
AROUND, LEVEL, MIN_VIEW, MAX_VIEW = 104, 19, 284, 504
TALL = 560  # pixels of the memory view and the wait views: a picture above a table
LINE, LETTERS = 18, 110  # pixels of a line of text, and its letters in a notebook of usual width


def attribute(text: str) -> str:
    """Escapes text for an attribute in apostrophes. Code has fewer apostrophes than quotation marks."""
    return text.replace("&", "&amp;").replace("'", "&#39;")


@lru_cache(maxsize=2)
def _around(more: bool) -> tuple[str, str, int]:
    """The text before and after the data, which is the same in all frames, and its bytes. more: with the views that only results
    with memory, waits and the like need. Refused: this Spartito was built without the viewer."""
    which = "cellmore" if more else "cell"
    unpack, script, style = onefile.inline("unpack.js"), page.asset(which + ".js"), page.asset(which + ".css")
    policy = onefile.policy([unpack, script.decode()], style.decode())
    begin = (
        f'{page.HEAD}<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<title>Spartito</title>\n</head>\n<body>\n<div id="app"></div>\n{page.NO_SCRIPT}'
    )
    packed = "".join(element("data-element", name, data, BEST_EFFORT) for name, data in (("style", style), ("script", script)))
    both = attribute(begin), attribute(f"{packed}<script>{unpack}</script>\n</body>\n</html>\n")
    return *both, sum(len(part.encode()) for part in both)


def _depth(experiment: Experiment) -> int:
    """The number of call levels with at least VISIBLE_SHARE of the time. Deeper levels are mostly of imports, which matter
    little."""
    meta, tree = payload.unpack(experiment.get("tree", {"limit": str(MIN_PATHS)}))
    levels: list[int] = []
    for parent in tree["parent"]:
        levels.append(1 if parent == payload.NONE else levels[parent] + 1)
    return max((level for level, incl in zip(levels, tree["incl"]) if incl >= VISIBLE_SHARE * meta["total"]), default=0)


def _source_lines(experiment: Experiment) -> int:
    """The number of source lines of the function with the most time in its lines."""
    first = max(experiment.model.lines(), key=lambda f: float(f["excl"] + f["callees"]))
    numbers = [line[0] for line in first["lines"]]
    return int(max(numbers) - min(first["line"], *numbers) + 2)


def _words(experiment: Experiment, facts: dict[str, Any]) -> int:
    """The number of text lines above the view, as viewer/src/cell.tsx writes them."""
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
    """The height in pixels that the first view needs, which viewer/src/cell.tsx chooses."""
    facts = experiment.facts()
    has = facts["has"]
    if not has["compare"] and any(has[what] for what in page.CELL_MORE):
        view = TALL
    else:
        rows = _source_lines(experiment) if has["lines"] and not has["compare"] else _depth(experiment)
        view = min(max(AROUND + LEVEL * rows, MIN_VIEW), MAX_VIEW)
    return view + LINE * _words(experiment, facts)


def _light(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts without times of threads and processes if there are more than FULL_DETAIL: the tables only need their names."""
    light = dict(facts)
    if len(facts["locations"]) > FULL_DETAIL:
        none = {"begin": 0, "end": 0, "running": 0, "mpi": 0}
        light["locations"] = [{**at, **none, "busy": int(at["busy"] > 0)} for at in facts["locations"]]
    if len(facts["processes"]) > FULL_DETAIL:
        light["processes"] = [{**p, "begin": 0, "end": 0, "command": ""} for p in facts["processes"]]
    return light


def _fewer_functions(
    meta: dict[str, Any], columns: Mapping[str, memoryview], limit: int
) -> tuple[dict[str, Any], Mapping[str, memoryview]]:
    return {**meta, "functions": meta["functions"][:limit]}, columns


def _fill(packing: Packing) -> set[str]:
    """Adds the optional recorded data and the data that every frame needs. Returns the files whose source must be included.
    Refused: the data does not fit."""
    has = packing.facts["has"]
    packing.facts = _light(packing.facts)
    packing.reserve_facts(WORDS, 1)
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
    # always the source of cells: it is short, and the notebook may lose it when cells are changed
    files = {file for file in payload.unpack(packing.experiment.get("regions", {}))[0]["files"] if file.startswith("In[")}
    files.update(f["file"] for f in lines)
    if has["compare"]:
        packing.optional("compare", {}, "what changed")
    else:
        packing.optional("findings", {}, "the findings")
    return files


def document(experiment: Experiment, table: str, limit: int = LIMIT) -> tuple[str, list[str]]:
    """The HTML of frame and table, of at most limit bytes, and notes about omitted data. table: HTML of elements that sanitizers
    keep. Refused: the result does not fit, or this Spartito was built without the viewer."""
    facts = experiment.facts()
    begin, end, constant = _around(any(facts["has"][what] for what in page.CELL_MORE))
    crowded = max(len(facts["locations"]), len(facts["processes"])) > FULL_DETAIL
    packing = Packing(experiment, limit, BEST_EFFORT if crowded else EFFORT)
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
