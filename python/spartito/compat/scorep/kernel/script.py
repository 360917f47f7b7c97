# SPDX-License-Identifier: BSD-3-Clause
"""%%start_writefile: writes cells to a script, NAME.py, and to NAME_run.sh, which runs it under the module scorep."""

from __future__ import annotations

import os
import shlex
import sys

from spartito.base.messages import Refused, reason
from spartito.compat.scorep.kernel.celltext import Cell
from spartito.compat.scorep.kernel.plaincode import plain
from spartito.experiments.rundir import write_whole

NAME = "jupyter_to_script"
OUTSIDE = "with scorep.instrumenter.disable():"

HEAD = """\
# Written from a notebook's cells by %%start_writefile. Cells that were not marked for measurement are within
# "{outside}".
# {bash} runs this script with the notebook's settings.
{future}import os

import scorep
"""
RUN = """\
#!/bin/bash
# Written from a notebook by %%start_writefile: runs {python}
# under the module scorep, with the notebook's settings.
{exports}exec {interpreter} -m {module} {arguments}{script} "$@"
"""


class Script:
    """The two files, which are complete after each cell. Refused: they cannot be written."""

    def __init__(self, name: str) -> None:
        name = name.strip("\"'") or NAME
        base = os.path.abspath(os.path.expanduser(name[:-3] if name.endswith(".py") else name))
        if not os.path.basename(name.removesuffix(".py")):
            raise Refused(f"{name!r} is not the name of a script")
        self.python, self.bash = base + ".py", base + "_run.sh"
        self.notes = [f"{path} was there and is overwritten" for path in (self.bash, self.python) if os.path.exists(path)]
        self.variables: dict[str, str] = {}
        self.words: list[str] = []
        self.future: list[str] = []
        self.parts: list[str] = []  # the code of each cell
        self.part = -1  # index of the first cell after enable_multicellmode; -1: not in this mode
        self.write()

    @property
    def in_part(self) -> bool:
        return self.part >= 0

    def begin_part(self) -> None:
        self.part = len(self.parts)

    def end_part(self) -> None:
        self.part = -1

    def forget_part(self) -> None:
        del self.parts[self.part :]
        self.part = -1
        self.write()

    def set(self, variables: dict[str, str]) -> str:
        self.variables.update(variables)
        self.write()
        return "Environment variables recorded."

    def arguments(self, words: list[str]) -> str:
        self.words = words
        self.write()
        return "Score-P bindings arguments recorded."

    def add(self, cell: Cell, measured: bool) -> tuple[str, list[str]]:
        """Adds a cell. Returns a message about it, and messages about omitted code."""
        code = plain(cell)
        for name in code.future:
            if name not in self.future:
                self.future.append(name)
        inside = measured or self.in_part
        if code.text.strip():
            self.parts.append(code.text if inside else f"{OUTSIDE}\n{code.indented()}")
        self.variables.update(code.variables)
        self.write()
        if not code.text.strip():
            return ("Environment variables recorded." if code.variables else ""), code.left_out
        return f"Python commands with{'' if inside else 'out'} instrumentation recorded.", code.left_out

    def _texts(self) -> tuple[str, str]:
        future = f"from __future__ import {', '.join(self.future)}\n\n" if self.future else ""
        python = HEAD.format(outside=OUTSIDE, bash=self.bash, future=future)
        python += "".join("\n" + part.strip("\n") + "\n" for part in self.parts)
        bash = RUN.format(
            python=self.python,
            exports="".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.variables.items()),
            interpreter=shlex.quote(sys.executable or "python3"),
            module=_module(),
            arguments="".join(shlex.quote(word) + " " for word in self.words),
            script=shlex.quote(self.python),
        )
        return python, bash

    def write(self) -> None:
        python, bash = self._texts()
        path = self.python
        try:
            write_whole(self.python, python)
            path = self.bash
            write_whole(self.bash, bash)
            os.chmod(self.bash, 0o777 & ~_umask())
        except OSError as e:
            raise Refused(f"{path} cannot be written: {reason(e)}") from None

    def remove(self) -> None:
        for path in (self.python, self.bash):
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
            except OSError as e:
                raise Refused(f"{path} cannot be removed: {reason(e)}") from None


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def _module() -> str:
    """The module for `python -m` outside of this kernel, where `scorep` exists only if its distribution is installed."""
    from importlib.machinery import PathFinder

    return "scorep" if PathFinder.find_spec("scorep") else "spartito.compat.scorep"
