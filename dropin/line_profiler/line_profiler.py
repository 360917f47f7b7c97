# SPDX-License-Identifier: BSD-3-Clause
"""LineStats, by which .lprof files name what they hold, and what prints them."""

from __future__ import annotations

from spartito.compat.kernprof.alone import LineProfiler
from spartito.compat.kernprof.stats import LineStats, load_stats, show_func, show_text

__version__ = "5.1.0"
LineStats.__module__ = __name__  # so that what is pickled here is read by line_profiler
__all__ = ["LineProfiler", "LineStats", "is_generated_code", "load_ipython_extension", "load_stats", "show_func", "show_text"]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext line_profiler`: the magics %lprun and %%lprun_all."""
    from spartito.compat.kernprof import magics

    magics.load_ipython_extension(shell)


def is_generated_code(filename: str) -> bool:
    """Whether its source is kept by the process that made it: cells of IPython, and what says so in its name."""
    return filename.startswith(("<generated: ", "<ipython-input-"))
