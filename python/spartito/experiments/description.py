# SPDX-License-Identifier: BSD-3-Clause
"""experiment.json: the command of a run, and how it ended."""

from __future__ import annotations

import os

from spartito.base import regular
from spartito.base.messages import reason

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from typing import Any

LARGEST = 64 * regular.MIB  # of experiment.json: a command line and what a few thousand ranks say


def launcher(directory: str) -> tuple[dict[str, Any], str]:
    """experiment.json, empty where there is none that can be read; and what is wrong with it, which then tells neither command nor
    how the run ended. "": nothing is, or there is none, as of other tools' experiments."""
    import json

    try:
        found = json.loads(regular.content(os.path.join(directory, "experiment.json"), LARGEST).decode())
    except FileNotFoundError:
        return {}, ""
    except OSError as e:
        return {}, f"experiment.json cannot be read: {reason(e)}"
    except (ValueError, RecursionError):
        return {}, "experiment.json is damaged: how the program was started and ended is not known"
    if not isinstance(found, dict):
        return {}, "experiment.json is damaged: how the program was started and ended is not known"
    return found, ""


def command(known: dict[str, Any], info: dict[str, Any]) -> list[str]:
    """What was measured, in words of a command line; empty where nobody knows. known: experiment.json."""
    given = known.get("command")
    if isinstance(given, list) and given:
        return [str(word) for word in given]
    return info["processes"][0]["command"].split() if info["processes"] else []


def what_ran(directory: str, command: list[str]) -> str:
    """mpiexec -n 4 weather.py --steps 3: without the interpreter, and without the directories of what it runs. Of a cell, In[7]."""
    import re
    import shlex

    if len(command) == 1 and command[0].startswith("In["):
        return command[0]
    words = command.copy()
    at = 0
    for i, word in enumerate(words[:-1]):
        if re.fullmatch(r"python[0-9.]*", os.path.basename(word)):
            del words[i]
            at = i
            break
    if not words:
        return os.path.basename(os.path.abspath(directory))
    for i in {0, at}:
        words[i] = os.path.basename(words[i]) or words[i]
    return shlex.join(words)
