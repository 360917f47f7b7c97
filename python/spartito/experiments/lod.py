# SPDX-License-Identifier: BSD-3-Clause
"""Makes the level-of-detail index of a large trace at the end of a run or of finalize, and merges its call paths, so that the
viewer opens the trace without delay."""

from __future__ import annotations

import os
import signal

from spartito.base.messages import complain

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito._analyse import Model

MIN_EVENTS = 20_000_000  # for fewer events the viewer makes the index itself, in about a second
MIN_EVENT_SIZE = 1  # bytes of a compressed event at least; an uncompressed one has 8


def may_be_large(directory: str) -> bool:
    """Whether the raw files are large enough for MIN_EVENTS events. This check is cheaper than loading the experiment."""
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
    """Makes the index, and returns whether it did. An error is printed as one line. The work ends as soon as wanted() returns
    False, which is called at each progress report."""
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


def _merge(directory: str, quiet: bool) -> None:
    """Merges the experiment if it has millions of call paths. If that fails, or is interrupted, it opens as before."""
    from spartito._analyse import Error
    from spartito.experiments.conversion import merge_large

    try:
        merge_large(directory, quiet)
    except (KeyboardInterrupt, Error, MemoryError, OSError):
        pass


def make_in_child(model: Model, directory: str, quiet: bool = False) -> None:
    """Makes the index in a child process, which also merges an experiment with millions of call paths. The work takes memory (about
    8 bytes for each event) and reads files that another process may truncate, which would end the process with SIGBUS; the launcher
    must still exit with the status of the program. The child ends when the launcher ends, or by Ctrl-C."""
    before, launcher = signal.getsignal(signal.SIGINT), os.getpid()
    # until both processes have set their handlers
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if not pid:
        status = 1
        try:
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, _interrupt)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            if make(model, directory, quiet, lambda: os.getppid() == launcher):
                _merge(directory, quiet)
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
    """Handles SIGINT in the child. The terminal and the launcher may both send it, so only the first one counts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _forward(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGINT)
    except OSError:
        pass
