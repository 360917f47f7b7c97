# SPDX-License-Identifier: BSD-3-Clause
"""`spartito doctor PID`: diagnosis of a process that seems to hang. It prints the current stacks of all threads, sampled from
outside. If the process is measured with --waits, it also prints the lock or call that each thread waits for, from the raw file of
the process, which can be read at any time."""

from __future__ import annotations

import os
import time
from typing import Any

from spartito.base.messages import Refused, reason
from spartito.base.text import Output, name
from spartito.sample.liveprofile import opened


def raw_file(pid: int) -> str:
    """The raw file that a process has mapped, "" if the process is not measured. Refused: it may not be sampled, or has ended."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as f:
            paths = [os.fsdecode(line.split(maxsplit=5)[5]).rstrip("\n") for line in f if line.count(b"/")]
    except FileNotFoundError:
        raise Refused(f"there is no process {pid}") from None
    except PermissionError:
        opened(pid).close()  # raises Refused with the reason
        raise Refused(f"process {pid} may not be sampled") from None
    except OSError as e:
        raise Refused(f"process {pid}: {reason(e)}") from None
    for path in paths:
        if path.endswith(".raw") and os.path.basename(os.path.dirname(path)) == "raw" and f"-{pid}-" in os.path.basename(path):
            return path
    return ""


def waits(pid: int, path: str) -> list[str]:
    """Lines about the current waits and deadlocks of a process, from its raw file. Refused: the file cannot be read."""
    from spartito._analyse import Model
    from spartito.report import locktable

    directory = os.path.dirname(os.path.dirname(path))
    model = Model(directory)
    info: dict[str, Any] = model.info()
    process = next((i for i, p in enumerate(info["processes"]) if p["file"] == os.path.basename(path)), None)
    if process is None:
        raise Refused(f"{path} cannot be read")
    lines = [f"process {pid} is measured into {name(directory)}"]
    if not locktable.recorded(info):
        return [*lines, "its waits are not recorded: spartito run --waits records them"]
    found = model.locks()
    found["deadlocks"] = [c for c in found["deadlocks"] if c["process"] == process]
    now = time.time() - info["begin"]
    return [*lines, *locktable.waiting(found, info, process, now), *locktable.deadlocks(found, info)]


def known(pid: int) -> list[str]:
    """All lines about a process. Refused: neither its raw file nor its stacks can be read, and why."""
    from spartito.sample import currentstacks

    path = raw_file(pid)
    if not path:
        return [f"process {pid} is not measured by Spartito, so nothing is known of its locks", "", *currentstacks.lines(pid)]
    try:
        stacks = currentstacks.lines(pid)
    except Refused as e:
        stacks = [f"its stacks cannot be seen: {e}"]
    return [*waits(pid, path), "", *stacks]


def write(out: Output, pid: int) -> None:
    for line in known(pid):
        out.line(line, "bold red" if line.startswith("deadlock") else "")
