# SPDX-License-Identifier: BSD-3-Clause
"""The current stacks of a process's threads, as `spartito doctor PID` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spartito.base.messages import Refused
from spartito.base.text import name, plural, seconds
from spartito.sample.liveprofile import opened

if TYPE_CHECKING:
    from spartito._sample import ThreadSample

DEPTH = 200  # frames of a stack
TRIES = 50  # samples until every stack could be read: a stack that changes meanwhile cannot
STATES = {
    "running": "runs",
    "gil": "waits for the global interpreter lock",
    "system call": "is in a system call",
    "idle": "waits",
    "object lock": "waits for the lock of an object",
    "stopped": "waits, because another thread stopped all threads",
}


def _complete(threads: list[ThreadSample]) -> bool:
    return all(frames is not None for _, _, _, _, frames, _ in threads)


def _thread(thread: ThreadSample, pid: int) -> list[str]:
    tid, state, cpu, _, frames, cut = thread
    lines = [f"thread {tid}{' (main)' if tid == pid else ''} {STATES[state]}, {seconds(cpu / 1e9)} on a processor so far"]
    if frames is None:
        return [*lines, "  its stack changed too fast to be read"]
    for module, qualname, file, first, line, _, _ in frames:
        lines.append(f"  {name(f'{module}:{qualname}')} at {name(file)}:{line or first}")
    if cut:
        lines.append("  … and further callers")
    return lines if frames else [*lines, "  no Python code"]


def lines(pid: int) -> list[str]:
    """Lines with the stacks of all threads, innermost function first. Refused: the process may not be sampled or runs no Python."""
    process = opened(pid)
    try:
        for _ in range(TRIES):
            threads = process.read_threads(DEPTH)
            if _complete(threads):
                break
        major, minor = process.version
    except OSError:
        raise Refused(f"process {pid} has ended") from None
    finally:
        process.close()
    out = [f"process {pid} runs Python {major}.{minor} with {plural(len(threads), 'thread')}"]
    for thread in sorted(threads, key=lambda thread: (thread[0] != pid, thread[0])):
        out += ["", *_thread(thread, pid)]
    return out
