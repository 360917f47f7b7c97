# SPDX-License-Identifier: BSD-3-Clause
"""Reads experiment.json: the command of a run, and how it ended."""

from __future__ import annotations

import os

from spartito.base import regular
from spartito.base.messages import reason

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

MAX_SIZE = 64 * regular.MIB  # of experiment.json: a command line, and one entry for each of some thousand ranks


def launcher(directory: str) -> tuple[dict[str, Any], str]:
    """The content of experiment.json, empty if it is missing or damaged; and a sentence about the damage, or "". It is missing
    without an error in experiments that other tools wrote."""
    import json

    try:
        found = json.loads(regular.content(os.path.join(directory, "experiment.json"), MAX_SIZE).decode())
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
    """The words of the measured command line; empty: not known. known: the content of experiment.json."""
    given = known.get("command")
    if isinstance(given, list) and given:
        return [str(word) for word in given]
    return info["processes"][0]["command"].split() if info["processes"] else []


def what_ran(directory: str, command: list[str]) -> str:
    """The command line without interpreter and directories: "mpiexec -n 4 weather.py --steps 3". For a notebook cell "In[7]"."""
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
