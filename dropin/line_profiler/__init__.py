# SPDX-License-Identifier: BSD-3-Clause
"""What programs import of line_profiler, over Spartito: `profile` records lines under `spartito-kernprof` and does nothing else."""

from __future__ import annotations

import builtins

from spartito.kernprof.inside import LineProfiler, Profiler

from line_profiler.line_profiler import LineStats, load_stats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, TypeVar

    from typing_extensions import Self

    Function = TypeVar("Function")

__all__ = ["LineProfiler", "LineStats", "load_stats", "profile"]


class _Profile:
    """The decorator to be imported: that of the builtins in a run of kernprof; in any other run functions stay as they are."""

    @property
    def _profile(self) -> Profiler | None:
        found = getattr(builtins, "profile", None)
        return found if isinstance(found, Profiler) else None

    @property
    def enabled(self) -> bool:
        return self._profile is not None

    def __call__(self, func: Function) -> Function:
        profiler: Any = self._profile
        return func if profiler is None else profiler(func)

    def enable(self, output_prefix: str | None = None) -> None:
        profiler = self._profile
        if profiler is not None:
            profiler.enable()

    def disable(self) -> None:
        profiler = self._profile
        if profiler is not None:
            profiler.disable()

    def __enter__(self) -> Self:
        profiler = self._profile
        if profiler is not None:
            profiler.enable_by_count()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        profiler = self._profile
        if profiler is not None:
            profiler.disable_by_count()


profile = _Profile()
