# SPDX-License-Identifier: BSD-3-Clause
"""Writes the results to the output directory: tables, the trace for Perfetto, metadata.

Runs in the launcher or in a separate process (`complete`), as measured processes never load the analysis."""

from __future__ import annotations

import os
import sys

from spartito.base import package
from spartito.base.messages import Refused, reason, say
from spartito.compat.omnitrace import directory as place
from spartito.compat.omnitrace.variables import TIME_UNITS, Variables, from_configuration
from spartito.experiments.rundir import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from spartito._analyse import Model

TIMEOUT = 3600  # seconds to wait for the results in a process that ends its measurement itself


class Results:
    """The results of an experiment, the written files and the errors."""

    def __init__(self, experiment: str, variables: Variables, model: Model) -> None:
        info: dict[str, Any] = model.info()
        processes: list[dict[str, Any]] = info["processes"]
        first = min(processes, key=lambda p: p["begin"]) if processes else {}
        self.experiment = experiment
        self.out = os.path.dirname(experiment)
        self.variables = variables
        self.model = model
        self.command = _command(experiment)
        self.pid = str(first.get("pid", 0))
        self.files: list[str] = []
        self.wrong: list[str] = []

    def expand(self, name: str) -> str:
        return place.expand("OMNITRACE_" + name, self.variables.values[name], self.command, self.pid)

    def path(self, name: str, suffix: str) -> str:
        """The path of a result in the output directory: PREFIX NAME [-PID] SUFFIX."""
        pid = "-" + self.pid if self.variables.on("USE_PID") else ""
        return os.path.join(self.out, self.expand("OUTPUT_PREFIX") + name + pid + suffix)

    def keep(self, path: str, text: str) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_whole(path, text)
        self.files.append(path)

    def trying(self, what: str, work: Callable[[], None]) -> None:
        from spartito._analyse import Error

        try:
            work()
        except (Error, Refused, OSError, ValueError) as e:
            text = f"{e.filename}: {reason(e)}" if isinstance(e, OSError) and e.filename else str(e)
            self.wrong.append(f"{what} was not written: {text}")

    # ---- tables ----

    def table(self, metric: str, json: bool) -> str:
        values, on = self.variables.values, self.variables.on
        return self.model.table(
            metric,
            json=json,
            collapse_threads=on("COLLAPSE_THREADS"),
            collapse_processes=on("COLLAPSE_PROCESSES"),
            flat=on("FLAT_PROFILE"),
            timeline=on("TIMELINE_PROFILE"),
            max_depth=int(values["MAX_DEPTH"]) if values["MAX_DEPTH"] else -1,
            max_width=int(values["MAX_WIDTH"]),
            precision=int(values["PRECISION"] or 6),
            units=TIME_UNITS[values["TIMING_UNITS"].lower()],
            scientific=on("SCIENTIFIC"),
        )

    def tables(self, metric: str) -> None:
        if self.variables.on("TEXT_OUTPUT"):
            self.trying(metric + ".txt", lambda: self.keep(self.path(metric, ".txt"), self.table(metric, False)))
        if self.variables.on("JSON_OUTPUT"):
            self.trying(metric + ".json", lambda: self.keep(self.path(metric, ".json"), self.table(metric, True)))
        if self.variables.on("COUT_OUTPUT"):
            self.trying(metric + " on standard output", lambda: self.show(metric))

    def show(self, metric: str) -> None:
        from spartito.base.messages import printable

        if sys.stdout is not None:
            sys.stdout.write(printable(self.table(metric, False), sys.stdout.encoding))
            sys.stdout.flush()

    # ---- the trace ----

    def perfetto_path(self) -> str:
        wanted = self.expand("PERFETTO_FILE")
        if wanted:
            return os.path.join(self.out, os.path.expanduser(wanted))
        pid = "" if self.variables.values["USE_PID"] == "false" else "-" + self.pid
        return os.path.join(self.out, f"{self.expand('OUTPUT_PREFIX')}perfetto-trace{pid}.proto")

    def perfetto(self) -> None:
        from spartito.base.progress import with_bar
        from spartito.experiments.conversion import find, refuse

        refuse(find("perfetto"), self.model.info())
        path = self.perfetto_path()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        title = f"writing {os.path.basename(path)}"
        with_bar(title, lambda progress: self.model.convert("perfetto", path, progress=progress, bare=True))
        self.files.append(path)

    # ---- all ----

    def write(self) -> None:
        if self.variables.profiled:
            for metric in self.variables.components:
                self.tables(metric)
        if self.variables.traced:
            self.trying("the trace for Perfetto", self.perfetto)
        self.trying("metadata", self.metadata)

    def metadata(self) -> None:
        path = self.path("metadata", ".json")
        self.keep(path, place.metadata(self.command, self.variables, [*self.files, path], os.path.basename(self.experiment)))


def _command(experiment: str) -> list[str]:
    from spartito.experiments.description import launcher

    found = launcher(experiment)[0].get("command")
    return [str(word) for word in found] if isinstance(found, list) else []


def write(experiment: str, builtin: bool = False) -> tuple[list[str], list[str]]:
    """Writes the results of an experiment with the variables in its omnitrace.cfg. Returns the written paths, and messages about
    lost data and errors. builtin: only functions that the program selected were recorded. Raises no exceptions because of damaged
    recordings."""
    from spartito._analyse import Error, Model
    from spartito.compat.scorep.results import wait_for_the_last
    from spartito.experiments.family import BY_PROGRAM
    from spartito.experiments.losses import ABRUPT, of_ranks, sentences

    wait_for_the_last(experiment)
    try:
        variables = from_configuration(os.path.join(experiment, place.CFG))
        model = Model(experiment)
    except (OSError, Error) as e:
        return [], [f"the results in {os.path.dirname(experiment)} cannot be written: {e}"]
    results = Results(experiment, variables, model)
    lost = [*sentences(model.info()), *of_ranks(experiment)]
    results.write()
    # `spartito info` reports how workers ended; omit it here
    lost = [line for line in lost if ABRUPT not in line and BY_PROGRAM not in line]
    if builtin and not any(row["kind"] in ("python", "c") for row in model.flat()):
        lost.append("-b: no function was recorded: none that ran is decorated with @profile, or was called in `with profile:`")
    return results.files, [*lost, *results.wrong]


def write_and_report(experiment: str, verbosity: int, builtin: bool = False) -> bool:
    """Calls write() and prints its messages. Returns whether there was no error."""
    files, wrong = write(experiment, builtin)
    try:
        here = os.getcwd()
    except OSError:
        here = "/"
    for path in files if verbosity >= 0 else ():
        near = os.path.relpath(path, here)
        say(f"omnitrace: wrote {path if near.startswith('..') else near}")
    for line in wrong:
        say("omnitrace: " + line)
    return not wrong


def main(experiment: str, verbosity: str) -> int:
    return 0 if write_and_report(experiment, int(verbosity)) else 1


def complete(experiment: str, verbosity: int) -> None:
    """Runs write_and_report() in a separate process, which inherits only standard error, and standard output if tables are printed
    to it."""
    import subprocess

    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from spartito.compat.omnitrace.results import main; "
        "sys.exit(main(*sys.argv[2:]))"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_")}
    command = [sys.executable or "python3", "-I", "-c", code, package.SITE, experiment, str(verbosity)]
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, timeout=TIMEOUT)
    except (OSError, ValueError, subprocess.SubprocessError) as e:
        say(f"omnitrace: the results in {os.path.dirname(experiment)} cannot be written: {e}")
