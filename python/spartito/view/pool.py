# SPDX-License-Identifier: BSD-3-Clause
"""Answers of an experiment for an event loop: made in threads, each question once however many ask, the last ones kept."""

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


KEPT = 256 << 20  # bytes of answers
THREADS = min(8, (os.cpu_count() or 1) + 1)  # more than processors: a thread may wait for a page of a file


class Pool:
    """Threads that end with the process, whatever they do then: Ctrl-C waits for no answer."""

    def __init__(self, threads: int = THREADS) -> None:
        self.tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        for i in range(threads):
            threading.Thread(target=self._work, name=f"answers {i}", daemon=True).start()

    def _work(self) -> None:
        while True:
            self.tasks.get()()

    def run(self, work: Callable[[], bytes]) -> asyncio.Future[bytes]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()

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
            try:
                result = work()
            except Exception as e:
                error = e
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:
                pass  # the loop has ended meanwhile

        self.tasks.put(task)
        return future


class Answers:
    def __init__(self, experiment: Experiment, pool: Pool, kept: int = KEPT) -> None:
        self.experiment = experiment
        self.pool = pool
        self.limit = kept
        self.bytes = 0
        self.kept: collections.OrderedDict[str, bytes] = collections.OrderedDict()
        self.asked: dict[str, asyncio.Future[bytes]] = {}

    async def get(self, kind: str, parameters: Mapping[str, str]) -> bytes:
        """What the experiment raises, this raises."""
        key = kind + "?" + urlencode(sorted(parameters.items()))
        if key in self.kept:
            self.kept.move_to_end(key)
            return self.kept[key]
        future = self.asked.get(key)
        if future is None:
            future = self.pool.run(lambda: self.experiment.get(kind, parameters))
            self.asked[key] = future
            future.add_done_callback(lambda done: self._keep(key, done))
        # who asked first may go away: the others still wait for it
        return await asyncio.shield(future)

    def _keep(self, key: str, done: asyncio.Future[bytes]) -> None:
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
