# SPDX-License-Identifier: BSD-3-Clause
"""spartito report: prints a report of an experiment."""

from __future__ import annotations

from spartito.experiments.reading import one_experiment
from spartito.options import reports
from spartito.report.show import check, show


def main(values: dict[str, object], operands: list[str]) -> int:
    topic = reports.find(operands[0]) if operands else None
    if topic:
        operands = operands[1:]
    topic = topic or reports.REPORTS[0]
    check(topic, values)  # wrong options are reported even if there is no experiment
    return show(topic, one_experiment("report", operands), values)
