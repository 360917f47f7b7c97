# SPDX-License-Identifier: BSD-3-Clause
"""ipykernel's shell with the magics of the Score-P kernel. Before each cell it makes a plan (cells.py) and runs that."""

from __future__ import annotations

import inspect
import sys

from ipykernel.ipkernel import IPythonKernel
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.error import UsageError
from traitlets import Type

from spartito import _measure, startup
from spartito.base.messages import Refused
from spartito.compat.scorep.kernel.cells import MAGICS, Cells, Plan
from spartito.compat.scorep.kernel.celltext import Cell
from spartito.compat.scorep.kernel.unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ALONE = "%%{} stands on the first line of a cell that is run by itself"


def _put(text: str, stream: str, end: str = "") -> None:
    if text:
        out = getattr(sys, stream)
        out.write(text + end)
        out.flush()


def _show(plan: Plan) -> None:
    _put(plan.output, "stdout")
    _put(plan.warned, "stderr", "\n")


def _magic(shell: Shell, name: str, help: str) -> Callable[[str, str], None]:
    """A registered magic for %lsmagic, completion and help. run_cell_async() handles cells that begin with it."""

    def magic(line: str, cell: str) -> None:
        text = f"%%{name} {line}\n{cell}"
        if shell.cells.peek(text, False) != []:
            raise UsageError(ALONE.format(name))
        plan = shell.cells.plan(text, False)
        _show(plan)
        if plan.wrong:
            raise UsageError(plan.wrong)

    magic.__doc__ = help
    return magic


class Shell(ZMQInteractiveShell):  # type: ignore[misc]  # without types
    execution_count: int
    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if startup not in sys.meta_path:
            sys.meta_path.append(startup)  # `import scorep` without its distribution
        self.cells = Cells()
        self.unit: Unit | None = None  # the current measurement, or one whose result is not displayed yet
        for name, help in MAGICS.items():
            self.register_magic_function(_magic(self, name, help), "cell", name)
        self.events.register("post_run_cell", self._deliver)

    def should_run_async(self, raw_cell: str, **keywords: Any) -> bool:
        code = self.cells.peek(raw_cell, True)
        if code is None:
            return bool(super().should_run_async(raw_cell, **keywords))
        return any(super(Shell, self).should_run_async(c.text, **self._transformed(c)) for c in code)

    def _transformed(self, cell: Cell) -> dict[str, Any]:
        """The code as IPython transforms it, with its line numbers in the cell."""
        above = cell.above
        for line in cell.text.split("\n"):
            if line.strip():
                break
            above += 1  # IPython removes leading empty lines
        try:
            return {"transformed_cell": "\n" * above + self.transform_cell(cell.text), "preprocessing_exc_tuple": None}
        except Exception:
            error = sys.exc_info()
        try:
            self.transform_cell("#\n" * cell.above + cell.text)
        except Exception:
            error = sys.exc_info()  # the same error with the line number in the cell
        return {"transformed_cell": cell.text, "preprocessing_exc_tuple": error}

    async def run_cell_async(
        self, raw_cell: str, store_history: bool = False, silent: bool = False, shell_futures: bool = True, **more: Any
    ) -> Any:
        plan = None if silent else self.cells.plan(raw_cell, store_history)
        if plan is None or plan.code is None:
            if plan:
                _show(plan)
            return await super().run_cell_async(raw_cell, store_history, silent, shell_futures, **more)
        _show(plan)
        unit = None
        if plan.measured and not plan.wrong:
            unit = Unit(self.cells, f"In[{self.execution_count}]")
            try:
                unit.begin()
            except Refused as e:
                unit, plan.wrong = None, str(e)
        if plan.wrong or not plan.code:
            problem = (UsageError, UsageError(plan.wrong), None) if plan.wrong else None
            more.update(transformed_cell="", preprocessing_exc_tuple=problem)
            return await super().run_cell_async(raw_cell, store_history, False, shell_futures, **more)
        self.unit = unit
        result = None
        try:
            if len(plan.code) == 1:
                more.update(self._transformed(plan.code[0]))
                result = await super().run_cell_async(raw_cell, store_history, False, shell_futures, **more)
                return result
            return await self._run_all(plan.code, raw_cell, store_history, shell_futures, more)
        finally:
            if unit and result and result.error_before_exec:
                self.unit = None
                unit.forget()  # a syntax error: nothing was run
            elif unit:
                unit.end()

    async def _run_all(
        self, code: list[Cell], raw_cell: str, store_history: bool, shell_futures: bool, more: dict[str, Any]
    ) -> Any:
        """Runs the marked cells up to the first error, all under the number of the cell that runs them."""
        more.update(transformed_cell="", preprocessing_exc_tuple=None)
        number: int = self.execution_count
        result = await super().run_cell_async(raw_cell, store_history, False, shell_futures, **more)
        after, self.execution_count = self.execution_count, number
        try:
            for at, cell in enumerate(code, 1):
                more.update(self._transformed(cell))
                result = await super().run_cell_async(cell.text, False, False, shell_futures, **more)
                if not result.success and at < len(code):
                    _put(f"the cell at position {at} ended with an error: those after it are not run", "stderr", "\n")
                if not result.success:
                    break
        finally:
            self.execution_count = after
        return result

    async def run_code(self, *args: Any, **keywords: Any) -> Any:
        """Records the functions that a cell calls, without those of the shell."""
        if not self.unit or not self.unit.running:
            return await super().run_code(*args, **keywords)
        first = _measure.thread_functions(True)
        try:
            return await super().run_code(*args, **keywords)
        finally:
            if first:  # not within another cell's code
                _measure.thread_functions(False)

    def _deliver(self, result: Any = None) -> None:
        """Displays the result after the cell's output and figures."""
        unit = self.unit
        if unit and not unit.running:
            self.unit = None
            unit.show()


# ipykernel reads this signature to choose the arguments of run_cell(), which before IPython 9 has no others
Shell.run_cell_async.__signature__ = inspect.signature(ZMQInteractiveShell.run_cell_async)  # type: ignore[attr-defined]


class Kernel(IPythonKernel):  # type: ignore[misc]  # without types
    implementation = "spartito-scorep"
    banner = "IPython with the magics of the Score-P kernel, measured by Spartito"
    shell_class = Type(Shell)
