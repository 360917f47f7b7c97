# SPDX-License-Identifier: BSD-3-Clause
"""LineStats, by which .lprof files name what they hold, and what prints them."""

from __future__ import annotations

from spartito.compat.kernprof.alone import LineProfiler
from spartito.compat.kernprof.stats import LineStats, load_stats, show_func, show_text

__version__ = "5.1.0"
LineStats.__module__ = __name__  # so that what is pickled here is read by line_profiler
__all__ = ["LineProfiler", "LineStats", "load_stats", "show_func", "show_text"]
