# SPDX-License-Identifier: BSD-3-Clause
"""The interface of Omnitrace's Python package, with Spartito as the profiler."""

from omnitrace import profiler, user
from omnitrace.profiler import Config, FakeProfiler, Profiler, config, noprofile, profile
from omnitrace.user import finalize, initialize, is_finalized, is_initialized

# version of the Omnitrace with this interface; Spartito's version is spartito.__version__
__version__ = "1.11.2"
__all__ = [
    "Config",
    "FakeProfiler",
    "Profiler",
    "__version__",
    "config",
    "finalize",
    "initialize",
    "is_finalized",
    "is_initialized",
    "noprofile",
    "profile",
    "profiler",
    "user",
]
