# SPDX-License-Identifier: BSD-3-Clause
"""What threads waited for: the kinds of off-CPU time, by the names of functions (waitkinds.txt)."""

from __future__ import annotations

import functools
import os

from spartito.base.messages import Refused

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    import re
    from typing import Any

    from spartito._analyse import Model

LEAST = 0.001  # share of the time from which a call path matters for a sentence
SHORT = 40e-6  # s: shorter waits are not off-CPU time (src/record/waits/off_cpu.c)
OTHER = "other"  # a function that is not in the list
MPI = "MPI"  # all functions of MPI
SAMPLED = {"sampled_gil": "GIL", "sampled_object_lock": "object lock", "sampled_stopped": "stopped"}  # kinds that samples found
# kinds of recorded waits that are no locks
RECORDED = {
    **{kind: kind for kind in ("sleep", "thread", "queue", "process")},
    **{"gil": "GIL", "pipe": "process", "socket": "I/O", "select": "event loop", "other": OTHER},
}
FILE = "SPARTITO_WAIT_KINDS"  # environment variable: a file with more lines like those of waitkinds.txt


class Kinds:
    """A list of kinds. Lines of a later file have precedence."""

    def __init__(self, paths: list[str]) -> None:
        self._exact: dict[str, str] = {}
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        self._modules: set[str] = set()
        self._module_patterns: list[re.Pattern[str]] = []
        self._known: dict[str, str] = {}  # results of of(): the same functions wait again and again
        for path in paths:
            try:
                with open(path, encoding="utf-8") as f:
                    lines = f.read().splitlines()
            except (OSError, ValueError) as e:
                raise Refused(f"{path}: {getattr(e, 'strerror', None) or e} ({FILE})") from e
            for number, line in enumerate(lines, 1):
                if line.strip() and not line.startswith("#"):
                    self._add(line, f"{path}:{number}")

    def _add(self, line: str, where: str) -> None:
        import re  # here: it would add milliseconds to the summary of a run that did not wait
        from fnmatch import translate

        parts = re.fullmatch(r"(\S+(?: \S+)*) {2,}(\S.*)", line.strip())
        if not parts:
            raise Refused(f"{where}: a line is a kind, two spaces and names of functions (module:name)")
        kind, functions = parts.groups()
        for pattern in re.findall(r"<[^>]+>|\S+", functions):
            module = pattern.partition(":")[0]
            if "*" in pattern:
                self._patterns.insert(0, (re.compile(translate(pattern)), kind))
            else:
                self._exact[pattern] = kind
            if "*" in module:
                self._module_patterns.append(re.compile(translate(module)))
            else:
                self._modules.add(module)

    def of(self, name: str) -> str:
        """The kind of a function; "": it is not in the list."""
        if name not in self._known:
            found = self._exact.get(name)
            self._known[name] = found or next((kind for pattern, kind in self._patterns if pattern.match(name)), "")
        return self._known[name]

    def has_module(self, module: str) -> bool:
        """Whether the list has functions of the module: then its other functions may be called by them."""
        return module in self._modules or any(p.match(module) for p in self._module_patterns)


@functools.lru_cache(maxsize=1)
def kinds() -> Kinds:
    """The list of Spartito, and that of the user (FILE). Raises Refused if the latter cannot be read."""
    more = os.environ.get(FILE)
    return Kinds([os.path.join(os.path.dirname(__file__), "waitkinds.txt"), *([more] if more else [])])


def kind_of(stack: list[dict[str, Any]]) -> str:
    """The kind of a wait. stack: rows of Model.tree() from the outermost one. The outermost function of the list counts, as far as
    only functions of such modules are between it and the wait: queue:Queue.get, not the threading:Condition.wait in it."""
    known, found = kinds(), ""
    for row in reversed(stack):
        kind = known.of(row["name"]) or (known.of(row["qualname"]) if row["kind"] == "c" else MPI if row["kind"] == "mpi" else "")
        if not kind and not known.has_module(row["module"]):
            break
        found = kind or found
    return found or OTHER


def sums(found: list[dict[str, Any]]) -> dict[str, float]:
    """The time of each kind in s, longest first. found: rows()."""
    out: dict[str, float] = {}
    for row in found:
        out[row["kind"]] = out.get(row["kind"], 0.0) + row["waiting"]
    return dict(sorted(out.items(), key=lambda one: -one[1]))


class _Recorded:
    """What `run --waits` or `--gil` recorded for call paths whose functions are not in the list."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._left: dict[tuple[str, ...], dict[str, float]] | None = None  # {call path: {kind: seconds}}

    def take(self, row: dict[str, Any], stack: list[dict[str, Any]], most: float) -> dict[str, float]:
        """The seconds of a call path by kind, at most `most` in all. They are not given again."""
        if not row["metrics"].get("wait_time", {}).get("excl"):
            gil = row["metrics"].get("gil_wait", {}).get("excl", 0) * 1e-9
            return {"GIL": min(most, gil)} if gil else {}
        if self._left is None:
            self._left = {}
            for wait in self._model.locks()["waits"]:
                if wait["time"] < SHORT * wait["count"]:
                    continue  # they count as running
                of_path = self._left.setdefault(tuple(wait["stack"]), {})
                kind = RECORDED.get(wait["kind"], "lock")
                of_path[kind] = of_path.get(kind, 0.0) + wait["time"]
        of_path, out = self._left.get(tuple(row["name"] for row in stack), {}), {}
        # a thread that got the GIL may still be without a processor: this wait is the least exact one
        for kind in sorted(of_path, key=lambda kind: kind == "GIL"):
            out[kind] = min(most, of_path[kind])
            of_path[kind] -= out[kind]
            most -= out[kind]
        return {kind: time for kind, time in out.items() if time > 0}


def _parts(row: dict[str, Any], stack: list[dict[str, Any]], recorded: _Recorded) -> dict[str, float]:
    """The seconds of a call path's own waits by kind: those that samples found, those of its functions in the list, and else those
    that were recorded."""
    rest, out = row["waiting"], {}
    for metric, kind in SAMPLED.items():
        value = row["metrics"].get(metric)
        if value and value["excl"] > 0:
            out[kind] = min(rest, value["excl"] * 1e-9)
            rest -= out[kind]
    kind = kind_of(stack)
    if kind == OTHER:
        for known, time in recorded.take(row, stack, rest).items():
            out[known] = out.get(known, 0.0) + time
            rest -= time
    if rest > 0:
        out[kind] = out.get(kind, 0.0) + rest
    return out


def rows(model: Model, least: float = 0.0) -> list[dict[str, Any]]:
    """The waits of all threads by function and kind, longest first: "name", "module", "file", "line", "kind", "waiting" (s). least:
    call paths with a smaller share of all time (0 to 1) are not read; a run may have millions of them."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    stack: list[dict[str, Any]] = []
    recorded = _Recorded(model)
    for row in model.tree(threshold=least):
        if row["kind"] == "root":
            continue
        del stack[row["depth"] :]
        stack.append(row)
        if row["waiting"] <= 0:
            continue
        for kind, seconds in _parts(row, stack, recorded).items():
            new = {**{key: row[key] for key in ("name", "module", "file", "line")}, "kind": kind, "waiting": 0.0}
            found.setdefault((row["name"], kind), new)["waiting"] += seconds
    return sorted(found.values(), key=lambda row: -row["waiting"])
