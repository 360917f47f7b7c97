# SPDX-License-Identifier: BSD-3-Clause
"""A run that has not ended, for `spartito view --live`: its experiment is loaded again and again, each time as a new version.

The page asks for the state (GET live?version=N&paused=0) each second, with the version that it shows. The answer is JSON: version
(the newest one), running (whether the run has not ended), age (s since loading of that version began). Queries name the version
(data/N/KIND), so that a page never mixes two of them. The newest version is kept, and others that a page shows.

Nothing is loaded while no page asks, or while all pages are paused. Loading and answering take at most a tenth of one processor."""

from __future__ import annotations

import asyncio
import gc
import os
import time

from spartito._analyse import Error
from spartito.base.messages import Refused, complain
from spartito.experiments.description import launcher
from spartito.view import kinds
from spartito.view.pool import Answers
from spartito.view.wire import Bad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.view.kinds import Experiment
    from spartito.view.pool import Experiment as Answering
    from spartito.view.pool import Pool

PERIOD = 2.0  # seconds between two versions, at least
SHARE = 0.1  # of one processor that loading and answering may take
TURN = 0.2  # seconds between two checks whether it is time
KEPT = 5.0  # seconds after its last question for which a page counts as open
MOST = 3  # versions that are kept: one may have copies of raw files in memory
TRIES = 4  # to load a state without damage, with TURN between them
LASTS = 3  # loads in a row that find the same damage if it is not due to a process that was just writing
FIRST_TIMEOUT = 10.0  # seconds until the first process must be recorded
ENDING = 10.0  # seconds without a running process after which the run counts as ended even if its launcher has not said so


class Loader:
    """Loads the experiment of a run. running: whether the run had not ended at the last load()."""

    def __init__(self, directory: str, *, compensate: bool = False, source: bool = True) -> None:
        self.directory = directory
        self.compensate, self.source = compensate, source
        self.running = True
        self._problems: dict[str, int] = {}  # the number of loads in a row that found each
        self._alive = time.monotonic()  # when a process was last found running

    def first(self) -> Experiment:
        """The first version. Waits until a process is recorded. Refused, Error: the experiment cannot be read."""
        until = time.monotonic() + FIRST_TIMEOUT
        while True:
            late = time.monotonic() > until
            try:
                experiment = self._opened() if late else self.load()
            except Error:
                if late or not _runs(self.directory):
                    raise
            else:
                if experiment is not None:
                    return experiment
            time.sleep(TURN)

    def _opened(self) -> Experiment:
        return kinds.open_experiment(self.directory, compensate=self.compensate, source=self.source)

    def load(self) -> Experiment | None:
        """The experiment now. None: a process changed it while it was read, so it would seem damaged. Refused, Error: it cannot be
        read."""
        for _ in range(TRIES):
            runs = _runs(self.directory)  # before loading, so that what is shown as the end is all of it
            experiment = self._opened()
            info = experiment.model.info()
            self._problems = {text: self._problems.get(text, 0) + 1 for text in info["problems"]}
            if all(n >= LASTS for n in self._problems.values()):
                now = time.monotonic()
                if any(p["end"] == "running" for p in info["processes"]):
                    self._alive = now
                self.running = runs and now - self._alive < ENDING
                return experiment
            time.sleep(TURN)
        return None


def _runs(directory: str) -> bool:
    """Whether experiment.json has no end of the run yet."""
    known, problem = launcher(directory)
    return bool(known) and not problem and known.get("end") is None


class Live:
    """The versions of a run, for a server."""

    def __init__(self, loader: Loader, first: Answering, pool: Pool) -> None:
        self.loader = loader
        self.pool = pool
        self.running = loader.running
        self.newest = 1
        self.versions = {1: Answers(first, pool)}
        self.used = {1: time.monotonic()}  # when a page last asked with that version
        self.asked = 0.0  # when a page that is not paused last asked
        self.begin = time.monotonic()  # of the load of the newest version
        self.tried, self.spent = self.begin, time.process_time()  # of the last load: time, and processor time until then

    def answers(self, version: int) -> Answers:
        """Bad: the version is not kept any more."""
        found = self.versions.get(version)
        if found is None:
            raise Bad(410, "This state of the run is not kept any more. Resume, or reload the page.")
        self.used[version] = time.monotonic()
        return found

    def state(self, version: int, paused: bool) -> dict[str, object]:
        """The state, for a page that shows that version."""
        now = time.monotonic()
        if version in self.versions:
            self.used[version] = now
        if not paused:
            self.asked = now
        return {"version": self.newest, "running": self.running, "age": round(now - self.begin, 1)}

    def _is_time(self) -> bool:
        now = time.monotonic()
        used = time.process_time() - self.spent
        return now - self.asked < KEPT and now - self.tried >= max(PERIOD, used / SHARE)

    async def run(self) -> None:
        """Loads new versions until the run ends."""
        while self.running:
            await asyncio.sleep(TURN)
            self._forget()
            if self._is_time():
                self.tried, self.spent = time.monotonic(), time.process_time()
                experiment = await self._load()
                if experiment is not None:
                    self._add(experiment, self.tried)
        while len(self.versions) > 1:
            await asyncio.sleep(TURN)
            self._forget()
        await asyncio.Event().wait()  # the server runs on

    async def _load(self) -> Experiment | None:
        made: list[Experiment | None] = []

        def load() -> bytes:
            gc.collect()  # experiments are in reference cycles, and the collector does not know how large their models are
            made.append(self.loader.load())
            return b""

        try:
            await self.pool.run(load).future
        except (Refused, Error, OSError) as e:
            if os.path.isdir(self.loader.directory) and _runs(self.loader.directory):
                return None  # a file that was just being made; the next load reads it
            complain(f"view: the end of the run cannot be read: {e}")
            self.running = False
            return None
        return made[0]

    def _add(self, experiment: Experiment, begin: float) -> None:
        self.newest += 1
        self.versions[self.newest] = Answers(experiment, self.pool)
        self.begin = self.used[self.newest] = begin
        self.running = self.loader.running

    def _forget(self) -> None:
        """Forgets versions that no page shows."""
        now = time.monotonic()
        for version in [v for v in self.versions if v != self.newest]:
            if now - self.used[version] > KEPT or len(self.versions) > MOST:
                del self.versions[version], self.used[version]
