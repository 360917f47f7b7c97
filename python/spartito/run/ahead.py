# SPDX-License-Identifier: BSD-3-Clause
"""Runs files ahead of a measured program: those of --setup, and instrumenter files. Imported only if there is such a file."""

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
    """Calls work() once, when sys.path is complete and before the first line of the program runs. The interpreter raises an audit
    event at that time. An audit hook cannot be removed, so it stays and does nothing afterwards."""
    pending = [work]

    def on_audit_event(event: str, arguments: Any) -> None:
        if pending and event in EVENTS:
            _call(pending.pop())

    sys.addaudithook(on_audit_event)


def _call(work: Callable[[], None]) -> None:
    """Calls work(). An exception ends the run like one of the program: with a traceback that begins in the file, and exit status
    1."""
    try:
        work()
    except Exception as e:
        trace = e.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OURS):
            trace = trace.tb_next
        sys.excepthook(type(e), e.with_traceback(trace), trace)
        raise SystemExit(1) from None
