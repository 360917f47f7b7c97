# SPDX-License-Identifier: BSD-3-Clause
"""The one place to ask what the viewer shows: every kind of question (src/view/view.h has those that are many numbers), answered
as a payload of columns. The server and the one-file page take the same bytes from here.

    facts       meta: title, words about the run, where the time goes, processes, locations, metrics (spartito.view.facts)
    waits       meta: what Model.waits() says
    critical    meta: what Model.critical_path() says (share)
    io          meta.files: what Model.io() says, those with the most time first
    tasks       meta: what Model.tasks() says (limit)
    locks       meta: objects (what was waited for: name, got, held), waits (the longest: object, location, holder, stack and
                holder_stack as indices in meta.stacks, at, count, time, longest, open), hidden (how many others), stacks, circles
                (lines), rings (the same: links of location and lock, a name): spartito.view.locks
    memory      meta: processes (of Model.memory(), and rows: first and last + 1 in the columns), lines and paths (those with the
                most that was live at the peak, is left, was allocated, was temporary), threads (the same of all), hidden (how many
                others of lines, paths and threads), stacks, totals, notes (sentences); columns at, heap, resident (s, bytes):
                spartito.view.memory (process)
    lines       meta.functions: what Model.lines() says, the functions with the most time first (process, location); begin and end
                are taken for the other views' sake: lines are not in the trace, and meta.unclipped, a sentence, says so
    source      meta: file, and text with remark (a sentence, or empty), or missing, a sentence why there is no text (file: index in
                meta.files of regions)
    compare     meta: base (what facts says of the other run, but its processes and locations), sentences and about: what changed;
                unlike and costs: sentences about how the two were recorded, headline: a few words
                (spartito.view.changes.recorded); processes, locations: for each of the other run's its index here, or null;
                names: {there: here} of functions whose names differ
    all others  Model.view()

of=base, with any kind, asks the run that this one is compared with, in its own numbers. Where there is one, functions of lines
have `base` (spartito.view.linechanges), and meta.base_none is a sentence why they do not.
"""

from __future__ import annotations

import threading

from spartito.base.messages import Refused
from spartito.report import iotable
from spartito.report.linesource import Sources
from spartito.view import changes, facts, linechanges, locks, memory, payload, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from spartito._analyse import Model

