# SPDX-License-Identifier: BSD-3-Clause
"""The libraries of `spartito run --io`, `--memory-profile` and `--waits`, which the dynamic linker loads into each process
of the run before all others."""

from __future__ import annotations

import os

from spartito.base import package
from spartito.base.messages import Refused, reason
from spartito.experiments.rundir import PRELOAD, PRELOAD_HEAP, PRELOAD_WAITS

LIBRARY = os.path.join(package.DIRECTORY, "spartito_preload.so")
HEAP = os.path.join(package.DIRECTORY, "spartito_heap.so")
WAITS = os.path.join(package.DIRECTORY, "spartito_waits.so")
LINKS = {HEAP: PRELOAD_HEAP, WAITS: PRELOAD_WAITS}
APART = " :;\t\n"  # what LD_PRELOAD divides its names at, and what shells and batch systems do


def _loadable(path: str) -> bool:
    return not any(c in path for c in APART)


def add(environment: dict[str, str], directory: str, library: str = LIBRARY, option: str = "--io") -> None:
    """Puts the library (of file I/O, HEAP or WAITS) in front of what LD_PRELOAD names already. It stays there for the children of
    the program, which would not be recorded otherwise. Where its path cannot be written in LD_PRELOAD, a link in the experiment
    directory stands for it. Refused: neither can, or it is not there."""
    link = LINKS.get(library, PRELOAD)
    if not os.path.isfile(library):
        raise Refused(f"{option}: {library} is not there; install spartito again")
    path = library
    if not _loadable(path):
        path = os.path.join(directory, link)
        if not _loadable(path):
            raise Refused(
                f"{option}: LD_PRELOAD cannot name {library}, whose path holds a space or colon; "
                "give an experiment directory without one with -o"
            )
        try:
            os.symlink(library, path)
        except OSError as e:
            raise Refused(f"{option}: {path} cannot be made: {reason(e)}") from None
    before = environment.get("LD_PRELOAD", "")
    if path not in before.replace(" ", ":").split(":"):
        environment["LD_PRELOAD"] = f"{path}:{before}" if before else path


# the settings that need one, in the order in which the libraries are put in front
NEEDED = {"io": LIBRARY, "waits": WAITS, "memory_profile": HEAP, "memory_sample": HEAP, "limit_rss": HEAP}
OF_MEMORY = tuple(name for name, library in NEEDED.items() if library == HEAP)


def add_needed(environment: dict[str, str], directory: str, asked: dict[str, str]) -> None:
    """The libraries that these settings need, each once. asked: what the user called each setting that is on. Refused: as add()."""
    libraries: dict[str, str] = {}
    for name in NEEDED:
        if name in asked:
            libraries.setdefault(NEEDED[name], asked[name])
    for library, option in libraries.items():
        add(environment, directory, library, option)


def load_heap() -> None:
    """Has the wrappers of Python's allocators in this process, where they were not loaded with it: those of malloc() and mmap() are
    called by nobody then. Nothing is recorded before it is asked for. OSError."""
    import ctypes

    ctypes.CDLL(HEAP, ctypes.RTLD_GLOBAL)
