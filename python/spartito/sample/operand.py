# SPDX-License-Identifier: BSD-3-Clause
"""The process that the user names for `spartito top`, `doctor` and `attach`."""

from __future__ import annotations

import os

from spartito.base.messages import Refused, say
from spartito.options.table import COMMANDS, Usage
from spartito.sample.attaching import children


def command_of(pid: int) -> list[str]:
    """The command line of a process; empty: it has ended or may not be inspected."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return [os.fsdecode(word) for word in f.read().split(b"\0")[:-1]]
    except OSError:
        return []


def _launched(pid: int) -> int:
    """The program's process if process pid is `spartito run`, whose own stacks nobody wants; otherwise 0."""
    command = command_of(pid)
    words = [os.path.basename(word) for word in command[:4]]
    at = words.index("spartito") if "spartito" in words[:3] else -1
    if at < 0 or len(words) < at + 2:
        return 0
    runs = words[at + 1] == "run" or words[at + 1] not in {known.name for known in COMMANDS}
    programs = [child for child in children(pid) if command_of(child) not in ([], command)]  # its witness is a copy of it
    return programs[0] if runs and len(programs) == 1 else 0


def one_process(command: str, operands: list[str]) -> int:
    """The process id that the operand gives. If that process is `spartito run`, a line on standard error names its program's
    process, which is returned. Usage: there is not exactly one operand, or it is no number. Refused: no process can have that
    id."""
    if not operands:
        raise Usage(f"no process given: spartito {command} PID")
    if len(operands) > 1:
        raise Usage(f"one process at a time, not also {operands[1]!r}")
    if not operands[0].isascii() or not operands[0].isdigit():
        raise Usage(f"{operands[0]!r} is no process id")
    if len(operands[0].lstrip("0")) > 9:  # process ids are at most 4194304
        raise Refused(f"there is no process {operands[0]}")
    pid = int(operands[0])
    program = _launched(pid)
    if program:
        say(f"spartito: process {pid} is `spartito run`; its program is process {program}")
    return program or pid
