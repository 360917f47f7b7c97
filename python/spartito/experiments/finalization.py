# SPDX-License-Identifier: BSD-3-Clause
"""The work that a run with --no-finalize left to `spartito finalize`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spartito.base.messages import Refused
from spartito.experiments import ranks
from spartito.experiments.description import launcher
from spartito.experiments.rundir import write_whole

if TYPE_CHECKING:
    from typing import Any

KEY = "wanted"  # of experiment.json; removed when all work is done


class Wanted:
    """The deferred work. pending: there is some. compress: compress the raw files. to: formats to write. lines: patterns of
    --lines; finalize reports those that matched nothing."""

    def __init__(self, directory: str) -> None:
        """Reads it from experiment.json. A missing or wrong entry means no work."""
        found = launcher(directory)[0].get(KEY)
        known: dict[str, Any] = found if isinstance(found, dict) else {}
        self.pending = isinstance(found, dict)
        self.compress = known.get("compress") is True
        self.to, self.lines = (
            [str(word) for word in words] if isinstance(words, list) else [] for words in (known.get("to"), known.get("lines"))
        )


def store(directory: str, wanted: Wanted | None) -> None:
    """Writes the remaining work (None: nothing) to experiment.json; other keys stay. OSError: the file cannot be written."""
    import json

    known, wrong = launcher(directory)
    if not known or wrong or (KEY not in known and wanted is None):
        return
    known.pop(KEY, None)
    if wanted:
        known[KEY] = {"compress": wanted.compress, "to": wanted.to, "lines": wanted.lines}
    write_whole(os.path.join(directory, "experiment.json"), json.dumps(known, indent=2) + "\n")


def refuse_unfinished(directory: str, what: str) -> None:
    """Refused: a process still writes the experiment. what: "packed" or "finalized", for the message."""
    from spartito._analyse import still_written

    names = still_written(directory)
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        file = f"raw/{min(names)}{more}"
        raise Refused(f"{directory}: a process still writes {file}: it can be {what} when the program has ended")
    if ranks.in_use(directory):
        raise Refused(f"{directory}: ranks of its job still run: it can be {what} when they have ended")
