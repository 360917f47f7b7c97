# SPDX-License-Identifier: BSD-3-Clause
"""`spartito convert --per-rank`: writes one file for each rank. The names are those that MPI programs with cProfile commonly use:
cpu_0.prof, cpu_1.prof … The file of a process without a rank has the number from `spartito info` in its name: process_2.prof."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from spartito.base.messages import Refused, reason
from spartito.base.progress import with_bar
from spartito.experiments import conversion
from spartito.experiments.conversion import Format, refuse
from spartito.experiments.naming import rank_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito._analyse import Model

PARTS = 1000  # steps of the progress bar for each file


def stems(info: dict[str, Any]) -> list[str]:
    """Names of the files without a suffix, one for each process."""
    return ["cpu_" + name if name.isdigit() else name.replace(" ", "_") for name in rank_names(info)]


def convert(model: Model, formats: list[Format], path: str) -> int:
    """Writes the new directory `path`, complete or not at all. Returns the number of files. Refused: it cannot be written."""
    info = model.info()
    for f in formats:
        if not f.merges:
            kept = " ".join(other.name for other in conversion.formats() if other.merges)
            raise Refused(f"--per-rank: {f.name} keeps processes apart already; it is for {kept}", 2)
        refuse(f, info)
    if os.path.lexists(path):
        raise Refused(f"{path} already exists; --per-rank writes a new directory: name another with -o")
    names = stems(info)
    part = f"{os.path.normpath(path)}.part-{os.getpid()}"
    try:
        os.mkdir(part)
    except OSError as e:
        raise Refused(f"{path}: {e.strerror}") from None
    try:
        with_bar(f"writing {os.path.basename(path)}", lambda progress: _write(model, formats, part, names, progress))
        try:
            os.rename(part, path)
        except OSError as e:
            reason_text = "already exists, made by another meanwhile: name another with -o"
            raise Refused(f"{path} {reason_text}" if os.path.lexists(path) else f"{path}: {reason(e)}") from None
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return len(names) * len(formats)


def _write(model: Model, formats: list[Format], part: str, names: list[str], progress: Callable[[int, int], None]) -> None:
    done, files = 0, len(names) * len(formats)
    for number, name in enumerate(names):
        for f in formats:

            def report(now: int, of: int, before: int = done) -> None:
                progress(before * PARTS + now * PARTS // max(of, 1), files * PARTS)

            model.convert(f.name, os.path.join(part, name + f.suffix), process=number, progress=report)
            done += 1
            progress(done * PARTS, files * PARTS)
