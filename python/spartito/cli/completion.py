# SPDX-License-Identifier: BSD-3-Clause
"""spartito completion: the completion script of a shell."""

from __future__ import annotations

from spartito.base.text import standard_output
from spartito.options import shells
from spartito.options.table import SHELLS, Usage, near


def main(values: dict[str, object], operands: list[str]) -> int:
    if len(operands) != 1:
        raise Usage("name one shell: " + ", ".join(SHELLS))
    if operands[0] not in SHELLS:
        raise Usage(f"unknown shell {operands[0]!r}{near(operands[0], list(SHELLS))} (known: {', '.join(SHELLS)})")
    standard_output().line(shells.script(operands[0]))
    return 0
