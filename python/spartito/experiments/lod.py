# SPDX-License-Identifier: BSD-3-Clause
"""The summaries that the viewer draws a large trace from, made where a run or a merge ends, so that who opens it need not wait."""

from __future__ import annotations

import os
import signal

from spartito.base.messages import complain

TYPE_CHECKING = False  # as in conversion.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito._analyse import Model

MIN_EVENTS = 20_000_000  # below, making them takes about a second when it is opened
MIN_EVENT_SIZE = 1  # bytes of a compressed event; raw ones have 8


def may_be_large(directory: str) -> bool:
    """Whether the files can hold so many events: to look is cheaper than to load."""
    total = 0
    try:
        with os.scandir(os.path.join(directory, "raw")) as entries:
            for entry in entries:
                total += entry.stat().st_size
    except OSError:
        return False
    return total >= MIN_EVENTS * MIN_EVENT_SIZE


def is_large(model: Model) -> bool:
    info = model.info()
    return bool(info["traced"]) and info["events"] >= MIN_EVENTS


def _left_out(directory: str, why: str) -> None:
    complain(f"no summaries of the trace: {why}; spartito view {directory} makes them")


def make(model: Model, directory: str, quiet: bool = False, wanted: Callable[[], bool] = lambda: True) -> bool:
    """Whether they are new. Where it fails, a line says why, and nothing else is different. wanted: asked now and then."""
    from spartito._analyse import Error
    from spartito.base import progress

    def work(progress: Callable[[int, int], None]) -> bool:
        def on_progress(done: int, total: int) -> None:
            if not wanted():
                raise KeyboardInterrupt
            progress(done, total)

        return model.sum_up(on_progress)

    try:
        if quiet:
            return work(lambda done, total: None)
        return progress.with_bar(f"summing up {os.path.basename(directory)}", work)
    except KeyboardInterrupt:
        _left_out(directory, "interrupted")
    except (Error, MemoryError, OSError) as e:
        _left_out(directory, " ".join(str(e).split()) or "not enough memory")
    return False


def make_in_child(model: Model, directory: str, quiet: bool = False) -> None:
    """In a process of its own, as it takes memory (some 8 bytes an event) and reads files that others may cut: whatever happens
    to it, the launcher goes on and ends as the program did. It ends with the launcher, and by Ctrl-C."""
    before, launcher = signal.getsignal(signal.SIGINT), os.getpid()
    # until both know what to do with it
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if not pid:
        status = 1
        try:
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, _interrupt)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            make(model, directory, quiet, lambda: os.getppid() == launcher)
            status = 0
        finally:
            os._exit(status)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: _forward(pid))
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    status = os.waitpid(pid, 0)[1]
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    if status:
        how = f"died of signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "failed"
        _left_out(directory, f"the process that made them {how}")


def _interrupt(number: int, frame: object) -> None:
    """The terminal and the launcher may both have sent it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _forward(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGINT)
    except OSError:
        pass
