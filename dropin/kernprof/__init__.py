# SPDX-License-Identifier: BSD-3-Clause
"""The module `kernprof`, with Spartito as the profiler."""

from __future__ import annotations

from cProfile import Profile

from spartito.compat.kernprof.alone import Wrapping
from spartito.compat.kernprof.command import main

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# version of the real package with this interface; Spartito's version is spartito.__version__
__version__ = "5.1.0"
__all__ = ["ContextualProfile", "__version__", "main"]


class ContextualProfile(Wrapping, Profile):
    """cProfile's profiler with enable_by_count(), as context manager and decorator."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        Profile.__init__(self, *arguments, **keywords)
        Wrapping.__init__(self)

    def _switch(self, on: bool) -> None:
        if on:
            Profile.enable(self)
        else:
            Profile.disable(self)
