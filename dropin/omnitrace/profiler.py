# SPDX-License-Identifier: BSD-3-Clause
"""Recording of functions in parts of the program, and `config`, which selects and labels the recorded functions."""

from spartito.compat.omnitrace.profiler import Config, FakeProfiler, Profiler, config, noprofile, profile

__all__ = ["Config", "FakeProfiler", "Profiler", "config", "noprofile", "profile"]
