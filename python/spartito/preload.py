# SPDX-License-Identifier: BSD-3-Clause
"""The library of `spartito run --io`, which the dynamic linker loads into each process of the run before all others."""

from __future__ import annotations

import os

from spartito.rundir import PRELOAD
from spartito.say import Refused, reason

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spartito_preload.so")
APART = " :;\t\n"  # what LD_PRELOAD divides its names at, and what shells and batch systems do


def _loadable(path: str) -> bool:
    return not any(c in path for c in APART)


def add(environment: dict[str, str], directory: str) -> None:
    """Puts the library in front of what LD_PRELOAD names already. It stays there for the children of the program, which
    would not be recorded otherwise. Where its path cannot be written in LD_PRELOAD, a link in the experiment directory
    stands for it. Refused: neither can, or it is not there."""
    if not os.path.isfile(LIBRARY):
        raise Refused(f"--io: {LIBRARY} is not there; install spartito again")
    path = LIBRARY
    if not _loadable(path):
        path = os.path.join(directory, PRELOAD)
        if not _loadable(path):
            raise Refused(
                f"--io: LD_PRELOAD cannot name {LIBRARY}, whose path holds a space or colon; "
                "give an experiment directory without one with -o"
            )
        try:
            os.symlink(LIBRARY, path)
        except OSError as e:
            raise Refused(f"--io: {path} cannot be made: {reason(e)}") from None
    before = environment.get("LD_PRELOAD", "")
    if path not in before.replace(" ", ":").split(":"):
        environment["LD_PRELOAD"] = f"{path}:{before}" if before else path
