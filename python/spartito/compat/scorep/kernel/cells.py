# SPDX-License-Identifier: BSD-3-Clause
"""The magics of the Score-P kernel: turns the text of a cell into a plan of messages to print and code to run or measure.

It implements the modes (cells are marked, or written to a file) and does not depend on IPython."""

from __future__ import annotations

import os
import shlex
from difflib import get_close_matches

from spartito.base.messages import Refused
from spartito.compat.scorep import options
from spartito.compat.scorep.kernel.celltext import Cell, first_line
from spartito.compat.scorep.kernel.script import Script
from spartito.compat.scorep.variables import Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# names of the modes in messages
DEFAULT, MULTICELL, WRITEFILE = "default", "multicell", "writefile"
EXECUTE = "execute_with_scorep"

# one line each, for help
MAGICS = {
    "scorep_env": "Variables for the measured cells: lines NAME=value below.",
    "scorep_python_binding_arguments": "Options of `python -m scorep` for the measured cells, in the line below.",
    EXECUTE: "Measures this cell.",
    "enable_multicellmode": "The cells that follow are marked, not run.",
    "finalize_multicellmode": "Runs the marked cells in their order and measures them as one.",
    "abort_multicellmode": "Forgets the marked cells.",
    "start_writefile": "%%start_writefile [NAME]: the cells that follow are written to NAME.py, and what runs it to NAME_run.sh.",
    "end_writefile": "Ends the script.",
    "abort_writefile": "Removes the script.",
    "marshalling_settings": "Nothing is marshalled here: accepted, and says so.",
    "serializer_settings": "The old name of %%marshalling_settings.",
}


class Plan:
    """How to run a cell. code: pieces to run in turn; None: the cell has no magic of this kernel and runs unchanged."""

    __slots__ = ("code", "measured", "output", "warned", "wrong")

    def __init__(self, output: str = "", warned: str = "", wrong: str = "") -> None:
        self.output = output  # text for standard output, without an end of line, as the Score-P kernel prints it
        self.warned = warned  # line for standard error; the cell succeeds
        self.wrong = wrong  # line for standard error; the cell fails
        self.code: list[Cell] | None = []
        self.measured = False


