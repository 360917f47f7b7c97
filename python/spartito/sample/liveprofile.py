# SPDX-License-Identifier: BSD-3-Clause
"""The live profile of `spartito top`: a running process is sampled from outside, on request with its children. It has the time in
each function and the current state of each thread."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from typing import TYPE_CHECKING

from spartito._sample import Process
from spartito.base.messages import Refused
from spartito.sample.attaching import children, image

if TYPE_CHECKING:
    from spartito._sample import Frame, ThreadSample

Function = tuple[str, str, str, int]  # module, qualified name, file, first line
RECENT = 5.0  # seconds: length of the sliding window of the recent times
PIECES = 10  # intervals in that window
DEPTH = 512  # frames of a stack
IDLE = 0.05  # fraction of the recent time below which a thread on a processor counts as idle, unless it is a main thread


def opened(pid: int) -> Process:
    """The process, opened for sampling. Refused: it cannot be sampled, with the reason and what to do."""
    try:
        return Process(pid)
    except OSError as e:
        raise Refused(e.strerror or str(e)) from None


def function(frame: Frame) -> Function:
    return frame[:4]


class Sum:
    """Sampled time by function in ns: exclusive (innermost on a stack) and total (anywhere on a stack)."""

    def __init__(self) -> None:
        self.excl: Counter[Function] = Counter()
        self.total: Counter[Function] = Counter()

    def add(self, frames: list[Frame], time: int) -> None:
        self.excl[function(frames[0])] += time
        for f in {function(frame) for frame in frames}:
            self.total[f] += time

    def merge(self, other: Sum) -> None:
        self.excl += other.excl
        self.total += other.total


class Split:
    """The time of samples that found a thread running or ready to run, and of those that found it waiting. lasted: the wall-clock
    time in ns in which the samples were taken."""

    def __init__(self) -> None:
        self.running, self.waiting = Sum(), Sum()
        self.lasted = 0

    def merge(self, other: Split) -> None:
        self.running.merge(other.running)
        self.waiting.merge(other.waiting)
        self.lasted += other.lasted


class Thread:
    """A thread of process pid. cpu, ready: its time in ns on a processor, and ready to run without one, at its last sample. seen:
    the time in seconds of the last sample whose stack could be read."""

    def __init__(self, pid: int, sample: ThreadSample, now: float) -> None:
        self.pid = pid
        self.tid = sample[0]
        self.history: deque[tuple[float, int, int]] = deque(maxlen=PIECES + 1)
        self.frames: list[Frame] = []
        self.lasted = 0
        self.seen = now
        self.update(sample, now)
        self.piece(now)

    @property
    def main(self) -> bool:
        return self.pid == self.tid

    @property
    def helper(self) -> bool:
        """Whether it is idle and no main thread. Processor time decides: samples also count time in which it is ready to run."""
        return not self.main and self.split()[0] < IDLE

    def update(self, sample: ThreadSample, now: float) -> None:
        """Sets lasted: the time in ns since the last sample whose stack could be read."""
        _, self.state, self.cpu, self.ready, frames, _ = sample
        if frames is not None:
            self.lasted = int(1e9 * (now - self.seen))
            self.seen, self.frames = now, frames

    def piece(self, now: float) -> None:
        self.history.append((now, self.cpu, self.ready))

    def split(self) -> tuple[float, float]:
        """Fractions of the recent time: on a processor, and waiting. In the rest others had the processor."""
        (begin, *before), (end, *after) = self.history[0], self.history[-1]
        if end <= begin:
            return 0.0, 0.0
        cpu, ready = ((now - then) / 1e9 / (end - begin) for then, now in zip(before, after))
        return cpu, max(0.0, 1 - cpu - ready)


class Children:
    """The Python processes among the descendants of a process, as of the last find()."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.all: dict[int, tuple[Process, bytes]] = {}  # with image(), which changes with exec

    def find(self) -> None:
        waiting, met = children(self.pid), set()
        while waiting:
            pid = waiting.pop()
            met.add(pid)
            waiting += (child for child in children(pid) if child not in met)
            now = image(pid)
            if pid in self.all and self.all[pid][1] != now:
                self.forget(pid)  # the process has called exec
            if pid not in self.all:
                with contextlib.suppress(OSError):  # the process runs no Python, or Python has not started yet
                    self.all[pid] = Process(pid), now

    def forget(self, pid: int) -> None:
        self.all.pop(pid)[0].close()

    def sample(self) -> list[tuple[int, ThreadSample]]:
        rows: list[tuple[int, ThreadSample]] = []
        for pid, (process, _) in list(self.all.items()):
            try:
                rows += ((pid, row) for row in process.read_threads(DEPTH))
            except OSError:
                self.forget(pid)  # the process has ended
        return rows


class LiveProfile:
    """The samples of a process since its start or the last reset(), and those of the last RECENT seconds."""

    def __init__(self, pid: int, family: bool = False) -> None:
        """family: the children of the process are sampled as well. Refused: the process cannot be sampled."""
        self.pid = pid
        self.process = opened(pid)
        self.children = Children(pid) if family else None
        self.reset()

    def reset(self) -> None:
        self.whole = Split()
        self.pieces: deque[Split] = deque([Split()], maxlen=PIECES)
        self.threads: dict[int, Thread] = {}
        self.of_program: set[Function] = set()  # functions that another thread than an idle helper was in
        self.begin = self.piece_begin = self.sampled = time.monotonic()
        self.samples = self.unread = 0
        if self.children:
            self.children.find()

    def sample(self) -> bool:
        """Samples all threads once. False: the process has ended."""
        try:
            rows = [(self.pid, row) for row in self.process.read_threads(DEPTH)]
        except OSError:
            return False
        if self.children:
            rows += self.children.sample()
        now = time.monotonic()
        if self.samples:  # a thread's first sample has no time
            for split in (self.whole, self.pieces[-1]):
                split.lasted += int(1e9 * (now - self.sampled))
        self.sampled = now
        self.samples += 1
        for pid, row in rows:
            thread = self.threads.get(row[0])
            if thread is None:
                thread = self.threads[row[0]] = Thread(pid, row, now)
            else:
                thread.update(row, now)
            self._count(thread, row[4])
        if now - self.piece_begin >= RECENT / PIECES:
            self._begin_piece(now, {row[0] for _, row in rows})
        return True

    def resume(self) -> None:
        """After a pause: the time since the last sample belongs to no function."""
        self.sampled = time.monotonic()
        for thread in self.threads.values():
            thread.seen = self.sampled

    def _count(self, thread: Thread, frames: list[Frame] | None) -> None:
        """Adds the time since the thread's last sample. If its stack could not be read, the next sample adds that time."""
        if frames is None:
            self.unread += 1
            return
        if not frames:
            return
        if not thread.helper:
            self.of_program.update(map(function, frames))
        for split in (self.whole, self.pieces[-1]):
            (split.running if thread.state == "running" else split.waiting).add(frames, thread.lasted)

    def _begin_piece(self, now: float, alive: set[int]) -> None:
        self.piece_begin = now
        self.pieces.append(Split())
        self.threads = {tid: thread for tid, thread in self.threads.items() if tid in alive}
        for thread in self.threads.values():
            thread.piece(now)
        if self.children:
            self.children.find()

    def recent(self) -> Split:
        out = Split()
        for piece in self.pieces:
            out.merge(piece)
        return out
