# SPDX-License-Identifier: BSD-3-Clause
"""Draws the call graph. Graphviz computes the layout if it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

from spartito.base.messages import Refused, reason
from spartito.base.text import plural
from spartito.picture.drawing import heading, part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model

SUFFIXES = (".svg", ".png", ".pdf", ".dot")
NODES = 60
NODE_SHARE, EDGE_SHARE = 0.5, 0.1  # percent, as in gprof2dot
TIMEOUT = 300  # seconds for Graphviz


def _number(values: dict[str, object], key: str, default: float) -> float:
    value = values.get(key, default)
    assert isinstance(value, (int, float))
    return float(value)


def _graphviz(path: str, needed: bool) -> str:
    """Path of the program dot; "": it is not installed, and Spartito computes the layout. Refused: it is needed and not
    installed."""
    found = shutil.which("dot")
    if found is None and not needed:
        return ""
    if found is None:
        raise Refused(
            f"{path} needs the program dot of Graphviz, which is not installed: install the package graphviz "
            "(apt install graphviz, conda install graphviz), or write .svg or .dot"
        )
    return found


def _draw(dot: str, source: str, path: str, suffix: str) -> None:
    """Lets Graphviz draw the file `source`. Refused: it fails."""
    with tempfile.TemporaryDirectory(prefix="spartito-") as scratch:
        drawn = os.path.join(scratch, "drawn" + suffix)
        more = ["-Gdpi=144"] if suffix == ".png" else []
        try:
            done = subprocess.run(
                [dot, "-T" + suffix[1:], *more, "-o", drawn, source],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            raise Refused(f"{path}: Graphviz needs more than {TIMEOUT} s for it; draw less with --limit") from None
        except OSError as e:
            raise Refused(f"{dot}: {e.strerror}") from None
        if done.returncode or not os.path.exists(drawn):
            message = (done.stderr.strip().splitlines() or ["it printed nothing"])[0]
            raise Refused(f"{path}: Graphviz could not draw it: {message}")
        _put(drawn, path)


def _put(drawn: str, path: str) -> None:
    """Copies the file `drawn` to `path`, or to the target if `path` is a link. As with the writers in C, the file appears complete
    or not at all."""
    target = os.path.realpath(path)
    special = os.path.exists(target) and not os.path.isfile(target)
    new = target if special else f"{target}.{os.getpid()}.new"
    try:
        with open(drawn, "rb") as source, open(new, "wb") as out:
            shutil.copyfileobj(source, out)
        if not special:
            os.replace(new, target)
    except OSError as e:
        if not special and os.path.exists(new):
            os.unlink(new)
        raise Refused(f"{path}: {reason(e)}") from None


def draw(model: Model, info: dict[str, Any], values: dict[str, object], path: str, suffix: str) -> str:
    """Writes the graph to `path` and returns a sentence about it. values: the options of `spartito plot`. Refused: Graphviz is
    needed and missing, or fails."""
    dot = "" if suffix == ".dot" else _graphviz(path, suffix != ".svg")
    process, location, what = part(info, values)
    limit = values.get("limit", NODES)
    assert isinstance(limit, int)

    def write(target: str) -> dict[str, int]:
        return model.graph(
            target,
            process=process,
            location=location,
            match=str(values.get("match") or ""),
            title=heading(info, values, what),
            theme=str(values.get("theme", "light")),
            node_share=_number(values, "nodes", NODE_SHARE) / 100,
            edge_share=_number(values, "edges", EDGE_SHARE) / 100,
            limit=limit,
            svg=suffix == ".svg" and not dot,
        )

    if dot:
        with tempfile.TemporaryDirectory(prefix="spartito-") as scratch:
            source = os.path.join(scratch, "graph.dot")
            done = write(source)
            _draw(dot, source, path, suffix)
    else:
        done = write(path)
    hidden = f"; {plural(done['hidden_nodes'], 'smaller one')} not shown" if done["hidden_nodes"] else ""
    return f"wrote {path}: {plural(done['nodes'], 'function')}{hidden}"
