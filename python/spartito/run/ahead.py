# SPDX-License-Identifier: BSD-3-Clause
"""Files that run before a measured program: those of --setup, and instrumenter files. Imported only where there is one."""

from __future__ import annotations

import os
import sys

from spartito.base import package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EVENTS = ("cpython.run_file", "cpython.run_module", "cpython.run_command", "cpython.run_stdin")
OURS = package.DIRECTORY + os.sep


def arm(work: Callable[[], None]) -> None:
    """The interpreter announces the program when sys.path is complete, before its first line runs: then work() is called. Such a
    hook cannot be taken away again."""
    waiting = [work]

    def announced(event: str, arguments: Any) -> None:
        if waiting and event in EVENTS:
            _call(waiting.pop())

    sys.addaudithook(announced)


def _call(work: Callable[[], None]) -> None:
    """An error ends the run as one of the program does: with a traceback that begins in the file, and status 1."""
    try:
        work()
    except Exception as e:
        trace = e.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OURS):
            trace = trace.tb_next
        sys.excepthook(type(e), e.with_traceback(trace), trace)
        raise SystemExit(1) from None