class Cells:
    """The state between cells."""

    def __init__(self) -> None:
        self.mode = DEFAULT
        self.variables: dict[str, str] = {}
        self.arguments: list[str] = []
        self.marked: list[Cell] = []
        self.script: Script | None = None

    def peek(self, text: str, stored: bool) -> list[Cell] | None:
        """The code that plan() would return; has no side effects."""
        name, _, code = first_line(text)
        if name == EXECUTE and self.mode == DEFAULT:
            return [code]
        if name == "finalize_multicellmode" and self.mode == MULTICELL:
            return self.marked
        return [] if name in MAGICS or (self.mode != DEFAULT and stored) else None

    def plan(self, text: str, stored: bool) -> Plan:
        """The plan for a cell. stored: the cell is stored in the history. Tools of the notebook run other cells, which are never
        marked."""
        name, line, code = first_line(text)
        if name in MAGICS:
            plan = getattr(self, "_" + name)(line, code)
            assert isinstance(plan, Plan)
            return plan
        if self.mode != DEFAULT and stored and text.strip():
            return self._taken(Cell(text), False)
        plan = Plan()
        plan.code = None
        near = get_close_matches(name, MAGICS, 1) if name else []
        if near:
            plan.warned = f"%%{name}: did you mean %%{near[0]}?"
        return plan

    def _taken(self, code: Cell, measured: bool) -> Plan:
        """The plan of a cell that is marked or written to a file instead of being run."""
        if self.mode == MULTICELL:
            self.marked.append(code)
            return Plan(f"marked the cell for multi-cell mode. This cell will be executed at position: {len(self.marked)}")
        assert self.script
        try:
            recorded, left_out = self.script.add(code, measured)
        except Refused as e:
            return Plan(wrong=str(e))
        return Plan(recorded, "\n".join(left_out))

    def _ignored(self, why: str = "") -> Plan:
        return Plan(warned=why or f"KernelWarning: Currently in {self.mode}, command ignored.")

    # one method for each magic

    def _scorep_env(self, line: str, code: Cell) -> Plan:
        wanted = {}
        for text in [line, *code.text.split("\n")]:
            words = text.strip().removeprefix("export ").strip()
            name, sep, value = words.partition("=")
            if not words or words.startswith("#"):
                continue
            if not sep or not name.strip().isidentifier():
                return Plan(wrong=f"%%scorep_env: {words!r} is not NAME=value; nothing is set")
            wanted[name.strip()] = value.strip()
        try:
            Variables({**os.environ, **wanted})
        except Refused as e:
            return Plan(wrong=f"%%scorep_env: {e}; nothing is set")
        if self.script:
            return Plan(self.script.set(wanted))
        self.variables.update(wanted)
        os.environ.update(wanted)
        return Plan(f"set user environment sucessfully: {self.variables}")

    def _scorep_python_binding_arguments(self, line: str, code: Cell) -> Plan:
        text = " ".join([line, *code.text.split("\n")])
        try:
            words = shlex.split(text)
            asked = options.parse(words)
            if asked.command:
                raise Refused(f"{asked.command[0]!r} is no option; the cells take the script's place")
        except (Refused, ValueError) as e:
            return Plan(wrong=f"%%scorep_python_binding_arguments: {e}; nothing is set")
        if self.script:
            return Plan(self.script.arguments(words))
        self.arguments = words
        return Plan(f"use the following scorep python binding arguments: {' '.join(words)}", options.HELP if asked.help else "")

    def _execute_with_scorep(self, line: str, code: Cell) -> Plan:
        if self.mode != DEFAULT:
            return self._taken(code, True)
        plan = Plan()
        if line:
            plan.wrong = f"%%{EXECUTE} has no options: {line!r}; %%scorep_python_binding_arguments sets those of all cells"
        else:
            plan.code, plan.measured = [code], True
        return plan

    def _enable_multicellmode(self, line: str, code: Cell) -> Plan:
        extra = "additional code in this cell is ignored" if code.text.strip() else ""
        if self.mode == MULTICELL:
            return self._ignored("KernelWarning: multicell mode has already been enabled")
        if self.script:
            self.script.begin_part()
            return Plan("started multi-cell mode. The following cells will be recorded with instrumentation.", extra)
        self.mode, self.marked = MULTICELL, []
        return Plan("started multi-cell mode. The following cells will be marked.", extra)

    def _finalize_multicellmode(self, line: str, code: Cell) -> Plan:
        if self.script and self.script.in_part:
            self.script.end_part()
            return Plan("finalized multi-cell mode. The following cells will be recorded as they are marked.")
        if self.mode != MULTICELL:
            return self._ignored()
        plan = Plan("finalizing multi-cell mode and execute cells.")
        plan.code, plan.measured = self.marked, bool(self.marked)
        if not self.marked:
            plan.warned = "no cell was marked: nothing is run"
        self.mode, self.marked = DEFAULT, []
        return plan

    def _abort_multicellmode(self, line: str, code: Cell) -> Plan:
        if self.script and self.script.in_part:
            self.script.forget_part()
        elif self.mode == MULTICELL:
            self.mode, self.marked = DEFAULT, []
        else:
            return self._ignored()
        return Plan("aborted multi-cell mode.")

    def _start_writefile(self, line: str, code: Cell) -> Plan:
        if self.mode == WRITEFILE:
            return self._ignored("KernelWarning: writefile mode has already been enabled")
        if self.mode != DEFAULT:
            return self._ignored()
        try:
            script = Script(line)
        except Refused as e:
            return Plan(wrong=f"%%start_writefile: {e}")
        self.mode, self.script = WRITEFILE, script
        return Plan(f"Started converting to Python script. See files:\n{script.bash}\n{script.python}\n", "\n".join(script.notes))

    def _leave(self, end: Callable[[Script], None], message: str) -> Plan:
        if not self.script:
            return self._ignored()
        script, self.mode, self.script = self.script, DEFAULT, None
        try:
            end(script)
        except Refused as e:
            return Plan(wrong=str(e))
        return Plan(message)

    def _end_writefile(self, line: str, code: Cell) -> Plan:
        return self._leave(Script.write, "Finished converting to Python script.")

    def _abort_writefile(self, line: str, code: Cell) -> Plan:
        return self._leave(Script.remove, "Writefile mode aborted.")

    def _marshalling_settings(self, line: str, code: Cell) -> Plan:
        if self.mode != DEFAULT:
            return self._ignored()
        words = " ".join([line, code.text]).split()
        asked = f" ({', '.join(words)})" if words else ""
        return Plan(f"Cells run in the notebook's own process, where nothing has to be marshalled: settings have no effect{asked}.")

    def _serializer_settings(self, line: str, code: Cell) -> Plan:
        return self._marshalling_settings(line, code)
