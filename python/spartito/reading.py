# SPDX-License-Identifier: BSD-3-Clause
"""Opening an experiment for the verbs that read one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spartito.options import Usage
from spartito.say import Refused

if TYPE_CHECKING:
    from spartito._analyse import Model


def one_directory(verb: str, operands: list[str]) -> str:
    if not operands:
        raise Usage(f"no experiment given: spartito {verb} DIR")
    if len(operands) > 1:
        raise Usage(f"one experiment at a time, not also {operands[1]!r}")
    return operands[0]


def check(directory: str) -> None:
    if not os.path.lexists(directory):
        raise Refused(f"{directory}: there is no such experiment")
    if not os.path.isdir(directory):
        raise Refused(f"{directory} is not the directory of an experiment")


def load(directory: str, compensate: bool = False) -> tuple[Model, dict[str, Any]]:
    """The model and its info. Refused or _analyse.Error: it cannot be read."""
    check(directory)
    from spartito._analyse import Model

    model = Model(directory, compensate=compensate)
    return model, model.info()
