# SPDX-License-Identifier: BSD-3-Clause
"""A finding, and the experiment in which the topics search for findings."""

from __future__ import annotations

from spartito.base.text import as_argument, labelled, name, percent, quoted, seconds, shortened, size
from spartito.experiments import contents
from spartito.experiments.reading import shown
from spartito.report.findings import thresholds

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from spartito._analyse import Model


class Gain:
    """The most that a change could save. amount: in `unit`, "s" or "B". share: the same as a part (0 to 1) of the whole `of`."""

    def __init__(self, amount: float, whole: float, of: str, unit: str = "s") -> None:
        self.amount = amount
        self.share = amount / whole if whole > 0 else 0.0
        self.of = of
        self.unit = unit

    def __str__(self) -> str:
        """1.200 s, 12.4 % of the run"""
        amount = seconds(self.amount) if self.unit == "s" else size(int(self.amount))
        return f"{amount}, {percent(self.share, 1.0)} % of {self.of}"

    @property
    def enough(self) -> bool:
        """Whether it is large enough for a finding."""
        least = thresholds.SECONDS if self.unit == "s" else thresholds.MEMORY_BYTES
        return self.share >= thresholds.SHARE and self.amount >= least


class Finding:
    """One finding. topic: its key in docs/findings.md. title: what costs. path: names of regions, outermost first. function, file,
    line: of the source; "" and 0: there is no single one. evidence: sentences with the numbers. advice: what to try. command: shows
    more."""

    def __init__(
        self,
        topic: str,
        title: str,
        gain: Gain,
        evidence: Sequence[str],
        advice: str,
        command: str,
        row: dict[str, Any] | None = None,
        path: Sequence[str] = (),
    ) -> None:
        """row: of Model.flat() or Model.tree(), or another dictionary with `name` or `function`, `file` and `line`."""
        self.topic = topic
        self.title = title
        self.gain = gain
        self.evidence = list(evidence)
        self.advice = advice
        self.command = command
        row = row or {}
        self.path = list(path)
        self.function = str(row.get("name") or row.get("function") or "")
        self.file = str(row.get("file") or "")
        self.line = int(row.get("line") or 0)

    def sentence(self, where: str = "") -> str:
        """One line, for a summary. where: part of the program that it is in."""
        return f"finding{f' in {where}' if where else ''}: {self.title} (a change saves at most {self.gain})"

    def as_dict(self) -> dict[str, Any]:
        """For JSON and tables."""
        gain = {"saving": self.gain.amount, "unit": self.gain.unit, "share": self.gain.share, "of": self.gain.of}
        keys = ("function", "file", "line", "path", "evidence", "advice", "command")
        return {"topic": self.topic, "title": self.title, **gain, **{key: getattr(self, key) for key in keys}}


def _idle(info: dict[str, Any]) -> list[dict[str, Any]]:
    """The locations that are helpers, or a process's further threads that hardly ran. Beside many of them, no share of the time of
    all threads is large."""
    seen: set[int] = set()
    found = []
    for loc in info["locations"]:
        first = loc["process"] not in seen
        seen.add(loc["process"])
        if loc["helper"] or (not first and loc["running"] < thresholds.IDLE * loc["busy"]):
            found.append(loc)
    return found


class Run:
    """The experiment. compensated: the cost of measuring is subtracted from the model's times."""

    def __init__(self, model: Model, compensated: bool = False) -> None:
        self.model = model
        self.info = model.info()
        self.compensated = compensated
        self.visits = sum(loc["visits"] + loc["resumed"] for loc in self.info["locations"])
        self.metrics = {m["name"]: m for m in self.info["metrics"]}
        self._all = float(sum(loc["busy"] for loc in self.info["locations"]))
        self._busy = self._all - sum(loc["busy"] for loc in _idle(self.info))
        self._split = contents.split(self.info)
        self.running = float(sum(loc["running"] for loc in self.info["locations"])) if self._split else self._all
        self._place = as_argument(shown(self.info["dir"]))
        self._paths: list[dict[str, Any]] | None = None

    def report(self, words: str, match: str = "") -> str:
        """The command of a report. match: the name of a function for --match."""
        return f"spartito report {words}{f' --match {quoted(match)}' if match else ''} {self._place}"

    def of_threads(self, time: float) -> Gain:
        """A time that is the sum over all threads, with waiting, as a part of the time of those that are not idle."""
        if len(self.info["locations"]) == 1:
            return Gain(time, self._all, "the run")
        if self._busy == self._all or time > self._busy:
            return Gain(time, self._all, "the time of all threads")
        return Gain(time, self._busy, "the time of all threads that worked")

    def of_work(self, time: float) -> Gain:
        """A time in which threads run, as a part of that of all threads: other threads may wait for as long as they like."""
        if not self._split:
            return self.of_threads(time)
        return Gain(time, self.running, "the running time" + (" of all threads" if len(self.info["locations"]) > 1 else ""))

    def of_run(self, time: float) -> Gain:
        """A time by which the run would be shorter."""
        return Gain(time, self.info["end"] - self.info["begin"], "the run")

    @property
    def paths(self) -> list[dict[str, Any]]:
        """The rows of Model.tree() with at least PATH_SHARE of the running time, callers before callees. Each also has `stack`,
        the names of its regions, outermost first, and `caller`, the row of its caller or None."""
        if self._paths is None:
            self._paths = []
            above: list[dict[str, Any]] = []
            least = contents.of_running(thresholds.PATH_SHARE, self.running, self._all)
            for row in self.model.tree(threshold=least):
                if row["kind"] == "root":
                    continue
                del above[row["depth"] :]
                caller = above[-1] if above else None
                row["caller"] = caller
                row["stack"] = [*(caller["stack"] if caller else ()), labelled(row)]
                above.append(row)
                self._paths.append(row)
        return self._paths

    def outermost(self, chosen: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """The rows of `paths` for which chosen(row) is true, without those below another one."""
        inside: set[int] = set()
        found = []
        for row in self.paths:
            caller = row["caller"]
            if caller is not None and caller["path"] in inside:
                inside.add(row["path"])
            elif chosen(row):
                inside.add(row["path"])
                found.append(row)
        return found


def details(row: dict[str, Any]) -> list[str]:
    """The lines below the title of a finding: evidence, call path, what to try, and the command that shows more. row:
    Finding.as_dict()."""
    path = [f"call path: {shortened(row['path'])}"] if row["path"] else []
    return [*row["evidence"], *path, f"try: {row['advice']}", f"more: {row['command']}"]


def place(row: dict[str, Any]) -> str:
    """A function with its source location: __main__:step (solver.py:12)"""
    called = name(str(row.get("name") or row.get("function") or ""))
    if not row.get("file"):
        return called
    return f"{called} ({name(str(row['file']))}:{row['line']})" if row["line"] else f"{called} ({name(str(row['file']))})"

