# SPDX-License-Identifier: BSD-3-Clause
"""Opens experiments for the commands that read them."""

from __future__ import annotations

import os

from spartito.base.messages import Refused, say
from spartito.options.table import Usage

PACKED = ".spartito"  # suffix of packed experiments

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model


def newest(directory: str) -> str:
    """The experiment in `directory` that was created last; "": there is no experiment."""
    found: list[tuple[float, str]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            raw = os.path.join(entry.path, "raw")
            if entry.is_dir() and os.path.isdir(raw):
                found.append((os.stat(raw).st_ctime, entry.path))
    return max(found)[1] if found else ""


def one_directory(command: str, operands: list[str]) -> str:
    """The operand. Without an operand, the newest experiment in the current directory; its name is printed on standard error.
    Usage: several are named, or there is no experiment."""
    if len(operands) > 1:
        raise Usage(f"one experiment at a time, not also {operands[1]!r}")
    if operands:
        return named(operands[0])
    found = newest(".")
    if not found:
        raise Usage(f"there is no experiment in the current directory: spartito {command} DIR")
    say(f"spartito: {os.path.normpath(found)}, the newest experiment here")
    return os.path.normpath(found)


def one_experiment(command: str, operands: list[str]) -> str:
    """The experiment of one_directory(). For a packed experiment, the directory that opened() returns."""
    return opened(one_directory(command, operands))


# temporary directories, removed at exit, and the packed files from which they were unpacked
_unpacked: dict[str, str] = {}


def opened(path: str) -> str:
    """The directory of an experiment. A packed experiment is unpacked into a temporary directory, which is removed when this
    process exits. Refused: it cannot be unpacked."""
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
    """The path by which the user named the experiment: of an unpacked one, the packed file."""
    return _unpacked.get(directory, directory)


def beside(directory: str, suffix: str) -> str:
    """A path next to the experiment with its name and a suffix: run.prof, run-otf2."""
    base = os.path.normpath(shown(directory).removesuffix(PACKED))
    return (os.path.abspath(base) if base in (".", "..") else base) + suffix


def named(directory: str) -> str:
    """Returns `directory`. Usage: it is empty, for example from an unset shell variable."""
    if not directory:
        raise Usage("the name of the experiment is empty")
    return directory


def another(directory: str, before: str) -> None:
    """Refused: both are the same experiment. Without this check, a mistake in a script would look like "nothing became slower"."""
    if os.path.realpath(directory) == os.path.realpath(before):
        also = "" if directory == before else f" is {before}, and"
        raise Refused(f"{directory}{also} is not compared with itself")


def check(directory: str) -> None:
    """Refused: there is no such directory."""
    if not os.path.lexists(directory):
        raise Refused(f"{directory}: there is no such experiment")
    if not os.path.isdir(directory):
        packed = ": unpack it with spartito unpack" if directory.endswith(PACKED) else ""
        raise Refused(f"{directory} is not the directory of an experiment{packed}")


def load(directory: str, compensate: bool = False, own: str | None = None) -> tuple[Model, dict[str, Any]]:
    """The model of an experiment and its info(). own: as for Model. Refused, _analyse.Error: it cannot be read."""
    check(directory)
    from spartito._analyse import Model

    model = Model(directory, compensate=compensate, own=own)
    return model, model.info()


