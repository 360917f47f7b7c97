# SPDX-License-Identifier: BSD-3-Clause
"""spartito report: prints a report of an experiment."""

from __future__ import annotations

import os
import re

from spartito.experiments.reading import one_experiment
from spartito.options import reports
from spartito.options.kinds import Usage
from spartito.report.show import check, show


def _check_word(operands: list[str]) -> None:
    """Usage: the first operand is neither a report nor an experiment. A single operand that resembles no report is left to the
    reader of experiments."""
    word, names = operands[0], [topic.name for topic in reports.REPORTS]
    if os.path.lexists(word) or not re.fullmatch("[a-z-]+", word):
        return
    from difflib import get_close_matches

    near = get_close_matches(word, names, 1)
    if len(operands) == 1 and not near:
        return
    hint = f"did you mean {near[0]}?" if near else "reports: " + ", ".join(names)
    raise Usage(f"{word!r} is neither a report nor an experiment; {hint}")


def main(values: dict[str, object], operands: list[str]) -> int:
    topic = reports.find(operands[0]) if operands else None
    if topic:
        operands = operands[1:]
    elif operands:
        _check_word(operands)
    topic = topic or reports.REPORTS[0]
    check(topic, values)  # wrong options are reported even if there is no experiment
    return show(topic, one_experiment("report", operands), values)
