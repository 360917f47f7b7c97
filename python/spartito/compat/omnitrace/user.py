# SPDX-License-Identifier: BSD-3-Clause
"""omnitrace.user: regions of the program, and control of the recording of functions."""

from __future__ import annotations

from spartito import _measure
from spartito.compat.omnitrace import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    from typing_extensions import Self

    Function = TypeVar("Function", bound=Callable[..., Any])


def _text(function: str, name: object) -> str:
    if isinstance(name, str):
        return name
    raise TypeError(f"{function}() argument must be str, not {type(name).__name__}")


def push_region(name: str) -> None:
    """Begins a region, also while functions are not recorded. Begins a measurement unless the process is measured already."""
    text = _text("push_region", name)
    inside.begin()
    if _measure.active():
        _measure.region_begin(text)


def pop_region(name: str) -> None:
    """Ends a region, and all regions that began within it. RuntimeError: it was not begun."""
    text = _text("pop_region", name)
    if _measure.active() and not _measure.region_end(text):
        raise RuntimeError(f"pop_region: the region {text!r} is not open in this thread")


def start_trace() -> None:
    """Records functions from here on."""
    inside.begin()
    inside.functions(True)


def stop_trace() -> None:
    """Records no functions from here on; regions are still recorded."""
    inside.functions(False)


def start_thread_trace() -> None:
    """Records functions in this thread again, if the process records functions."""
    _measure.thread_functions(True)


def stop_thread_trace() -> None:
    """Records no functions in this thread; regions are still recorded."""
    _measure.thread_functions(False)


class Region:
    """`with region(name):`, a decorator of functions, coroutines and generators, or start() and stop()."""

    def __init__(self, name: str) -> None:
        self._name = _text("region", name)
        self._open = False

    def start(self) -> None:
        """Begins the region unless it has begun."""
        if not self._open:
            self._open = True
            push_region(self._name)

    def stop(self) -> None:
        """Ends the region. RuntimeError: an outer region has ended before."""
        if self._open:
            self._open = False
            pop_region(self._name)

    def __enter__(self) -> Self:
        inside.begin()
        if _measure.active():
            _measure.region_begin(self._name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        if _measure.active():
            _measure.region_end(self._name)

    def __call__(self, function: Function) -> Function:
        from spartito.compat.omnitrace.profiler import _decorated

        return _decorated(self, function)

    def runcall(self, func: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        with self:
            return func(*args, **keywords)


region = Region
initialize = inside.initialize
finalize = inside.finalize
is_initialized = inside.is_initialized
is_finalized = inside.is_finalized
