# SPDX-License-Identifier: BSD-3-Clause
"""Enables and disables the recording of functions while the program runs."""

from __future__ import annotations

import sys

from spartito import _measure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    from typing_extensions import Self

    Function = TypeVar("Function", bound=Callable[..., Any])

GROUP = "user_instrumenter"
_active = _measure.active


def register() -> None:
    """Records functions from here on."""
    _measure.instrument(True)


def unregister() -> None:
    """Records no functions from here on; user regions are still recorded."""
    _measure.instrument(False)


def has_c_instrumenter() -> bool:
    return True


class _Switch:
    """Base class of enable and disable. They change the state of the process; the exit restores the state before the entry."""

    __slots__ = ("_entered", "_region")
    on = True

    def __init__(self, region_name: str = "") -> None:
        if not isinstance(region_name, str):
            raise TypeError(f"{type(self).__name__}() argument 'region_name' must be str, not {type(region_name).__name__}")
        self._region = f"{GROUP}:{region_name}" if region_name else ""
        # For each frame with outstanding entries: whether each entry has changed the state. Several threads and coroutines may use
        # one object, also nested. None: not measured.
        self._entered: dict[int, list[bool]] | None = None

    def __enter__(self) -> Self:
        if not _active():
            return self
        if self._entered is None:
            self._entered = {}
        changed = _measure.instrumented() is not self.on
        if changed:
            # the region covers exactly the time in which functions are recorded, or are not recorded
            if not self.on:
                _measure.instrument(False)
            if self._region:
                _measure.region_begin(self._region, GROUP)
            if self.on:
                _measure.instrument(True)
        self._entered.setdefault(id(sys._getframe(1)), []).append(changed)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        if not self._entered:
            return
        frame = id(sys._getframe(1))
        if frame not in self._entered:  # contextlib.ExitStack: entered in one function, left in another
            frame = next(reversed(self._entered))
        entries = self._entered[frame]
        changed = entries.pop()
        if not entries:
            del self._entered[frame]
        if not changed:
            return
        if self.on:
            _measure.instrument(False)
        if self._region:
            _measure.region_end(self._region)
        if not self.on:
            _measure.instrument(True)

    def __call__(self, function: Function) -> Function:
        """Decorates functions, coroutine functions and generators."""
        from spartito.user import manage

        return manage(self, function)


class enable(_Switch):
    """`with enable():`, or a decorator: functions are recorded within. If they were not recorded before, region_name adds the
    region `user_instrumenter:NAME`."""

    __slots__ = ()
    on = True


class disable(_Switch):
    """`with disable():`, or a decorator: functions are not recorded within; user regions are. region_name: as in enable."""

    __slots__ = ()
    on = False


class Instrumenter:
    """The object of get_instrumenter(): its state, and regions by module and name, as in the bindings."""

    @staticmethod
    def register() -> None:
        register()

    @staticmethod
    def unregister() -> None:
        unregister()

    @staticmethod
    def get_registered() -> bool:
        """Whether functions are recorded now."""
        return _measure.instrumented()

    @staticmethod
    def run(cmd: str | bytes | Any, globals: dict[str, Any] | None = None, locals: dict[str, Any] | None = None) -> None:
        """Executes code with functions recorded."""
        names = {} if globals is None else globals
        with enable():
            exec(cmd, names, names if locals is None else locals)

    @staticmethod
    def region_begin(
        module_name: str, function_name: str, file_name: str, line_number: int, code_object: object = None
    ) -> None:
        if _measure.active():
            _measure.region_begin(f"{module_name}:{function_name}", module_name, file_name, line_number)

    @staticmethod
    def region_end(module_name: str, function_name: str, code_object: object = None) -> None:
        if _measure.active():
            from scorep.user import _end

            _end(f"{module_name}:{function_name}")

    @staticmethod
    def rewind_begin(name: str, file_name: str | None = None, line_number: int | None = None) -> None:
        from scorep import user

        user.rewind_begin(name, file_name, line_number)

    @staticmethod
    def rewind_end(name: str, value: bool) -> None:
        from scorep import user

        user.rewind_end(name, value)

    @staticmethod
    def user_enable_recording() -> None:
        _measure.resume()

    @staticmethod
    def user_disable_recording() -> None:
        _measure.pause()

    @staticmethod
    def user_parameter_int(name: str, val: int) -> None:
        from scorep import user

        user.parameter_int(name, val)

    @staticmethod
    def user_parameter_uint(name: str, val: int) -> None:
        from scorep import user

        user.parameter_uint(name, val)

    @staticmethod
    def user_parameter_string(name: str, string: str) -> None:
        from scorep import user

        user.parameter_string(name, string)


_instrumenter = Instrumenter()


def get_instrumenter(*arguments: object, **keywords: object) -> Instrumenter:
    """The only instrumenter. The arguments, which select its kind in the bindings, have no effect."""
    return _instrumenter
