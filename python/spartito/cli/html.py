# SPDX-License-Identifier: BSD-3-Clause
"""spartito html: the viewer's page of an experiment as one file."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import sys
import threading
import time

from spartito._analyse import Error
from spartito.base import progress
from spartito.base.messages import say
from spartito.base.text import count, is_terminal, size, standard_output
from spartito.experiments import losses
from spartito.experiments.reading import beside, one_experiment, opened
from spartito.options.table import Usage
from spartito.view import kinds, onefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

INTERVAL = 0.2  # minimum time in s between two updates of the progress line


class Progress:
    """A progress line on standard error if that is a terminal. It is called with the kind of each query before the query is
    answered."""

    def __init__(self) -> None:
        self.shown = sys.stderr is not None and is_terminal(sys.stderr)
        self.queries = 0
        self.printed = float("-inf")
        self.begun = time.monotonic()

    def __call__(self, kind: str) -> None:
        self.queries += 1
        now = time.monotonic()
        if not self.shown or now - self.printed < INTERVAL:
            return
        self.printed = now
        line = f"making the page, {now - self.begun:.0f} s: part {count(self.queries)}, {kind}"
        print(f"\r{line:<60}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        shown, self.shown = self.shown, False
        if shown and self.queries:
            print(f"\r{'':<60}\r", end="", file=sys.stderr, flush=True)


def _make_index(experiment: kinds.Experiment) -> None:
    """Makes the level-of-detail index, from which queries about time ranges are answered. If that fails, each query reports the
    error."""
    if experiment.base is not None:
        _make_index(experiment.base)
    if experiment.model.info()["traced"]:
        with contextlib.suppress(Error):
            title = f"summing up {os.path.basename(os.path.normpath(experiment.directory))}"
            progress.with_bar(title, lambda progress: experiment.model.sum_up(progress, keep=True))


def _in_thread(work: Callable[[], tuple[str, list[str]]]) -> tuple[str, list[str]]:
    """Calls work() in a daemon thread and returns its result or raises its exception. So Ctrl-C ends the command at once and does
    not wait for a query."""
    made: concurrent.futures.Future[tuple[str, list[str]]] = concurrent.futures.Future()

    def run() -> None:
        try:
            made.set_result(work())
        except BaseException as e:
            made.set_exception(e)

    threading.Thread(target=run, name="page", daemon=True).start()
    return made.result()


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_experiment("html", operands)
    limit = values.get("max_size", float(onefile.LIMIT))
    assert isinstance(limit, float)
    if not limit:
        raise Usage("--max-size 0: the page needs some space")
    path = str(values.get("output") or beside(directory, ".html"))
    if os.path.isdir(path):
        raise Usage(f"{path} is a directory: name a file with -o")
    source, compare, compensate = not values.get("no_source"), values.get("compare"), bool(values.get("compensate"))
    experiment = kinds.open_experiment(
        directory, compare=None if compare is None else opened(str(compare)), compensate=compensate, source=source
    )
    _make_index(experiment)
    progress = Progress()
    experiment.on_query = progress
    try:
        text, pruned = _in_thread(lambda: onefile.document(experiment, int(limit * (1 << 20)), source))
    finally:
        progress.end()
    onefile.write(path, text)
    for run in experiment.runs:
        losses.say_all(run.model.info(), run.directory, experiment.base is not None)
    for sentence in pruned:
        say(f"spartito: {sentence}")
    if os.path.isfile(path):
        standard_output().line(f"wrote {path} ({size(len(text.encode()))})")
    return 0
