# SPDX-License-Identifier: BSD-3-Clause
"""omnitrace.profiler: recording of functions in parts of the program."""

from __future__ import annotations

import _thread

from spartito import _measure
from spartito.compat.omnitrace import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    from typing_extensions import Self

    Function = TypeVar("Function", bound=Callable[..., Any])

config = Config = inside.config
_lock = _thread.allocate_lock()
_running = 0  # number of active profilers in the process
_switched = False  # the first of them enabled the recording of functions


def _always() -> bool:
    return True


def _begin() -> None:
    global _running, _switched
    with _lock:
        _running += 1
        if _running == 1:
            _switched = inside.functions(True)


def _end() -> None:
    global _running
    with _lock:
        _running -= 1
        if not _running and _switched:
            inside.functions(False)


class Profiler:
    """`with profile():`, `@profile()`, start() and stop(), run(), runctx(), runcall(): functions that begin within are recorded, in
    all threads. In a process that is not measured, the first profiler begins a measurement with the settings of the variables
    OMNITRACE_*; its results are written at exit.

    ValueError: a variable is invalid; OSError: the output directory cannot be created."""

    _condition: Callable[[], object] = staticmethod(_always)

    @staticmethod
    def condition(functor: Callable[[], object]) -> None:
        """Sets the function whose result decides whether a started profiler records."""
        Profiler._condition = staticmethod(functor)

    @staticmethod
    def is_enabled() -> bool:
        try:
            return Profiler._condition() is True
        except Exception:
            return False

    def __init__(self, **keywords: object) -> None:
        self.debug = bool(keywords.get("debug", False))
        self._begun: list[bool] = []  # for each start() without stop(): whether it records

    def start(self) -> int:
        """Starts the profiler. Returns the number of its outstanding starts."""
        enabled = Profiler.is_enabled()
        if enabled:
            inside.begin()
            _begin()
        self._begun.append(enabled)
        return len(self._begun)

    def stop(self) -> int:
        """Stops the profiler once, if it is started. Returns the number of its outstanding starts."""
        if self._begun and self._begun.pop():
            _end()
        return len(self._begun)

    def __del__(self) -> None:
        while getattr(self, "_begun", None):
            self.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.stop()

    def __call__(self, function: Function) -> Function:
        """Decorates functions, coroutine functions and generators."""
        return _decorated(self, function)

    def run(self, cmd: Any) -> Self:
        """Executes code in the namespace of __main__."""
        import __main__

        names = __main__.__dict__
        return self.runctx(" ".join(cmd) if isinstance(cmd, (list, tuple)) else cmd, names, names)

    def runctx(self, cmd: Any, globals: dict[str, Any], locals: Any) -> Self:
        with self:
            exec(cmd, globals, locals)
        return self

    def runcall(self, func: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        with self:
            return func(*args, **keywords)


class FakeProfiler:
    """`with noprofile():` and `@noprofile()`: functions that begin within are not recorded in this thread."""

    @staticmethod
    def condition(functor: Callable[[], object]) -> None:
        pass

    @staticmethod
    def is_enabled() -> bool:
        return False

    def __init__(self, *args: object, **keywords: object) -> None:
        self._local = _thread._local()

    def __enter__(self) -> Self:
        # several threads may use one object, also nested
        self._local.__dict__.setdefault("changed", []).append(_measure.thread_functions(False))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        changed = self._local.__dict__.get("changed")
        if changed and changed.pop():
            _measure.thread_functions(True)

    def __call__(self, function: Function) -> Function:
        """Decorates functions, coroutine functions and generators."""
        return _decorated(self, function)


def _decorated(manager: Any, function: Function) -> Function:
    from spartito.user import _within

    if not callable(function):
        raise TypeError(f"{type(manager).__name__}() decorates functions, not {type(function).__name__}")
    return _within(manager, function, _always, "managed")


profile = Profiler
noprofile = FakeProfiler
