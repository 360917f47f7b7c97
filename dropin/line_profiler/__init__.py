# SPDX-License-Identifier: BSD-3-Clause
"""The interface of line_profiler, with Spartito as the profiler. In a run of `spartito-kernprof`, `profile` and LineProfiler are
the profiler of that run. Otherwise the program, LINE_PROFILE=1 or --line-profile enables them."""

from __future__ import annotations

import os

from spartito.compat.kernprof import alone, inside
from spartito.compat.kernprof.alone import GlobalProfiler

from line_profiler.line_profiler import LineStats, load_ipython_extension, load_stats, show_func, show_text

# version of the real package with this interface; Spartito's version is spartito.__version__
__version__ = "5.1.0"
__all__ = [
    "GlobalProfiler", "LineProfiler", "LineStats", "__version__", "load_ipython_extension", "load_stats", "profile", "show_func",
    "show_text",
]  # fmt: skip

LineProfiler: type[inside.LineProfiler] = inside.LineProfiler if inside.VARIABLE in os.environ else alone.LineProfiler
profile = GlobalProfiler()
