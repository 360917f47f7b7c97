# SPDX-License-Identifier: BSD-3-Clause
"""The measurement of one cell or of several marked ones. Its experiment directory is like Score-P's, and complete when the cell
ends."""

from __future__ import annotations

import os
import sys

from spartito import _measure
from spartito.base.messages import Refused, reason
from spartito.compat.scorep import directory as place
from spartito.compat.scorep import options
from spartito.compat.scorep.variables import Variables
from spartito.notebook import celllist
from spartito.notebook.measuring import ChildVariables, start, unreported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.compat.scorep.kernel.cells import Cells
    from spartito.experiments.rundir import Directory

# Filter items that exclude functions of the kernel between those of the cell, by their names in Score-P. The last match decides, so
# a filter file can override them.
BETWEEN = (
    # parts of the shell that call code of the program
    *("-module:IPython", "-module:ipykernel", "-module:traitlets", "-module:jupyter_client", "-module:zmq"),
    # parts that do not; their callees are excluded, too
    *("!module:ipykernel.iostream", "!module:ipykernel.displayhook", "!module:ipykernel.zmqshell.ZMQDisplayPublisher"),
    *("!IPython.core.interactiveshell.*:show*", "!IPython.core.interactiveshell.*:_format*", "!module:matplotlib_inline"),
)

WITHOUT_IO = (
    "file I/O (--io, SCOREP_IO_POSIX) is recorded in kernels that were started with its library, as those of "
    "`spartito kernel install --score-p` are"
)
_files_run: set[tuple[str, int]] = set()  # executed instrumenter files; each is run once, as its wrappers remain


def _warn(text: str) -> None:
    sys.stderr.write(f"scorep: {text}\n")


def _another() -> str:
    """The path of a module `scorep` that is not Spartito's; "": no such module is imported."""
    module = sys.modules.get("scorep")
    file = getattr(module, "__file__", None) or ""
    return "" if module is None or getattr(module, "__spartito__", False) else file


class Unit:
    def __init__(self, cells: Cells, name: str) -> None:
        self.cells = cells
        self.name = name
        self.running = False
        self.path = ""
        self.measured = False
        self._made: Directory | None = None
        self._variables: ChildVariables | None = None

    def _instrumenter_file(self, path: str) -> None:
        """Executes an instrumenter file. Refused: it failed."""
        from spartito import startup

        try:
            key = (path, os.stat(path).st_mtime_ns)
            if key not in _files_run:
                startup.run_file(path)
                _files_run.add(key)
        except (Exception, SystemExit) as e:
            raise Refused(f"--instrumenter-file {path}: {type(e).__name__}: {e}") from e

    def _verbose(self, asked: options.Asked, variables: Variables) -> None:
        _warn(f"the experiment directory is {self.path}")
        for line in (*variables.configuration(self.path).splitlines(), *asked.notes):
            _warn(line)

    def begin(self) -> None:
        """Begins the measurement. Refused: the cell cannot be measured; it is not run then, as under the Score-P kernel."""
        if _measure.active():
            raise Refused(f"something is measured already, into {_measure.experiment()}")
        asked = options.parse(self.cells.arguments)
        variables = Variables(os.environ)
        if asked.file:
            self._instrumenter_file(asked.file)
        self._made = place.create(variables, [self.name], False)
        self.path = self._made.path
        self.measured = variables.on("SCOREP_ENABLE_PROFILING") or variables.on("SCOREP_ENABLE_TRACING")
        settings = variables.settings(asked.instrument, asked.io, asked.mpi)
        if _another():
            _warn(f"the module scorep is of another package ({_another()}): what it records is not in the results")
        for line in unreported(variables.notes):
            _warn(line)
        if asked.verbose or variables.on("SCOREP_VERBOSE"):
            self._verbose(asked, variables)
        if self.measured:
            self._start(settings)
        self.running = True

    def _start(self, settings: dict[str, str]) -> None:
        assert self._made
        try:
            self._variables = start(self.path, settings, BETWEEN)
        except BaseException as e:
            place.forget(self._made)
            if not isinstance(e, (ValueError, OSError, Refused)):
                raise
            text = " ".join(str(e).split())
            raise Refused(WITHOUT_IO if text.startswith("io: ") else text) from None
        _measure.thread_functions(False)

    def _restore_variables(self) -> None:
        if self._variables:
            self._variables.restore()

    def end(self) -> None:
        """Ends the measurement and completes the directory."""
        if not self.running:
            return
        self.running = False
        if _measure.active() and _measure.experiment() == self.path:
            _measure.stop()
            celllist.remove_unread(self.path)
        self._restore_variables()
        assert self._made
        try:
            self._made.describe(0)
        except OSError as e:
            _warn(f"the end of {self.name} is not recorded in experiment.json: {reason(e)}")
        from spartito.compat.scorep import results

        for line in results.write(self.path, os.getpid()):
            _warn(line)

    def forget(self) -> None:
        """Ends the measurement without a result."""
        self.running = False
        _measure.stop()
        self._restore_variables()
        assert self._made
        place.forget(self._made)

    def show(self) -> None:
        """Displays the path of the results, and the result itself, below the cell."""
        from html import escape

        from IPython.display import publish_display_data

        from spartito.notebook import cells
        from spartito.notebook.result import Result

        message = f"Instrumentation results can be found in {self.path}"
        shown = {"text/plain": message}
        if self.measured:
            if cells.current:
                cells.current.note(self.name, self.path)
            found = Result(self.path)._repr_mimebundle_()
            shown["text/plain"] += "\n" + found["text/plain"]
            if "text/html" in found:
                shown["text/html"] = f"<div>{escape(message)}</div>{found['text/html']}"
        publish_display_data(shown)
