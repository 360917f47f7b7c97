# SPDX-License-Identifier: BSD-3-Clause
"""`kernprof`, recorded by Spartito."""

from __future__ import annotations

from cProfile import Profile

from spartito.compat.kernprof.alone import Wrapping
from spartito.compat.kernprof.command import main

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# of the package whose interface this is; Spartito's own is spartito.__version__
__version__ = "5.1.0"
__all__ = ["ContextualProfile", "__version__", "main"]


class ContextualProfile(Wrapping, Profile):
    """cProfile's profiler, to be enabled by counting, as a context manager and as a decorator."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        Profile.__init__(self, *arguments, **keywords)
        Wrapping.__init__(self)

    def _switch(self, on: bool) -> None:
        if on:
            Profile.enable(self)
        else:
            Profile.disable(self)
