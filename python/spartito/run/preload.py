# SPDX-License-Identifier: BSD-3-Clause
"""Preload libraries of `spartito run --io`, `--memory-profile` and `--waits`. The dynamic linker loads them into each process of
the run before all other libraries."""

from __future__ import annotations

import os

from spartito.base import package
from spartito.base.messages import Refused, reason
from spartito.experiments.rundir import PRELOAD, PRELOAD_HEAP, PRELOAD_WAITS

LIBRARY = os.path.join(package.DIRECTORY, "spartito_preload.so")
HEAP = os.path.join(package.DIRECTORY, "spartito_heap.so")
WAITS = os.path.join(package.DIRECTORY, "spartito_waits.so")
LINKS = {HEAP: PRELOAD_HEAP, WAITS: PRELOAD_WAITS}
SEPARATORS = " :;\t\n"  # separate names in LD_PRELOAD, or words in shells and batch systems


def _loadable(path: str) -> bool:
    return not any(c in path for c in SEPARATORS)


def add(environment: dict[str, str], directory: str, library: str = LIBRARY, option: str = "--io") -> None:
    """Puts the library (LIBRARY, HEAP or WAITS) in front of the names in LD_PRELOAD. Child processes inherit the variable, so that
    they are recorded, too. If the library's path contains a separator, LD_PRELOAD names a link in the experiment directory.
    Refused: that path contains a separator, too, or the library is missing."""
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


# settings that need a library, in the order in which add() is called
NEEDED = {"io": LIBRARY, "waits": WAITS, "memory_profile": HEAP, "memory_sample": HEAP, "limit_rss": HEAP}
OF_MEMORY = tuple(name for name, library in NEEDED.items() if library == HEAP)


def add_needed(environment: dict[str, str], directory: str, origins: dict[str, str]) -> None:
    """Adds the libraries that the enabled settings need, each once. origins: name of each enabled setting, and the option or
    variable that set it. Refused: as for add()."""
    libraries: dict[str, str] = {}
    for name in NEEDED:
        if name in origins:
            libraries.setdefault(NEEDED[name], origins[name])
    for library, option in libraries.items():
        add(environment, directory, library, option)


def load_heap() -> None:
    """Loads the heap library into a process that was started without it. Then only the wrappers of Python's allocators work,
    because no caller is bound to those of malloc() and mmap(). It records nothing before a measurement starts. OSError: it cannot
    be loaded."""
    import ctypes

    ctypes.CDLL(HEAP, ctypes.RTLD_GLOBAL)
