# SPDX-License-Identifier: BSD-3-Clause
"""A process that runs, looked at from outside, with its children if these are wanted: what their threads do, and which functions
they do it in."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from typing import TYPE_CHECKING

from spartito._sample import Process
from spartito.base.messages import Refused
from spartito.sample.attaching import children, image

if TYPE_CHECKING:
    from spartito._sample import Frame, Look

Function = tuple[str, str, str, int]  # module, qualified name, file, first line
RECENT = 5.0  # seconds that are called so
PIECES = 10  # that these are made of
DEPTH = 512


def opened(pid: int) -> Process:
    """Refused: with the sentence that says the way out."""
    try:
        return Process(pid)
    except OSError as e:
        raise Refused(e.strerror or str(e)) from None


def function(frame: Frame) -> Function:
    return frame[:4]


class Sum:
    """How much time was found in functions: on top of a stack, and anywhere on it; ns."""

    def __init__(self) -> None:
        self.excl: Counter[Function] = Counter()
        self.total: Counter[Function] = Counter()
        self.time = 0

    def add(self, frames: list[Frame], time: int) -> None:
        self.time += time
        self.excl[function(frames[0])] += time
        for f in {function(frame) for frame in frames}:
            self.total[f] += time

    def merge(self, other: Sum) -> None:
        self.excl += other.excl
        self.total += other.total
        self.time += other.time


class Thread:
    """Of process pid; cpu: ns on a processor."""

    def __init__(self, pid: int, look: Look, now: float) -> None:
        self.pid = pid
        self.tid = look[0]
        self.history: deque[tuple[float, int]] = deque(maxlen=PIECES + 1)
        self.frames: list[Frame] = []
        self.used = self.lasted = 0
        self.cpu, self.seen = look[2], now
        self.update(look, now)
        self.piece(now)

    def update(self, look: Look, now: float) -> None:
        """used: ns on a processor since its stack was read the last time; lasted: ns of the wall clock."""
        _, self.state, cpu, frames, _ = look
        if frames is not None:
            self.used, self.lasted = cpu - self.cpu, int(1e9 * (now - self.seen))
            self.cpu, self.seen, self.frames = cpu, now, frames

    def piece(self, now: float) -> None:
        self.history.append((now, self.cpu))

    @property
    def share(self) -> float:
        """Of the recent time it was on a processor."""
        (begin, before), (end, after) = self.history[0], self.history[-1]
        return (after - before) / 1e9 / (end - begin) if end > begin else 0.0


class Children:
    """The Python processes that a process has started, and these have, as find() has found them."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.all: dict[int, tuple[Process, bytes]] = {}  # with what tells the program that runs in it

    def find(self) -> None:
        waiting, met = children(self.pid), set()
        while waiting:
            pid = waiting.pop()
            met.add(pid)
            waiting += (child for child in children(pid) if child not in met)
            now = image(pid)
            if pid in self.all and self.all[pid][1] != now:
                self.forget(pid)  # it has become another program
            if pid not in self.all:
                with contextlib.suppress(OSError):  # no Python, or not yet
                    self.all[pid] = Process(pid), now

    def forget(self, pid: int) -> None:
        self.all.pop(pid)[0].close()

    def look(self) -> list[tuple[int, Look]]:
        rows: list[tuple[int, Look]] = []
        for pid, (process, _) in list(self.all.items()):
            try:
                rows += ((pid, row) for row in process.look(DEPTH))
            except OSError:
                self.forget(pid)  # it has ended
        return rows


class Looking:
    """What was seen of a process since the start, and in the last RECENT seconds."""

    def __init__(self, pid: int, wall: bool = False, family: bool = False) -> None:
        """wall: times are of the wall clock, and not on a processor; family: its children are looked at too. Refused: it cannot be
        looked at."""
        self.pid = pid
        self.process = opened(pid)
        self.wall = wall
        self.children = Children(pid) if family else None
        self.reset()

    def reset(self) -> None:
        self.whole = Sum()
        self.pieces: deque[Sum] = deque([Sum()], maxlen=PIECES)
        self.threads: dict[int, Thread] = {}
        self.begin = self.cut = time.monotonic()
        self.looks = self.torn = 0
        if self.children:
            self.children.find()

    def look(self) -> bool:
        """False: the process has ended."""
        try:
            rows = [(self.pid, row) for row in self.process.look(DEPTH)]
        except OSError:
            return False
        if self.children:
            rows += self.children.look()
        now = time.monotonic()
        self.looks += 1
        for pid, row in rows:
            thread = self.threads.get(row[0])
            if thread is None:
                thread = self.threads[row[0]] = Thread(pid, row, now)
            else:
                thread.update(row, now)
            self._count(thread, row[3])
        if now - self.cut >= RECENT / PIECES:
            self._cut(now, {row[0] for _, row in rows})
        return True

    def _count(self, thread: Thread, frames: list[Frame] | None) -> None:
        """Of a stack that could not be read the time is counted with the next one."""
        if frames is None:
            self.torn += 1
            return
        time = thread.lasted if self.wall else thread.used
        if frames and time > 0:
            self.whole.add(frames, time)
            self.pieces[-1].add(frames, time)

    def _cut(self, now: float, alive: set[int]) -> None:
        self.cut = now
        self.pieces.append(Sum())
        self.threads = {tid: thread for tid, thread in self.threads.items() if tid in alive}
        for thread in self.threads.values():
            thread.piece(now)
        if self.children:
            self.children.find()

    def recent(self) -> Sum:
        out = Sum()
        for piece in self.pieces:
            out.merge(piece)
        return out
