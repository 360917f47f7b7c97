# SPDX-License-Identifier: BSD-3-Clause
"""`kernprof`, recorded by Spartito."""

from spartito.kernprof.command import main

__all__ = ["main"]
