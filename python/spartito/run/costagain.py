# SPDX-License-Identifier: BSD-3-Clause
"""Measures the cost of measuring again when the program has ended. Each process measured it at its start, when its processor may
have been slower or faster than later."""

from __future__ import annotations

import os

from spartito import _measure

SUFFIX, MERGED = ".raw", "merged"  # the names of raw files, and of the file that the ranks of an MPI program make
ALIKE = ("trace", "hook", "c_calls")  # settings that choose the hook and what it does for a call


def measure(directory: str, settings: dict[str, str]) -> None:
    """Measures the cost of a call in this process, and replaces that in the raw files of the experiment. It is the median of this
    result and the latest ones of this host (src/hook/events/shared_cost.c). These files keep what their processes measured:

    - those of other hosts and other builds of Python;
    - all if the ranks of an MPI program have merged them already, because the merged file has that cost, too;
    - all if this process cannot measure, because a file system is full, for example.

    It takes about 4 ms. settings: the values of all settings of the run."""
    if settings["calls"] != "1" or settings["lines_only"] == "1" or settings["metrics"]:
        return  # no call has a cost, or it has that of reading the metrics
    if os.path.exists(os.path.join(directory, MERGED)):
        return
    place = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"spartito-cost-{os.getpid()}")
    raw = os.path.join(place, "raw")
    made: list[str] = []
    try:
        for path in (place, raw):
            os.mkdir(path, 0o700)
            made.append(path)
        _measure.start(place, {name: settings[name] for name in ALIKE})
        _measure.stop()
        _replace(directory, raw)
    except (OSError, ValueError):
        pass
    finally:
        if raw in made:
            for name in os.listdir(raw):
                os.unlink(os.path.join(raw, name))
        for path in reversed(made):
            os.rmdir(path)


def _replace(directory: str, measured: str) -> None:
    """Takes the cost from the raw file in the directory `measured`. OSError: a directory cannot be read."""
    from spartito._analyse import take_cost

    (source,) = os.listdir(measured)
    for name in os.listdir(os.path.join(directory, "raw")):
        if name.endswith(SUFFIX):
            take_cost(os.path.join(directory, "raw", name), os.path.join(measured, source))
