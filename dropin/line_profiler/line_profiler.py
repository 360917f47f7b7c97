# SPDX-License-Identifier: BSD-3-Clause
"""LineStats, by which .lprof files name what they hold, and what prints them."""

from __future__ import annotations

from spartito.kernprof.alone import LineProfiler, show_func, show_text
from spartito.kernprof.stats import LineStats, load_stats

__version__ = "5.1.0"
LineStats.__module__ = __name__  # so that what is pickled here is read by line_profiler
__all__ = ["LineProfiler", "LineStats", "load_stats", "show_func", "show_text"]
