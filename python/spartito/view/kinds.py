# SPDX-License-Identifier: BSD-3-Clause
"""The one place to ask what the viewer shows: every kind of question (src/view/view.h has those that are many numbers), answered
as a payload of columns. The server and the one-file page take the same bytes from here.

    facts       meta: title, words about the run, where the time goes, processes, locations, metrics (spartito.view.facts)
    waits       meta: what Model.waits() says
    critical    meta: what Model.critical_path() says (share)
    tasks       meta: what Model.tasks() says (limit)
    lines       meta.functions: what Model.lines() says, the functions with the most time first (process, location)
    source      meta: file, text; or missing, a sentence that says why there is none (file: index in meta.files of regions)
    all others  Model.view()
"""

from __future__ import annotations

import threading

from spartito.say import Refused
from spartito.view import facts, payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from spartito._analyse import Model

REALS = frozenset(("begin", "end", "share"))
WORDS = frozenset(("over", "name", "rows"))


class BadQuery(Refused):
    """A question that cannot be answered: one line."""


def _number(name: str, text: str) -> int | float | str:
    if name in WORDS:
        return text
    try:
        return float(text) if name in REALS else int(text)
    except ValueError:
        raise BadQuery(f"{name} cannot be {text!r}: a number is needed") from None


class Experiment:
    """An experiment whose questions any number of threads may ask at once."""

    def __init__(self, model: Model, directory: str, source: bool = True) -> None:
        """source: whether the text of files may be shown."""
        self.model = model
        self.directory = directory
        self.source = source
        self._locks = {"facts": threading.Lock(), "waits": threading.Lock()}
        self._kept: dict[str, bytes] = {}  # answers that do not depend on parameters and take time
        self._own: dict[str, Callable[[dict[str, Any]], bytes]] = {
            "critical": self._critical,
            "facts": self._facts,
            "lines": self._lines,
            "tasks": self._tasks,
            "waits": self._waits,
        }

    def get(self, kind: str, parameters: Mapping[str, str]) -> bytes:
        """The payload; parameters as a URL has them, an empty one is not given. BadQuery, or _analyse.Error: one line."""
        given = {name: _number(name, text) for name, text in parameters.items() if text}
        try:
            return self._own[kind](given) if kind in self._own else self.model.view(kind, **given)
        except (ValueError, TypeError) as e:
            raise BadQuery(str(e)) from e

    def _once(self, kind: str, given: dict[str, Any], make: Callable[[], dict[str, Any]]) -> bytes:
        """An answer that is always the same: made by the first who asks, while others wait for it."""
        for name in given:
            raise BadQuery(f"{kind} takes no {name}")
        with self._locks[kind]:
            if kind not in self._kept:
                self._kept[kind] = payload.pack(make())
            return self._kept[kind]

    def _facts(self, given: dict[str, Any]) -> bytes:
        return self._once("facts", given, lambda: facts.facts(self.model, self.directory, source=self.source))

    def _waits(self, given: dict[str, Any]) -> bytes:
        return self._once("waits", given, self.model.waits)

    def _critical(self, given: dict[str, Any]) -> bytes:
        return payload.pack(self.model.critical_path(**given))

    def _tasks(self, given: dict[str, Any]) -> bytes:
        return payload.pack(self.model.tasks(**given))

    def _lines(self, given: dict[str, Any]) -> bytes:
        functions = self.model.lines(**given)
        functions.sort(key=lambda f: -(f["own"] + f["callees"]))
        return payload.pack({"functions": functions})


def open_experiment(directory: str, *, compensate: bool = False, source: bool = True) -> Experiment:
    """Refused or _analyse.Error: it cannot be read."""
    from spartito.reading import load

    return Experiment(load(directory, compensate=compensate)[0], directory, source)
