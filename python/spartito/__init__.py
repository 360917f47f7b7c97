# SPDX-License-Identifier: BSD-3-Clause
"""Spartito measures Python programs: see `spartito --help`, and this module for regions and control in code.

Nothing is imported here but the measuring half, not even __future__: a program may import spartito and never be
measured.
"""

import sys

if sys.implementation.name != "cpython" or sys.version_info < (3, 9):
    raise ImportError(
        f"Spartito needs CPython 3.9 or newer; this is {sys.implementation.name} {sys.version.split()[0]}"
    )
try:
    from spartito._measure import active, counter, experiment, lines, marker, parameter, pause, region, resume, stop
except ImportError as e:
    raise ImportError(
        f"Spartito was not built for this Python ({sys.version.split()[0]}, {sys.executable}): {e}"
    ) from None
from spartito._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any, Optional

__all__ = [
    "__version__",
    "active",
    "counter",
    "experiment",
    "lines",
    "marker",
    "measure",
    "parameter",
    "pause",
    "region",
    "resume",
    "start",
    "stop",
]


def start(directory: "Optional[str]" = None, **settings: "Any") -> None:
    """Start measuring this process into a new directory (default: spartito-SCRIPT-TIME in the current one).

    Settings are those of `spartito run`: trace, hook, c_calls, memory, when_full, filter, only_mine, depth, metrics,
    lines, lines_only, source; io only within a run with --io.
    ValueError: a value that cannot be read, or measuring already; OSError: the directory cannot be made."""
    from spartito.user import start

    start(directory, settings)


def measure(directory: "Optional[str]" = None, **settings: "Any") -> "AbstractContextManager[None]":
    """`with measure():` starts, and stops at the end. Within a measured run it changes nothing."""
    from spartito.user import Measure

    return Measure(directory, settings)


def load_ipython_extension(shell: "Any") -> None:
    """`%load_ext spartito` in a notebook or in IPython: the magics %%spartito, %spartito and more (docs/notebooks.md)."""
    from spartito.notebook import load

    load(shell)


def unload_ipython_extension(shell: "Any") -> None:
    from spartito.notebook import unload

    unload(shell)
