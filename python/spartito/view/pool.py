# SPDX-License-Identifier: BSD-3-Clause
"""Answers of an experiment for an event loop. Threads make the answers. Equal queries share one answer; the latest are cached."""

from __future__ import annotations

import asyncio
import collections
import os
import queue
import threading
from urllib.parse import urlencode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Protocol

    class Experiment(Protocol):
        def get(self, kind: str, parameters: Mapping[str, str]) -> bytes: ...


KEPT = 256 << 20  # bytes of cached answers
THREADS = min(8, (os.cpu_count() or 1) + 1)  # one more than processors, as a thread may wait for a page of a file


class Work:
    """A task that a thread runs or will run."""

    def __init__(self, future: asyncio.Future[bytes]) -> None:
        self.future = future
        self.waiting = 0  # number of requests that wait for the answer
        self._lock = threading.Lock()
        self._begun = self._dropped = False

    def begin(self) -> bool:
        """Called by the thread: marks the task as begun. False: it was dropped."""
        with self._lock:
            self._begun = not self._dropped
            return self._begun

    def drop(self) -> bool:
        """Drops the task unless it has begun. Returns whether it was dropped."""
        with self._lock:
            self._dropped = not self._begun
            return self._dropped


class Pool:
    """Daemon threads, so Ctrl-C ends the process without waiting for answers."""

    def __init__(self, threads: int = THREADS) -> None:
        self.tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        for i in range(threads):
            threading.Thread(target=self._work, name=f"answers {i}", daemon=True).start()

    def _work(self) -> None:
        while True:
            self.tasks.get()()

    def run(self, work: Callable[[], bytes]) -> Work:
        """Queues a task. It is not run if it is dropped before a thread takes it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()
        made = Work(future)

        def settle(result: bytes | None, error: Exception | None) -> None:
            if future.cancelled():
                return
            if error is None:
                assert result is not None
                future.set_result(result)
            else:
                future.set_exception(error)

        def task() -> None:
            result: bytes | None = None
            error: Exception | None = None
            if not made.begin():
                return
            try:
                result = work()
            except Exception as e:
                error = e
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:
                pass  # the loop has ended meanwhile

        self.tasks.put(task)
        return made


class Answers:
    def __init__(self, experiment: Experiment, pool: Pool, kept: int = KEPT) -> None:
        self.experiment = experiment
        self.pool = pool
        self.limit = kept
        self.bytes = 0
        self.kept: collections.OrderedDict[str, bytes] = collections.OrderedDict()
        self.asked: dict[str, Work] = {}

    async def get(self, kind: str, parameters: Mapping[str, str]) -> bytes:
        """The answer, from the cache, from an outstanding task or from a new task. Raises the exceptions of Experiment.get()."""
        key = kind + "?" + urlencode(sorted(parameters.items()))
        if key in self.kept:
            self.kept.move_to_end(key)
            return self.kept[key]
        work = self.asked.get(key)
        if work is None:
            work = self.pool.run(lambda: self.experiment.get(kind, parameters))
            self.asked[key] = work
            work.future.add_done_callback(lambda done: self._keep(key, done))
        work.waiting += 1
        try:
            # shielded: the first request may be cancelled while others wait for the same answer
            return await asyncio.shield(work.future)
        finally:
            work.waiting -= 1
            if work.waiting == 0 and not work.future.done() and work.drop():
                work.future.cancel()
                del self.asked[key]

    def _keep(self, key: str, done: asyncio.Future[bytes]) -> None:
        work = self.asked.get(key)
        if work is not None and work.future is done:
            del self.asked[key]
        if done.cancelled() or done.exception() is not None:
            return
        data = done.result()
        if len(data) > self.limit // 2:
            return
        self.kept[key] = data
        self.bytes += len(data)
        while self.bytes > self.limit:
            _, old = self.kept.popitem(last=False)
            self.bytes -= len(old)
