# SPDX-License-Identifier: BSD-3-Clause
"""LineStats, the class in .lprof files, under its name in the real package, and functions that print it."""

from __future__ import annotations

from spartito.compat.kernprof.alone import LineProfiler
from spartito.compat.kernprof.stats import LineStats, load_stats, show_func, show_text

__version__ = "5.1.0"
LineStats.__module__ = __name__  # so the real line_profiler can read a pickle of it
__all__ = ["LineProfiler", "LineStats", "is_generated_code", "load_ipython_extension", "load_stats", "show_func", "show_text"]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext line_profiler`: the magics %lprun and %%lprun_all."""
    from spartito.compat.kernprof import magics

    magics.load_ipython_extension(shell)


def is_generated_code(filename: str) -> bool:
    """Whether only the current process has the source of a file: a cell of IPython or generated code, by its name."""
    return filename.startswith(("<generated: ", "<ipython-input-"))
