# SPDX-License-Identifier: BSD-3-Clause
"""Options that charts and graphs of `spartito plot` share: the part of the experiment, the file, the title."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused
from spartito.base.text import name, seconds
from spartito.experiments import contents
from spartito.experiments.naming import chosen, title
from spartito.options.table import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence


def output(values: dict[str, object], what: str, suffixes: Sequence[str]) -> tuple[str, str]:
    """The output file and its suffix. what: "graph" or "chart". Usage: no file is given, or its suffix is not one of `suffixes`.
    Refused: it is a directory."""
    path = str(values.get("output") or "")
    endings = ", ".join(suffixes[:-1]) + (" or " if len(suffixes) > 1 else "") + suffixes[-1]
    if not path:
        raise Usage(f"no file given: -o FILE ({endings})")
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in suffixes:
        raise Usage(f"-o {path}: a {what} ends in {endings}")
    if os.path.isdir(path):
        raise Refused(f"{path} is a directory: -o names a file")
    return path, suffix


def part(info: dict[str, Any], values: dict[str, object]) -> tuple[int, int, str]:
    """The selected process and location (-1: all) and their title. Usage: there is no such process or thread."""
    location = values.get("location")
    process = chosen(info, values)
    if isinstance(location, int):
        if process >= 0:
            raise Usage("--location names one thread of one process: leave --process and --rank out")
        if location >= len(info["locations"]):
            raise Usage(f"--location {location}: `spartito info` lists threads 0 to {len(info['locations']) - 1}")
        row = info["locations"][location]
        return -1, location, f"thread {name(row['name'])} of {title(info, row['process'])}"
    return process, -1, title(info, process) if process >= 0 else ""


def heading(info: dict[str, Any], values: dict[str, object], what: str) -> str:
    """The title: that of --title, or the program, the selected part and the duration."""
    if "title" in values:
        return str(values["title"])
    commands = [p["command"] for p in info["processes"] if p["command"]]
    # only the last part of a path: the directory of the interpreter does not matter
    words = [os.path.basename(w) if w.startswith("/") else w for w in (commands or [info["dir"]])[0].split(" ")]
    program = name(" ".join(words))
    parts = [text for text in (program, what) if text]
    if values.get("match"):
        parts.append(f"below {values['match']}")
    if contents.is_all(info):
        parts.append("memory allocated")
    return f"{', '.join(parts)} ({seconds(info['end'] - info['begin'])})"