REALS = frozenset(("begin", "end", "share"))
WORDS = frozenset(("metric", "name", "of", "over", "rows"))
MOST_SOURCE = 8 << 20  # bytes of a file that is shown


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

    def __init__(
        self, model: Model, directory: str, *, source: bool = True, compensated: bool = False, base: Experiment | None = None
    ) -> None:
        """source: whether the text of files may be shown. compensated: the model has the cost of measuring taken out. base: the run
        that it is compared with."""
        self.model = model
        self.directory = directory
        self.source = source
        self.compensated = compensated
        self.base = base
        self.told: Callable[[str], None] | None = None  # called with the kind of each question before it is answered
        if base:
            model.view_against(base.model)
        self._kept: dict[str, bytes] = {}  # answers that do not depend on parameters and take time
        self._told_facts: dict[str, Any] | None = None
        self._files: list[str] = []
        self._sources: Sources | None = None
        self._same: changes.Same | None = None
        self._own: dict[str, Callable[[dict[str, Any]], bytes]] = {
            "compare": self._compare,
            "critical": self._critical,
            "facts": self._facts,
            "io": self._io,
            "lines": self._lines,
            "locks": self._locks_waited_for,
            "memory": self._memory,
            "source": self._source,
            "tasks": self._tasks,
            "waits": self._waits,
        }
        self._locks = {kind: threading.Lock() for kind in self._own}

    @property
    def runs(self) -> list[Experiment]:
        """This one, and what it is compared with."""
        return [self] if self.base is None else [self, self.base]

    def get(self, kind: str, parameters: Mapping[str, str]) -> bytes:
        """The payload; parameters as a URL has them, an empty one is not given. BadQuery, or _analyse.Error: one line."""
        if self.told is not None:
            self.told(kind)
        given = {name: _number(name, text) for name, text in parameters.items() if text}
        if "of" in given:
            return self._of(str(given["of"]), kind, parameters)
        try:
            return self._own[kind](given) if kind in self._own else self.model.view(kind, **given)
        except (ValueError, TypeError) as e:
            raise BadQuery(str(e)) from e

    def _of(self, run: str, kind: str, parameters: Mapping[str, str]) -> bytes:
        if run != "base":
            raise BadQuery(f"of cannot be {run!r}: only of=base")
        if self.base is None:
            raise BadQuery("there is nothing to compare with: spartito view --compare")
        return self.base.get(kind, {name: text for name, text in parameters.items() if name != "of"})

    def _once(self, kind: str, given: dict[str, Any], make: Callable[[], dict[str, Any]]) -> bytes:
        """An answer that is always the same: made by the first who asks, while others wait for it."""
        for name in given:
            raise BadQuery(f"{kind} takes no {name}")
        with self._locks[kind]:
            if kind not in self._kept:
                self._kept[kind] = payload.pack(make())
            return self._kept[kind]

    def facts(self) -> dict[str, Any]:
        """What spartito.view.facts says; not to be changed, as all who ask are given the same."""
        if self._told_facts is None:
            has = {"source": self.source, "compare": self.base is not None}
            self._told_facts = facts.facts(self.model, self.directory, has, self.compensated)
        return self._told_facts

    def _facts(self, given: dict[str, Any]) -> bytes:
        return self._once("facts", given, self.facts)

    def _compare(self, given: dict[str, Any]) -> bytes:
        base = self.base
        if base is None:
            raise BadQuery("there is nothing to compare with: spartito view --compare")

        def made() -> dict[str, Any]:
            said = changes.sentences(self.model, self.model.info(), base.model.info())
            other = {key: value for key, value in base.facts().items() if key not in ("processes", "locations", "about")}
            same = self._counterparts(base)
            places = {"processes": same.processes, "locations": same.locations, "names": same.names}
            there, here = ((one.directory, one.model.info()) for one in (base, self))
            return {"base": other, **words.spoken(said), **changes.recorded(there, here, self.compensated), **places}

        return self._once("compare", given, made)

    def _counterparts(self, base: Experiment) -> changes.Same:
        if self._same is None:
            self._same = changes.Same(self.model, base.model)
        return self._same

    def _waits(self, given: dict[str, Any]) -> bytes:
        return self._once("waits", given, self.model.waits)

    def _critical(self, given: dict[str, Any]) -> bytes:
        return payload.pack(self.model.critical_path(**given))

    def _io(self, given: dict[str, Any]) -> bytes:
        return self._once("io", given, lambda: {"files": iotable.files(self.model, 0)})

    def _tasks(self, given: dict[str, Any]) -> bytes:
        return payload.pack(self.model.tasks(**given))

    def _locks_waited_for(self, given: dict[str, Any]) -> bytes:
        return self._once("locks", given, lambda: locks.answer(self.model))

    def _memory(self, given: dict[str, Any]) -> bytes:
        for name in given.keys() - {"process"}:
            raise BadQuery(f"memory takes no {name}")
        return payload.pack(*memory.answer(self.model, given.get("process")))

    def _lines(self, given: dict[str, Any]) -> bytes:
        ranged = "begin" in given or "end" in given
        functions = self.model.lines(**{name: value for name, value in given.items() if name not in ("begin", "end")})
        functions.sort(key=lambda f: -(f["own"] + f["callees"]))
        said = {"unclipped": "times of lines are those of the whole run: the trace does not hold them"} if ranged else {}
        if self.base is not None and functions:
            said.update(self._lines_before(functions, given, self.base))
        return payload.pack({"functions": functions, **said})

    def _lines_before(self, functions: list[dict[str, Any]], given: dict[str, Any], base: Experiment) -> dict[str, str]:
        same = self._counterparts(base)
        asked = {}
        for name, those in (("process", same.processes), ("location", same.locations)):
            if name in given and given[name] not in those:
                return {"base_none": "the other run has no counterpart of what is selected"}
            if name in given:
                asked[name] = those.index(given[name])
        before = base.model.lines(**asked)
        if not before:
            return {"base_none": "no lines were recorded in the other run"}
        linechanges.pair(functions, before, same.functions, self._lines_of, base._lines_of)
        return {}

    def _known(self) -> Sources:
        if self._sources is None:
            self._sources = Sources(self.directory, self.model.info()["end"])
        return self._sources

    def _lines_of(self, file: str) -> list[str]:
        """What may be shown of it."""
        sources = self._known()
        return sources.of(file).lines if self.source and sources.readable(file, MOST_SOURCE) else []

    def _source(self, given: dict[str, Any]) -> bytes:
        for name in given.keys() - {"file"}:
            raise BadQuery(f"source takes no {name}")
        if "file" not in given:
            raise BadQuery("source needs a file: its index in the list of regions")
        with self._locks["source"]:
            if not self._files:
                self._files = payload.unpack(self.model.view("regions"))[0]["files"]
            if not 0 <= given["file"] < len(self._files):
                raise BadQuery(f"there is no file {given['file']}; there are {len(self._files)}")
            file = self._files[given["file"]]
            return payload.pack({"file": file, **self._text(file, self._known())})

    def _text(self, file: str, sources: Sources) -> dict[str, str]:
        if not self.source:
            return {"missing": "no source: it is left out of this page"}
        if not sources.readable(file, MOST_SOURCE):
            return {"missing": f"no source: {file} is no source file, or too large" if file else "no source: the file is not known"}
        found = sources.of(file)
        if not found.lines:
            return {"missing": found.remark or f"no source: {file} is empty"}
        return {"text": "".join(found.lines), "remark": found.remark}


def open_experiment(directory: str, *, compare: str | None = None, compensate: bool = False, source: bool = True) -> Experiment:
    """compare: the directory of a run before it. compensate: take the cost of measuring out of both. Refused or _analyse.Error: one
    cannot be read, or they are the same."""
    from spartito.experiment.reading import another, load

    base = None
    if compare is not None:
        another(directory, compare)
        base = open_experiment(compare, compensate=compensate, source=source)
    return Experiment(load(directory, compensate)[0], directory, source=source, compensated=compensate, base=base)
