# SPDX-License-Identifier: BSD-3-Clause
"""What stands below a cell: a document in a frame of its own, with script, style and data in it.

The frame may run scripts and nothing else: it has an origin of its own, so it reaches neither the notebook nor its storage, and its
policy lets it ask nobody for anything. It is a part of the notebook's file, once for each measured cell, so it holds what its views
show, and at most LIMIT where no more is asked for; script and style are in it deflated, which unpack.js undoes."""

from __future__ import annotations

import html
from functools import lru_cache
from hashlib import sha256

from spartito.base.messages import Refused
from spartito.base.text import name, size
from spartito.view import onefile, page, payload
from spartito.view.packing import LEAST_PATHS, Packing, element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito.view.kinds import Experiment

# bytes of all that is put into the notebook, to whose file each measured cell adds as much; and where nothing fits into that
LIMIT, MOST_BYTES = 100 << 10, 5 << 20
# A notebook that is trusted keeps the style: the table is hidden, and the frame has the notebook's theme, because scripts and
# styles in a frame take its color-scheme for the system's. One that is not loses style and frame alike, and the table is left.
STYLE = (
    "<style>.{key}{{display:none}}"
    '[data-jp-theme-light="false"] .{key}-frame,.vscode-dark .{key}-frame{{color-scheme:dark}}'
    '[data-jp-theme-light="true"] .{key}-frame,.vscode-light .{key}-frame{{color-scheme:light}}</style>'
)
EFFORT, ALL_EFFORT = 3, 9  # of zlib: half the time of its usual one for a few percent more; for what is packed once
SOURCE = 0.05  # of the time: files of the library in which there is less are not in every notebook
PATHS = (20_000, 10_000, 5_000, 2_000, LEAST_PATHS)  # with the most time; more cannot be told apart in a frame of that width
MUCH = 0.02  # of the time: levels of calls that are in sight at once
# pixels: what is around a view, a level of the icicle (viewer/src/views/icicle.tsx), and the height in which a table is of use
AROUND, LEVEL, LEAST, MOST = 104, 19, 284, 504
LINE, LETTERS = 18, 110  # pixels of a line of words, and how many letters it has in a notebook of usual width


def attribute(text: str) -> str:
    """For an attribute in apostrophes, of which code has fewer than quotation marks."""
    return text.replace("&", "&amp;").replace("'", "&#39;")


@lru_cache(maxsize=1)
def _around() -> tuple[str, str, int]:
    """What is the same in all frames, before and after the data, and its bytes. Refused: this Spartito has no viewer."""
    unpack, script, style = onefile.inline("unpack.js"), page.asset("cell.js"), page.asset("cell.css")
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


def _height(depth: int, lines: int) -> int:
    return min(max(AROUND + LEVEL * depth, LEAST), MOST) + LINE * lines


def document(experiment: Experiment, instead: str, limit: int = LIMIT, static: str = "") -> tuple[str, list[str]]:
    """The element of the frame, of at most limit bytes, and in sentences what it does not hold. instead: a sentence for who takes
    frames out, as notebooks do that are not trusted; static: what they show beside it, in HTML. Refused: there is no room, or no
    viewer."""
    begin, end, constant = _around()
    packing = Packing(experiment, limit, EFFORT)
    title = html.escape(name(packing.facts["title"]).encode("utf-8", "replace").decode())
    height = _height(_depth(experiment), _words(experiment, packing.facts))
    key = "spartito-" + sha256(f"{experiment.directory} {title}".encode("utf-8", "replace")).hexdigest()[:12]
    head = (
        f'<iframe title="Spartito: {title}" class="{key}-frame" sandbox="allow-scripts" '
        f'style="display:block;box-sizing:border-box;width:100%;'
        f"height:{height}px;border:1px solid #8884;resize:vertical\" srcdoc='"
    )
    tail = f"'>{html.escape(instead)}</iframe>"
    if static:
        tail += f'<div class="{key}">{static}</div>{STYLE.format(key=key)}'
    packing.left -= constant + len((head + tail).encode())
    try:
        packing.core()
    except Refused as e:
        raise Refused(f"the result cannot be shown within {size(limit)}: {e}") from None
    # of cells always: they are short, and nowhere else once the notebook has gone on
    kept = {file for file in payload.unpack(experiment.get("regions", {}))[0]["files"] if file.startswith("In[")}
    if packing.facts["has"]["lines"]:
        packing.optional("lines", {}, "line by line")
        kept |= {f["file"] for f in experiment.model.lines()}
    if packing.facts["has"]["compare"]:
        packing.optional("compare", {}, "what changed")
    packing.sources(SOURCE, kept)
    packing.paths(PATHS)
    packing.weights()
    blocks = "".join(attribute(block.text) for block in packing.finish())
    return "".join((head, begin, blocks, end, tail)), packing.pruned
