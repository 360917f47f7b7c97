# SPDX-License-Identifier: BSD-3-Clause
"""Regions in the program's code, and control of the recording of functions."""

from spartito.compat.omnitrace.user import (
    Region,
    finalize,
    initialize,
    is_finalized,
    is_initialized,
    pop_region,
    push_region,
    region,
    start_thread_trace,
    start_trace,
    stop_thread_trace,
    stop_trace,
)

__all__ = [
    "Region",
    "finalize",
    "initialize",
    "is_finalized",
    "is_initialized",
    "pop_region",
    "push_region",
    "region",
    "start_thread_trace",
    "start_trace",
    "stop_thread_trace",
    "stop_trace",
]
