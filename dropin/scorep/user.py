# SPDX-License-Identifier: BSD-3-Clause
"""Regions, parameters and control of the recording, as in the Score-P bindings. They do nothing without a measured run."""

from __future__ import annotations

import operator
import sys

from spartito import _measure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

ERROR_LINES = (
    "SCOREP_BINDING_PYTHON ERROR: There was a region exit without an enter!\n"
    'SCOREP_BINDING_PYTHON ERROR: For details look for "error_region" in the trace or profile.\n'
)
_error_reported = False
_active = _measure.active


def _text(function: str, argument: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{function}() argument '{argument}' must be str, not {type(value).__name__}")


def _whole(function: str, value: object, least: int, most: int) -> int:
    """value as an int; accepts any type with `__index__`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{function}() argument 'value' must be int, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise OverflowError(f"{function}() argument 'value' is {number}, outside of {least} and {most}")
    return number


def _place(function: str, file_name: str | None, line_number: int | None) -> tuple[str | None, int]:
    if file_name is None:
        return None, 0
    line = 0 if line_number is None else _whole(function, line_number, 0, 2**31 - 1)
    return _text(function, "file_name", file_name), line


def region_begin(name: str, file_name: str | None = None, line_number: int | None = None) -> None:
    """Begins the region user:NAME. Default for file and line: those of the caller."""
    if _active():
        full = "user:" + _text("region_begin", "name", name)
        if file_name is None:
            _measure.region_begin(full, "user")
        else:
            _measure.region_begin(full, "user", *_place("region_begin", file_name, line_number))


def region_end(name: str) -> None:
    """Ends the region user:NAME. If it was not begun, error_region is recorded."""
    if _active():
        _end("user:" + _text("region_end", "name", name))


def _end(full: str) -> None:
    global _error_reported
    if _measure.region_end(full):
        return
    _measure.region_begin("error_region")
    _measure.parameter("leave-region", full)
    _measure.region_end("error_region")
    if not _error_reported and sys.stderr is not None:
        _error_reported = True
        try:
            sys.stderr.write(ERROR_LINES)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass


class _Unnamed:
    """region() without a name, which is only a decorator."""

    __slots__ = ()

    def __enter__(self) -> NoReturn:
        raise RuntimeError("A region name needs to be specified.")

    def __exit__(self, *what: object) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        from spartito.user import decorate

        if not callable(function):
            raise TypeError(f"region() decorates functions, not {type(function).__name__}")
        module = str(getattr(function, "__module__", None) or "unknown")
        name = getattr(function, "__name__", type(function).__name__)
        # itself=True: a function that is recorded anyway must not be recorded twice
        return decorate(f"{module}:{name}", function, module, itself=True)


_regions: dict[str, _measure.region | _Unnamed] = {"": _Unnamed()}
_MAX_REGIONS = 1024  # cached objects; a program may use any number of different names


def region(region_name: str = "") -> _measure.region | _Unnamed:
    """`with region(name):` or a decorator of functions, coroutines and generators: records the region user:NAME. A decorator
    without a name records the region module:function, unless functions are recorded anyway. The exit of a region that was not
    recorded reports no error, as the measurement may have begun within it."""
    try:
        return _regions[region_name]
    except (KeyError, TypeError):
        pass
    if len(_regions) >= _MAX_REGIONS:
        del _regions[next(name for name in _regions if name)]
    made = _regions[region_name] = _measure.region("user:" + _text("region", "region_name", region_name), "user")
    return made


def instrument_function(
    function: Function, instrumenter_fun: Callable[..., Callable[[Function], Function]] = region
) -> Function:
    """function, decorated with instrumenter_fun(): region, scorep.instrumenter.enable or disable."""
    return instrumenter_fun()(function)


def instrument_module(module: ModuleType, instrumenter_fun: Callable[..., Callable[[Any], Any]] = region) -> None:
    """Decorates every function in the module's dictionary, imported ones too; classes stay as they are."""
    from types import FunctionType

    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType):
            setattr(module, name, instrument_function(value, instrumenter_fun))


def rewind_begin(name: str, file_name: str | None = None, line_number: int | None = None) -> None:
    """Begins the rewind region NAME: rewind_end(name, True) drops the trace's events since then."""
    if _active():
        _measure.rewind_begin(_text("rewind_begin", "name", name), *_place("rewind_begin", file_name, line_number))


def rewind_end(name: str, value: bool) -> None:
    """Ends the rewind region NAME. value: whether to drop the trace's events since its begin."""
    if _active():
        _measure.rewind_end(_text("rewind_end", "name", name), bool(value))


def parameter_int(name: str, value: int) -> None:
    """Records a signed 64-bit value. TypeError: name is no str or value no int. OverflowError: value is out of range."""
    if _active():
        name = _text("parameter_int", "name", name)
        _measure.parameter(name, _whole("parameter_int", value, -(2**63), 2**63 - 1))


def parameter_uint(name: str, value: int) -> None:
    """Records an unsigned 64-bit value. TypeError: name is no str or value no int. OverflowError: value is out of range."""
    if _active():
        name = _text("parameter_uint", "name", name)
        _measure.parameter_uint(name, _whole("parameter_uint", value, 0, 2**64 - 1))


def parameter_string(name: str, value: str) -> None:
    """Records a text. TypeError: name or value is no str."""
    if _active():
        name = _text("parameter_string", "name", name)
        _measure.parameter(name, _text("parameter_string", "value", value))


def enable_recording() -> None:
    """Resumes the recording after disable_recording()."""
    _measure.resume()


def disable_recording() -> None:
    """Pauses the recording, including user regions, until enable_recording()."""
    _measure.pause()


def force_finalize() -> None:
    """Ends the measurement of this process; its experiment directory is complete when this returns. Nothing is recorded afterwards.
    A second call has no effect."""
    from spartito.compat.scorep.inside import finalize

    finalize()


def reregister_exit_handler() -> None:
    """Makes the end of the measurement the first function that runs at exit."""
    from spartito.compat.scorep.inside import exit_first

    exit_first()
