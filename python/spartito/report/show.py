# SPDX-License-Identifier: BSD-3-Clause
"""Shows a report of an experiment, as text or JSON: for the command line and for notebooks."""

from __future__ import annotations

import json
import sys
from typing import Any

from spartito.base.text import standard_output
from spartito.experiments import losses, sampled
from spartito.experiments.cost import measuring_cost, measuring_error
from spartito.experiments.reading import load
from spartito.options.kinds import Topic, Usage
from spartito.options.reports import REPORTS
from spartito.report import table
from spartito.report.protocol import Query, Report


def check(topic: Topic, options: dict[str, object]) -> Report:
    """The report of a topic. Usage: an option is not for this report, or two exclude each other."""
    for key in options:
        if key not in topic.options:
            others = " or ".join(other.name for other in REPORTS if key in other.options)
            raise Usage(f"--{key.replace('_', '-')} is not for the report {topic.name}; it is for {others}")
    report = table.find(topic.name)
    report.check(options)
    return report


def _framed(report: Report, query: Query, found: dict[str, Any]) -> dict[str, Any]:
    """The JSON output: the data of a report, with the keys that all reports share."""
    return {
        "experiment": query.info["dir"],
        "report": report.name,
        "unit": "s",
        "compensated": query.given("compensate"),
        **found,
        "measuring_cost": measuring_cost(query.info),
        "measuring_error": measuring_error(query.info),
        "notes": [*found.get("notes", ()), *sampled.notes(query.info), *losses.sentences(query.info)],
        "info": query.info,
    }


def _own(options: dict[str, object]) -> str | None:
    """The paths of --own as Model takes them. Usage: one does not exist."""
    if "own" not in options:
        return None
    from spartito.options.settings import paths, plain_text

    try:
        return paths(plain_text(options["own"]))
    except ValueError as e:
        raise Usage(f"--own: {e}") from None


def show(topic: Topic, directory: str, options: dict[str, object]) -> int:
    """Prints a report. Returns the exit status: 0 or losses.INCOMPLETE. Usage: as for check(). Refused, _analyse.Error: the
    experiment cannot be read, or has no such data."""
    report = check(topic, options)
    model, _ = load(directory, bool(options.get("compensate")), _own(options))
    query = Query(model, directory, options)
    found = report.gather(query)
    if query.given("json"):
        json.dump(_framed(report, query, found) if report.framed else found, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        report.write(query, found, standard_output())
    sys.stdout.flush()
    return losses.say_all(model.info(), directory)  # reading the trace may have found damage
