# SPDX-License-Identifier: BSD-3-Clause
"""Regions, parameters and control in the program's code, as in the Score-P bindings. No-ops without a measured run."""

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
_error_said = False
_active = _measure.active


def _text(function: str, argument: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{function}() argument '{argument}' must be str, not {type(value).__name__}")


def _whole(function: str, value: object, least: int, most: int) -> int:
    """value as an int; anything that is one (`__index__`) will do."""
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
    """Begins the region user:NAME. Without a place it is the caller's."""
    if _active():
        full = "user:" + _text("region_begin", "name", name)
        if file_name is None:
            _measure.region_begin(full, "user")
        else:
            _measure.region_begin(full, "user", *_place("region_begin", file_name, line_number))


def region_end(name: str) -> None:
    """Ends the region user:NAME. One that is not open is recorded as error_region."""
    if _active():
        _end("user:" + _text("region_end", "name", name))


def _end(full: str) -> None:
    global _error_said
    if _measure.region_end(full):
        return
    _measure.region_begin("error_region")
    _measure.parameter("leave-region", full)
    _measure.region_end("error_region")
    if not _error_said and sys.stderr is not None:
        _error_said = True
        try:
            sys.stderr.write(ERROR_LINES)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass


class _Unnamed:
    """region() without a name: a decorator only."""

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
        # a function that is recorded anyway must not be there twice
        return decorate(f"{module}:{name}", function, module, itself=True)


_regions: dict[str, _measure.region | _Unnamed] = {"": _Unnamed()}
_MOST = 1024  # a program may make up names all the time


def region(region_name: str = "") -> _measure.region | _Unnamed:
    """`with region(name):` or a decorator of functions, coroutines and generators: the region user:NAME. A decorator without
    a name is the region of the function, module:function, where functions are not recorded anyway. Leaving it reports no
    error where it is not open: the measurement may have begun or ended in between."""
    try:
        return _regions[region_name]
    except (KeyError, TypeError):
        pass
    if len(_regions) >= _MOST:
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
    """Begins the rewind region NAME: rewind_end(name, True) throws away what the trace has recorded since."""
    if _active():
        _measure.rewind_begin(_text("rewind_begin", "name", name), *_place("rewind_begin", file_name, line_number))


def rewind_end(name: str, value: bool) -> None:
    """Ends the rewind region NAME. value: whether the trace since its begin is thrown away."""
    if _active():
        _measure.rewind_end(_text("rewind_end", "name", name), bool(value))


def parameter_int(name: str, value: int) -> None:
    """Records a signed 64-bit value. TypeError, OverflowError: name or value is none."""
    if _active():
        name = _text("parameter_int", "name", name)
        _measure.parameter(name, _whole("parameter_int", value, -(2**63), 2**63 - 1))


def parameter_uint(name: str, value: int) -> None:
    """Records an unsigned 64-bit value. TypeError, OverflowError: name or value is none."""
    if _active():
        name = _text("parameter_uint", "name", name)
        _measure.parameter_uint(name, _whole("parameter_uint", value, 0, 2**64 - 1))


def parameter_string(name: str, value: str) -> None:
    """Records a text. TypeError: name or value is none."""
    if _active():
        name = _text("parameter_string", "name", name)
        _measure.parameter(name, _text("parameter_string", "value", value))


def enable_recording() -> None:
    """Record again, after disable_recording()."""
    _measure.resume()


def disable_recording() -> None:
    """Record nothing, user regions neither, until enable_recording()."""
    _measure.pause()


def force_finalize() -> None:
    """Ends the measurement of this process; its experiment directory is complete when this returns. What follows is not
    recorded. A second call does nothing."""
    from spartito.compat.scorep.inside import finalize

    finalize()


def reregister_exit_handler() -> None:
    """Lets the end of the measurement be the first that is done at the end of the program."""
    from spartito.compat.scorep.inside import exit_first

    exit_first()
