# SPDX-License-Identifier: BSD-3-Clause
"""A progress bar for work that takes long."""

from __future__ import annotations

import sys

from spartito.base.text import is_terminal

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Result = TypeVar("Result")

PATIENCE = 0.5  # seconds before a progress bar appears


class _Bar:
    """Shown only where someone looks and only when it takes long."""

    def __init__(self, title: str) -> None:
        import time

        self.clock = time.monotonic
        self.begin = self.clock()
        self.title = title
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self.bar is None:
            if self.clock() - self.begin < PATIENCE:
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
    if sys.stderr is None or not is_terminal(sys.stderr):
        # called all the same: between its calls the extension module looks for Ctrl-C
        return work(lambda done, total: None)
    bar = _Bar(title)
    try:
        return work(bar)
    finally:
        bar.close()
