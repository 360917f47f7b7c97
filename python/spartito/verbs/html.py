# SPDX-License-Identifier: BSD-3-Clause
"""spartito html: the page of an experiment as one file."""

from __future__ import annotations

import os

from spartito import losses
from spartito.options import Usage
from spartito.reading import one_directory
from spartito.say import say
from spartito.text import size, standard_output
from spartito.view import kinds, onefile


def default_path(directory: str) -> str:
    """Beside the experiment: run.html."""
    base = os.path.normpath(directory)
    return (os.path.abspath(base) if base in (".", "..") else base) + ".html"


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_directory("html", operands)
    limit = values.get("limit", float(onefile.LIMIT))
    assert isinstance(limit, float)
    if not limit:
        raise Usage("--limit 0: a page needs some room")
    path = str(values.get("output") or default_path(directory))
    if os.path.isdir(path):
        raise Usage(f"{path} is a directory: name a file with -o")
    source, compare = not values.get("no_source"), values.get("compare")
    experiment = kinds.open_experiment(directory, compare=str(compare) if compare else None, source=source)
    text, pruned = onefile.document(experiment, int(limit * (1 << 20)), source)
    onefile.write(path, text)
    losses.say_all(experiment.model.info(), directory)
    for sentence in pruned:
        say(f"spartito: {sentence}")
    if os.path.isfile(path):
        standard_output().line(f"wrote {path} ({size(len(text.encode()))})")
    return 0
