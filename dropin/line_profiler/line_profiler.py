# SPDX-License-Identifier: BSD-3-Clause
"""LineStats, by which .lprof files name what they hold."""

from __future__ import annotations

from spartito.kernprof.stats import LineStats, load_stats

__all__ = ["LineStats", "load_stats"]
