# SPDX-License-Identifier: BSD-3-Clause
"""Opening an experiment for the verbs that read one."""

from __future__ import annotations

import os

from spartito.base.messages import Refused, say
from spartito.options.table import Usage

PACKED = ".spartito"  # how packed experiments are called

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model


def one_directory(command: str, operands: list[str]) -> str:
    if not operands:
        raise Usage(f"no experiment given: spartito {command} DIR")
    if len(operands) > 1:
        raise Usage(f"one experiment at a time, not also {operands[1]!r}")
    return named(operands[0])


def newest(directory: str) -> str:
    """The experiment in the directory whose measurement began last; "": there is none."""
    found: list[tuple[float, str]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            raw = os.path.join(entry.path, "raw")
            if entry.is_dir() and os.path.isdir(raw):
                found.append((os.stat(raw).st_ctime, entry.path))
    return max(found)[1] if found else ""


def one_experiment(command: str, operands: list[str]) -> str:
    """The experiment that is named, or the newest one in the current directory, which is then printed on standard error. For a
    packed experiment, the directory that opened() returns. Usage: several are named, or there is none."""
    if operands:
        return opened(one_directory(command, operands))
    found = newest(".")
    if not found:
        raise Usage(f"there is no experiment in the current directory: spartito {command} DIR")
    say(f"spartito: {os.path.normpath(found)}, the newest experiment here")
    return os.path.normpath(found)


def one_process(command: str, operands: list[str]) -> int:
    """The number of a process. Usage: there is none, or not one. Refused: there is no such process."""
    if not operands:
        raise Usage(f"no process given: spartito {command} PID")
    if len(operands) > 1:
        raise Usage(f"one process at a time, not also {operands[1]!r}")
    if not operands[0].isascii() or not operands[0].isdigit():
        raise Usage(f"{operands[0]!r} is no process id")
    if len(operands[0].lstrip("0")) > 9:  # numbers of processes end at 4194304
        raise Refused(f"there is no process {operands[0]}")
    return int(operands[0])


# directories that are gone when this process ends, and the packed files that they were made of
_unpacked: dict[str, str] = {}


def opened(path: str) -> str:
    """The directory of an experiment; of a packed one, a directory that is gone when this process ends. Refused: it cannot be
    unpacked."""
    if not path or not os.path.isfile(path):
        return path
    from spartito.experiments import packfile

    if not path.endswith(PACKED) and not packfile.is_packed(path):
        return path
    import atexit
    import shutil
    import tempfile

    above = tempfile.mkdtemp(prefix="spartito-")
    atexit.register(shutil.rmtree, above, True)
    directory = os.path.join(above, os.path.basename(path.removesuffix(PACKED)))
    packfile.unpacked(path, directory)
    _unpacked[directory] = path
    return directory


def shown(directory: str) -> str:
    """What the user calls it: the packed file, where it is one."""
    return _unpacked.get(directory, directory)


def beside(directory: str, suffix: str) -> str:
    """A path beside the experiment, called after it: run.prof, run-otf2."""
    base = os.path.normpath(shown(directory).removesuffix(PACKED))
    return (os.path.abspath(base) if base in (".", "..") else base) + suffix


def named(directory: str) -> str:
    """Usage: the name is empty, as an unset variable of a shell is."""
    if not directory:
        raise Usage("the name of the experiment is empty")
    return directory


def another(directory: str, before: str) -> None:
    """Refused: they are one run, of which nothing can have changed; a mistake in a script would pass for good news."""
    if os.path.realpath(directory) == os.path.realpath(before):
        also = "" if directory == before else f" is {before}, and"
        raise Refused(f"{directory}{also} is not compared with itself")


def check(directory: str) -> None:
    if not os.path.lexists(directory):
        raise Refused(f"{directory}: there is no such experiment")
    if not os.path.isdir(directory):
        packed = ": unpack it with spartito unpack" if directory.endswith(PACKED) else ""
        raise Refused(f"{directory} is not the directory of an experiment{packed}")


def load(directory: str, compensate: bool = False) -> tuple[Model, dict[str, Any]]:
    """The model and its info. Refused or _analyse.Error: it cannot be read."""
    check(directory)
    from spartito._analyse import Model

    model = Model(directory, compensate=compensate)
    return model, model.info()


