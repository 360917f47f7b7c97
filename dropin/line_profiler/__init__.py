# SPDX-License-Identifier: BSD-3-Clause
"""What programs import of line_profiler, over Spartito. Under `spartito-kernprof`, `profile` and LineProfiler are its own; in any
other run they record where the program, LINE_PROFILE=1 or --line-profile asks for it."""

from __future__ import annotations

import os

from spartito.compat.kernprof import alone, inside
from spartito.compat.kernprof.alone import GlobalProfiler

from line_profiler.line_profiler import LineStats, load_ipython_extension, load_stats, show_func, show_text

# of the package whose interface this is; Spartito's own is spartito.__version__
__version__ = "5.1.0"
__all__ = [
    "GlobalProfiler", "LineProfiler", "LineStats", "__version__", "load_ipython_extension", "load_stats", "profile", "show_func",
    "show_text",
]  # fmt: skip

LineProfiler: type[inside.LineProfiler] = inside.LineProfiler if inside.VARIABLE in os.environ else alone.LineProfiler
profile = GlobalProfiler()
