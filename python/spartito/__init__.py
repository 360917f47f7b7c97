# SPDX-License-Identifier: BSD-3-Clause
"""Spartito measures Python programs: see `spartito --help`, and this module for regions and control in code, and for
the results.

This module imports only the measurement module, and not even __future__, because a program may import spartito without
being measured. load() and Results import their modules when they are used.

PYTEST_DONT_REWRITE: under `spartito run` this module is loaded before pytest, which would warn that it cannot change its
assertions.
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
    from os import PathLike
    from typing import Any, Optional, Union

    from spartito.results.results import Results

__all__ = [
    "Results",
    "__version__",
    "active",
    "counter",
    "experiment",
    "lines",
    "load",
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
    """Start measuring this process. stop(), or the end of the process, completes the experiment.

    directory: where the experiment is put, new or empty; default: spartito-SCRIPT-TIME in the current directory.
    settings: the options of `spartito run` as keywords, with underscores: trace=True, c_calls=True, depth=5,
    filter=["-numpy:*"]. Options that need a launcher, such as io, have an effect only within `spartito run`.
    TypeError: an unknown setting. ValueError: a value that cannot be read, or this process is measured already.
    OSError: the directory cannot be made.

        >>> import spartito, tempfile
        >>> spartito.stop()
        >>> with tempfile.TemporaryDirectory() as place:
        ...     spartito.start(place + "/run-1", trace=True)
        ...     spartito.stop()
    """
    from spartito.user import start

    start(directory, settings)


def measure(directory: "Optional[str]" = None, **settings: "Any") -> "AbstractContextManager[None]":
    """A context manager that measures its block: start() at its begin, stop() at its end.

    directory, settings and errors are those of start(). In a process that is measured already it changes nothing.

        >>> import spartito, tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     with spartito.measure(place + "/run-1"):
        ...         total = sum(range(10))
    """
    from spartito.user import Measure

    return Measure(directory, settings)


def load(directory: "Optional[Union[str, PathLike[str]]]" = None, *, compensate: bool = False) -> "Results":
    """Open the results of a run. Returns a spartito.Results, whose methods return tables of pandas.

    directory: the directory that `spartito run`, start() or measure() made, or a pack (`spartito pack`); None: the newest
    experiment in the current directory. compensate: subtract the cost of measuring from the times.
    FileNotFoundError: there is no such experiment. spartito.analysis.Error: it cannot be read, or is no experiment.
    UserWarning: parts are damaged or were lost, or the program was killed; the rest is there, as in `spartito report`.

        >>> import spartito, tempfile
        >>> spartito.stop()
        >>> with tempfile.TemporaryDirectory() as place:
        ...     with spartito.measure(place + "/run-1"), spartito.region("work"):
        ...         total = sum(range(10))
        ...     results = spartito.load(place + "/run-1")
        >>> regions = results.as_dict("regions")
        >>> regions["visits"][regions["region"].index("work")]
        1
    """
    from spartito.results.results import Results

    return Results(directory, compensate=compensate)


if not TYPE_CHECKING:  # hidden from type checkers, which would accept every name otherwise

    def __getattr__(name):
        if name == "Results":
            from spartito.results.results import Results

            return Results
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: "Any") -> None:
    """`%load_ext spartito` in a notebook or in IPython: the magics %%spartito, %spartito and more (docs/notebooks.md)."""
    from spartito.notebook import load

    load(shell)


def unload_ipython_extension(shell: "Any") -> None:
    from spartito.notebook import unload

    unload(shell)
