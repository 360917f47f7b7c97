# SPDX-License-Identifier: BSD-3-Clause
"""A progress bar for long work."""

from __future__ import annotations

import sys

from spartito.base.text import is_terminal

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Result = TypeVar("Result")

DELAY = 0.5  # seconds before a progress bar appears


class _Bar:
    """A progress function. The bar appears when the work has taken DELAY seconds."""

    def __init__(self, title: str) -> None:
        import time

        self.clock = time.monotonic
        self.begin = self.clock()
        self.title = title
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self.bar is None:
            if self.clock() - self.begin < DELAY:
                return
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(file=sys.stderr), transient=True)
            self.task = self.bar.add_task(self.title, total=total)
            self.bar.start()
        self.bar.update(self.task, completed=done, total=total)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def with_bar(title: str, work: Callable[[Callable[[int, int], None]], Result]) -> Result:
    """Calls work(progress), with a progress bar on standard error if that is a terminal. progress(done, total) updates it."""
    if sys.stderr is None or not is_terminal(sys.stderr):
        # without a bar, work() still needs a function: the extension module checks for Ctrl-C whenever it calls it
        return work(lambda done, total: None)
    bar = _Bar(title)
    try:
        return work(bar)
    finally:
        bar.close()
