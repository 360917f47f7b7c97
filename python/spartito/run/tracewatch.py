# SPDX-License-Identifier: BSD-3-Clause
"""Watches the raw files of a running program, and announces a trace that passes the memory for it. The launcher imports this module
only for a run with a trace."""

from __future__ import annotations

import os
import struct
import sys
import termios

from spartito.base import regular
from spartito.base.messages import complain
from spartito.base.text import is_terminal, size
from spartito.experiments.rundir import HEADER, PID, SAMPLES
from spartito.options.settings import SETTINGS, normal

PAGE = 4096  # bytes; chunks begin at multiples of it (src/format/format.h)
BYTES = 56  # offset of `bytes` in struct sp_raw_header
CHUNK = struct.Struct("=IIII6Q")  # struct sp_raw_chunk: magic, type, location, seq, bytes, used, base, address, reserved, words
MAGIC, EVENTS = 0x4B4E4843, 4
LIMIT = next(setting for setting in SETTINGS if setting.name == "trace_memory")


def trace_bytes(fd: int, end: int) -> int:
    """Bytes of the trace in a raw file of `end` bytes: those of its EVENTS chunks that are full."""
    found, at = 0, PAGE
    while at < end:
        head = os.pread(fd, CHUNK.size, at)
        if len(head) < CHUNK.size:
            break
        magic, kind, _, _, length, *_, words = CHUNK.unpack(head)
        if magic != MAGIC or length < PAGE or length % PAGE:
            at += PAGE  # reserved, and not used yet
            continue
        if kind == EVENTS and words >> 32:  # a full chunk has a checksum
            found += length - CHUNK.size
        at += length
    return found


def _passed(path: str, limit: int) -> tuple[int, int] | None:
    """Process id and bytes of the trace in a raw file, if they are more than the limit."""
    try:
        fd = regular.descriptor(path)
    except (OSError, ValueError):
        return None
    try:
        head = os.pread(fd, HEADER, 0)
        reserved = int.from_bytes(head[BYTES : BYTES + 8], sys.byteorder)
        if len(head) < HEADER or reserved <= limit:
            return None
        found = trace_bytes(fd, reserved)
        return (int.from_bytes(head[PID : PID + 4], sys.byteorder), found) if found > limit else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _may_write() -> bool:
    """Whether a line on standard error disturbs nothing: it is a terminal, this process group is in its foreground, and no program
    reads single keys there or draws on the whole screen."""
    try:
        fd = sys.stderr.fileno()
        return os.tcgetpgrp(fd) == os.getpgrp() and bool(termios.tcgetattr(fd)[3] & termios.ICANON)
    except (OSError, ValueError, termios.error):
        return False


class TraceWatch:
    """Announces the first process whose trace passes --trace-memory."""

    def __init__(self, directory: str, limit: int) -> None:
        """limit: bytes of the trace of one process."""
        self.raw = os.path.join(directory, "raw")
        self.limit = limit

    def __call__(self) -> bool:
        """Reads the files once. False: there is nothing left to announce."""
        if not _may_write():
            return True
        try:
            names = sorted(os.listdir(self.raw))
        except OSError:
            return False  # the directory was removed
        for name in names:
            if name.endswith(".raw") and not name.endswith(SAMPLES):
                found = _passed(os.path.join(self.raw, name), self.limit)
                if found:
                    whose = f"the trace of process {found[0]} has passed --trace-memory ({size(self.limit)})"
                    complain(f"{whose} and is written to disk: {size(found[1])} so far, uncompressed")
                    return False
        return True


def wanted(texts: dict[str, str], directory: str) -> TraceWatch | None:
    """The watch of a run with these settings; None: there is no trace, no limit that it can pass, or nobody to tell."""
    if texts["trace"] != "1" or texts["when_full"] != "flush" or texts["quiet"] == "1" or not is_terminal(sys.stderr):
        return None
    return TraceWatch(directory, int(normal(LIMIT, texts["trace_memory"])))
