# SPDX-License-Identifier: BSD-3-Clause
"""Answers that reports of the command line give, too, from the same functions. None has parameters, so each is made once."""

from __future__ import annotations

from spartito.experiments import contents, owners, waiting
from spartito.report import iotable
from spartito.view import locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from spartito._analyse import Model

MANY_PATHS = 200_000  # call paths: of more, those with little time are not searched for waits


def _findings(model: Model, compensated: bool) -> dict[str, Any]:
    """Without the commands that show more: these depend on the working directory, and the page has views for it."""
    from spartito.report.findings import topics  # it is only needed after the first picture

    found, notes = topics.ranked(model, compensated)
    rows = [{**finding.as_dict(), "gain": str(finding.gain)} for finding in found]
    for row in rows:
        del row["command"]
    return {"findings": rows, "notes": notes}


def _imports(model: Model, compensated: bool) -> dict[str, Any]:
    keys = ("module", "file", "own", "importer", "incl", "running_incl", "waiting_incl", "excl", "loading")
    modules = [{key: m[key] for key in keys} for m in model.imports()]
    return {"modules": modules, "busy": sum(loc["busy"] for loc in model.info()["locations"])}


def _off_cpu(model: Model, compensated: bool) -> dict[str, Any]:
    info = model.info()
    least = 0.0 if info["paths"] <= MANY_PATHS else waiting.LEAST
    rows = [{key: row[key] for key in ("name", "file", "line", "kind", "waiting")} for row in waiting.rows(model, least)]
    return {"rows": rows, "waited": contents.waited(info), "busy": sum(loc["busy"] for loc in info["locations"]), "least": least}


def _own(model: Model, compensated: bool) -> dict[str, Any]:
    own, parts = owners.split(model)
    info = model.info()
    rows = [{**row, "sum": owners.total(row)} for row in contents.known(own["rows"], info)]
    for row in rows:
        del row["module"]
    rows[0]["name"] = ""  # it is no function
    return {
        "parts": [{"part": key, "title": title, "time": parts[key]} for key, title in owners.PARTS.items()],
        "packages": [{"name": package, "time": time} for package, time in own["packages"] if time > 0],
        "rows": rows,
        "notes": owners.missing(info, -1),
    }


# by kind; each makes the meta of the answer. The bool: the cost of measuring is subtracted from the model's times
ANSWERS: dict[str, Callable[[Model, bool], dict[str, Any]]] = {
    "findings": _findings,
    "imports": _imports,
    "io": lambda model, _: {"files": iotable.files(model, 0)},
    "locks": lambda model, _: locks.answer(model),
    "offcpu": _off_cpu,
    "own": _own,
    "waits": lambda model, _: model.waits(),
}
