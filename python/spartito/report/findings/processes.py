# SPDX-License-Identifier: BSD-3-Clause
"""Findings about several processes: serialization of what they exchange, and a process that waits for its children."""

from __future__ import annotations

from spartito.base.text import name, plural, seconds, shortened, size
from spartito.experiments.naming import title as process_title
from spartito.report.findings import thresholds
from spartito.report.findings.finding import Finding, Run, place
from spartito.report.iotable import WRITTEN

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

# modules whose functions serialize objects
PICKLE = (
    "pickle", "_pickle", "cloudpickle", "dill", "multiprocessing.reduction", "loky.backend.reduction",
    "joblib.externals.cloudpickle", "joblib.externals.loky.backend.reduction", "joblib.numpy_pickle", "distributed.protocol",
)  # fmt: skip
# modules that send objects to other processes; only what they serialize is for another process
EXCHANGE = ("multiprocessing", "concurrent.futures.process", "loky", "joblib.externals.loky", "distributed")
# functions that send a message to another process
SENDS = ("multiprocessing.connection:Connection._send_bytes",)
# functions that return when a child process has ended
WAITING = (
    "subprocess:Popen.wait", "subprocess:Popen.communicate", "multiprocessing.process:BaseProcess.join",
    "multiprocessing.popen_fork:Popen.wait",
    *(f"posix:<built-in method posix.{name}>" for name in ("wait", "wait3", "wait4", "waitid", "waitpid", "system")),
)  # fmt: skip
SHOWN = 3  # call paths or children


def _within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def _exchanged(row: dict[str, Any]) -> bool:
    """Whether a row of Run.paths is a function that serializes objects, called by a module that sends them to another process."""
    caller = row["caller"]
    return (
        _within(row["module"], PICKLE) and row["qualname"] != "<module>"
        and caller is not None and _within(caller["module"], EXCHANGE)
    )  # fmt: skip


def _sent(run: Run) -> list[str]:
    """A sentence about the bytes that processes sent to each other, if file I/O was recorded."""
    if WRITTEN not in run.metrics:
        return []
    rows = [row for row in run.paths if row["name"] in SENDS and row["metrics"][WRITTEN]["incl"]]
    amount, calls = (sum(row["metrics"][WRITTEN]["incl"] for row in rows), sum(row["visits"] for row in rows))
    return [f"{size(amount)} sent in {plural(calls, 'message')}: {size(amount // calls)} each"] if calls else []


def serialization(run: Run) -> list[Finding]:
    """The time for pickling objects that processes exchange."""
    rows = run.outermost(_exchanged)
    gain = run.of_threads(sum(row["incl"] for row in rows))
    if not gain.enough:
        return []
    rows.sort(key=lambda row: -float(row["incl"]))
    evidence = [f"{seconds(row['incl'])} in {plural(row['visits'], 'call')} of {shortened(row['stack'])}" for row in rows[:SHOWN]]
    evidence += _sent(run)
    calls = plural(sum(row["visits"] for row in rows), "call")
    title = f"pickling objects for other processes took {seconds(gain.amount)} in {calls}"
    advice = (
        "send less: a name or an index instead of the data, larger parts of the work in one task, shared memory "
        "(multiprocessing.shared_memory, memory-mapped files) for arrays"
    )
    top = rows[0]
    return [Finding("serialization", title, gain, evidence, advice, run.report("callers", top["name"]), top, top["stack"])]


def _overlap(children: list[dict[str, Any]]) -> bool:
    """Whether two of the children ran at the same time, or an end is not known."""
    ordered = sorted(children, key=lambda child: float(child["begin"]))
    return any(a["end"] is None or a["end"] > b["begin"] for a, b in zip(ordered, ordered[1:]))


def _waits_of(run: Run, location: int) -> list[dict[str, Any]]:
    """The outermost rows of Model.tree() of a location in which it waited for a child process."""
    rows, inside = [], -1
    for row in run.model.tree(location=location, threshold=thresholds.PATH_SHARE):
        if inside >= 0 and row["depth"] > inside:
            continue
        inside = -1
        if row["name"] in WAITING:
            inside = row["depth"]
            rows.append(row)
    return rows


def children(run: Run) -> list[Finding]:
    """A process with one thread that waited for children, of which one ran at a time: nothing ran beside them."""
    by_parent: dict[int, list[dict[str, Any]]] = {}
    for child in run.info["children"]:
        if child["parent"] is not None and not child["exec"]:
            by_parent.setdefault(child["parent"], []).append(child)
    found = []
    for process, of_process in by_parent.items():
        locations = [i for i, loc in enumerate(run.info["locations"]) if loc["process"] == process]
        if len(locations) != 1 or _overlap(of_process):
            continue
        rows = _waits_of(run, locations[0])
        gain = run.of_run(sum(row["incl"] for row in rows))
        if not gain.enough:
            continue
        row = max(rows, key=lambda row: float(row["incl"]))
        longest = sorted(of_process, key=lambda child: (child["end"] or child["begin"]) - child["begin"], reverse=True)
        evidence = [f"{plural(row['visits'], 'call')} of {place(row)}"]
        evidence += [
            f"{seconds(child['end'] - child['begin'])}: {name(child['command'] or 'a copy of its parent')}"
            for child in longest[:SHOWN]
            if child["end"] is not None
        ]
        who = process_title(run.info, process) if len(run.info["processes"]) > 1 else "the program"
        number = plural(len(of_process), "child process")
        title = f"{who} waited {seconds(gain.amount)} for {number}" + (", one at a time" if len(of_process) > 1 else "")
        advice = "start the children together and wait then, do other work meanwhile, or call the work without a process"
        found.append(Finding("child-process", title, gain, evidence, advice, run.report("callers", row["name"]), row))
    return found
