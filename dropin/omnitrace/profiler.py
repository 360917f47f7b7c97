# SPDX-License-Identifier: BSD-3-Clause
"""Recording functions in parts of the program, and `config`: which, and how they are labelled."""

from spartito.compat.omnitrace.profiler import Config, FakeProfiler, Profiler, config, noprofile, profile

__all__ = ["Config", "FakeProfiler", "Profiler", "config", "noprofile", "profile"]
