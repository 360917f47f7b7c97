# SPDX-License-Identifier: BSD-3-Clause
"""Locks and waits for the viewer: the longest waits with waiter, lock and lock holder, and deadlock cycles."""

from __future__ import annotations

from spartito.report import locktable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from spartito._analyse import Model

    Columns = Mapping[str, memoryview]

ROWS = 2000  # maximum of waits in the answer


class _Numbers:
    """Assigns indices to keys, one to each different key. made: the value at each index."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}
        self.made: list[Any] = []

    def of(self, key: Any, thing: Any) -> int:
        if key not in self.known:
            self.known[key] = len(self.made)
            self.made.append(thing)
        return self.known[key]


def answer(model: Model) -> dict[str, Any]:
    """meta of the kind "locks", see kinds.py."""
    found, info = model.locks(), model.info()
    names = locktable.Names(found, info)
    objects, stacks = _Numbers(), _Numbers()
    rows = []
    for wait in sorted(found["waits"], key=lambda w: -w["time"])[:ROWS]:
        lock = wait["lock"]
        of = {"count": 0, "held": 0.0} if lock is None else found["locks"][lock]
        thing = {"name": names.of_lock(lock, wait["kind"]), "acquired": of["count"], "held": of["held"]}
        at = wait["file"] or ""
        rows.append(
            {
                **{key: wait[key] for key in ("location", "holder", "count", "time", "longest", "open")},
                "object": objects.of((lock, "" if lock is not None else wait["kind"]), thing),
                "stack": stacks.of(tuple(wait["stack"]), wait["stack"]),
                "holder_stack": stacks.of(tuple(wait["holder_stack"]), wait["holder_stack"]),
                "at": f"{at}:{wait['line']}" if at and wait["line"] else at,
            }
        )
    return {
        "objects": objects.made,
        "waits": rows,
        "hidden": len(found["waits"]) - len(rows),
        "stacks": stacks.made,
        "deadlocks": locktable.deadlocks(found, info),
        "cycles": [
            [{"location": link["location"], "lock": names.of_lock(link["lock"])} for link in cycle["links"]]
            for cycle in found["deadlocks"]
        ],
    }


def shortened(meta: dict[str, Any], columns: Columns, limit: int) -> tuple[dict[str, Any], Columns]:
    """The answer with at most `limit` waits. Locks and stacks that only the other waits refer to become empty but keep their
    index."""
    waits = meta["waits"][:limit]
    objects = {wait["object"] for wait in waits}
    stacks = {wait[which] for wait in waits for which in ("stack", "holder_stack")}
    shown = {
        **meta,
        "objects": [thing if i in objects else {"name": "", "acquired": 0, "held": 0.0} for i, thing in enumerate(meta["objects"])],
        "waits": waits,
        "hidden": meta["hidden"] + len(meta["waits"]) - len(waits),
        "stacks": [stack if i in stacks else [] for i, stack in enumerate(meta["stacks"])],
    }
    return shown, columns
