# SPDX-License-Identifier: BSD-3-Clause
"""The implementation of spartito.start(), measure() and the decorator `region`. It is imported when one of them is first used."""

from __future__ import annotations

import os
import sys
from functools import lru_cache, partial, wraps
from keyword import iskeyword
from types import FunctionType, MethodType, coroutine

from spartito import _measure
from spartito.base.messages import Refused
from spartito.experiments.rundir import Directory, create, world_of
from spartito.notebook import inside
from spartito.options.settings import keyword_settings

TYPE_CHECKING = False  # typing, contextlib and inspect take 20 ms to import, within the measurement
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Any, TypeVar

    from spartito.notebook.measuring import Unit

    Function = TypeVar("Function", bound=Callable[..., Any])

# set while a measurement runs that ends when the program starts one: that of `pytest --spartito`, if a test does
give_way: Callable[[], None] | None = None


def start(directory: str | os.PathLike[str] | None, keywords: dict[str, object]) -> None:
    settings = keyword_settings(keywords)
    if give_way:
        give_way()
    if _measure.active():
        raise ValueError(f"measuring already, into {_measure.experiment()}")
    made = _directory("" if directory is None else os.fspath(directory))
    try:
        _measure.start(made.path, settings)
    except BaseException:
        made.remove()
        raise
    if made.crew:
        import atexit

        atexit.register(_leave, made, os.getpid())


def _leave(directory: Directory, pid: int) -> None:
    if directory.crew and os.getpid() == pid:
        directory.crew.leave()


def _directory(output: str) -> Directory:
    script = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python"
    cell = inside.cell()
    command = [cell] if cell else [script, *sys.argv[1:]]
    try:
        return create(output, command, launched=False, world=world_of(command))
    except Refused as e:
        raise OSError(str(e)) from None


class Measure:
    def __init__(self, directory: str | None, keywords: dict[str, object]) -> None:
        self.directory = directory
        self.keywords = keywords
        self.mine = False
        self.unit: Unit | None = None  # the measurement of a notebook cell

    def __enter__(self) -> None:
        cell = inside.cell()
        if give_way:
            give_way()
        if _measure.active():
            if cell:
                inside.nothing_more(cell)
        elif cell:
            settings = keyword_settings(self.keywords)
            self.unit = inside.begin(cell, self.directory or "", settings)
        else:
            start(self.directory, self.keywords)
            self.mine = True

    def __exit__(self, t: type[BaseException] | None, v: BaseException | None, tb: TracebackType | None) -> None:
        unit, self.unit = self.unit, None
        if unit:
            inside.end(unit)
        if self.mine:
            self.mine = False
            _measure.stop()


async def async_enter(region: _measure.region) -> _measure.region:
    return region.__enter__()


async def async_leave(region: _measure.region) -> None:
    region.__exit__(None, None, None)


async def await_in(region: _measure.region, function: Callable[..., Awaitable[None]], *args: Any) -> None:
    """Awaits function(*args) in the region. The recorder suspends regions with the coroutine that entered them only if it knows the
    coroutine. Of Spartito's own it knows those of this module."""
    with region:
        await function(*args)


def decorate(name: str | None, function: Function, group: str | None = None, itself: bool = False) -> Function:
    """A wrapper of `function` that enters the region for each call. `inspect` reports the same kind of function for it: a coroutine
    function, a generator function and so on.

    group: the region's module. itself: the region represents the function itself; the wrapper records it only while the measurement
    does not record functions."""
    if not callable(function):
        raise TypeError(f"region({name!r}) decorates functions, not {type(function).__name__}")
    if name is None:
        name = getattr(function, "__qualname__", type(function).__name__)
    # As the Score-P bindings, do not record functions that this decorator calls. Only with their module loaded does the recorder
    # accept that functions are disabled and enabled while one is open (record/stack.h); otherwise it would count the leave event as
    # lost.
    were_on = "spartito.compat.scorep.loaded" in sys.modules and _measure.thread_functions(False)
    try:
        return _decorated(name, function, group, itself)
    finally:
        if were_on:
            _measure.thread_functions(True)


def _decorated(name: str, function: Function, group: str | None, itself: bool) -> Function:
    code = getattr(_innermost(function), "__code__", None)
    file, line = (os.path.abspath(code.co_filename), code.co_firstlineno) if code else (None, 0)
    region = _measure.region(name, group, file, line, itself)
    active = _measure.uninstrumented if itself else _measure.active
    return _within(region, function, active, "function")


def manage(manager: AbstractContextManager[Any], function: Function, always: bool = False) -> Function:
    """A wrapper of `function` that runs each call in `with manager:`, during a measurement or always."""
    if not callable(function):
        raise TypeError(f"{type(manager).__name__}() decorates functions, not {type(function).__name__}")
    return _within(manager, function, _always if always else _measure.active, "managed")


def _always() -> bool:
    return True


def _within(region: AbstractContextManager[Any], function: Function, active: Callable[[], bool], plain: str) -> Function:
    """The wrapper of a function. plain: the key in _BODIES for functions that are neither coroutines nor generators."""
    if _flags(function) & _ASYNC_GENERATOR:
        made: Any = _async_generator(region, function, active)
    else:
        parameters = _parameters(function)
        kind = _kind(function)
        made = _made(parameters, plain if kind == "function" else kind)(region, function, active, _measure)
        if parameters != _ANYTHING:
            made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        if isinstance(function, FunctionType) and function.__code__.co_flags & _ITERABLE_COROUTINE:
            made = coroutine(made)
    decorated: Any = wraps(function)(made)
    return decorated  # type: ignore[no-any-return]


def mark_lines(thing: Any) -> Any:
    """spartito.lines() for arguments that are not plain functions."""
    found = _functions(thing)
    if not found and not isinstance(thing, type):
        raise TypeError(f"lines() is for functions and classes, not {type(thing).__name__}")
    for function in found:
        _measure.lines(function)
    return thing


def _functions(thing: Any) -> list[FunctionType]:
    """The Python functions in a class, or behind a method, a property, a partial() or a decorated function."""
    if isinstance(thing, FunctionType):
        return [thing]
    if isinstance(thing, type):
        inner = [v for v in vars(thing).values() if not isinstance(v, type)]
    elif isinstance(thing, property):
        inner = [thing.fget, thing.fset, thing.fdel]
    elif isinstance(thing, (staticmethod, classmethod, MethodType)):
        inner = [thing.__func__]
    elif isinstance(thing, partial):
        inner = [thing.func]
    else:
        try:
            named = vars(thing)
        except TypeError:
            return []
        inner = [named.get("__wrapped__"), named.get("func")]
    return [f for v in inner if v is not thing and v is not None for f in _functions(v)]


_ANYTHING = "*args, **keywords", "*args, **keywords"
_BODIES = {
    "function": """
    def call({taken}):
        if not active():
            return function({given})
        begin(region)
        try:
            return function({given})
        finally:
            end(region)
""",
    "managed": """
    def call({taken}):
        try:
            if not active():
                return function({given})
            with region:
                return function({given})
        except BaseException as error:
            hide_frame(error)
            raise
""",
    "coroutine": """
    async def call({taken}):
        if not active():
            return await function({given})
        with region:
            return await function({given})
""",
    "generator": """
    def call({taken}):
        if not active():
            return (yield from function({given}))
        with region:
            return (yield from function({given}))
""",
}


# co_flags of code objects, as the module inspect has them
_VARARGS, _VARKEYWORDS, _GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x4, 0x8, 0x20, 0x80, 0x100, 0x200


def _innermost(function: Any) -> Any:
    """The function that other decorators have wrapped."""
    seen = 0
    while hasattr(function, "__wrapped__") and seen < 1000:
        function = function.__wrapped__
        seen += 1
    return function


def _flags(function: Any) -> int:
    """co_flags of the function behind methods and partial(); 0: it is not a Python function."""
    while isinstance(function, (partial, MethodType)):
        function = function.func if isinstance(function, partial) else function.__func__
    return function.__code__.co_flags if isinstance(function, FunctionType) else 0


def _kind(function: Callable[..., Any]) -> str:
    inspect = sys.modules.get("inspect")  # only with it can a plain function be marked as a coroutine function
    if _flags(function) & _COROUTINE or (inspect and inspect.iscoroutinefunction(function)):
        return "coroutine"
    return "generator" if _flags(function) & _GENERATOR else "function"


def _parameters(function: Callable[..., Any]) -> tuple[str, str]:
    """The source text of the function's parameters without defaults, and that of the arguments by which a wrapper passes them on.

    A wrapper with (*args, **keywords) would create a tuple and two dictionaries for each call, which is most of its cost."""
    if not isinstance(function, FunctionType):
        return _ANYTHING
    code = function.__code__
    ordinary, named = code.co_argcount, code.co_kwonlyargcount
    packed = bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKEYWORDS)
    names = code.co_varnames[: ordinary + named + packed]
    # code objects that other compilers made may have names that are not valid in Python source
    taken_already = {"function", "active", "begin", "end", "region", "hide_frame", "error"}
    if any(iskeyword(n) or not n.isidentifier() or n in taken_already for n in names):
        return _ANYTHING
    taken, given = list(names[:ordinary]), list(names[:ordinary])
    if code.co_posonlyargcount:
        taken.insert(code.co_posonlyargcount, "/")
    rest = list(names[ordinary + named :])
    if code.co_flags & _VARARGS:
        taken.append("*" + rest[0])
        given.append("*" + rest.pop(0))
    elif named:
        taken.append("*")
    for n in names[ordinary : ordinary + named]:
        taken.append(n)
        given.append(f"{n}={n}")
    if code.co_flags & _VARKEYWORDS:
        taken.append("**" + rest[0])
        given.append("**" + rest[0])
    return ", ".join(taken), ", ".join(given)


_WRITTEN = "<spartito.region>"  # file name of the generated wrappers


def _hide_frame(error: BaseException) -> None:
    """Removes the wrapper's frame, the outermost one, from the traceback. Before Python 3.11 the following `raise` adds it
    again."""
    trace = error.__traceback__
    if trace is not None and trace.tb_next is not None and trace.tb_frame.f_code.co_filename == _WRITTEN:
        error.__traceback__ = trace.tb_next


@lru_cache(maxsize=256)
def _made(parameters: tuple[str, str], kind: str) -> Callable[..., Callable[..., Any]]:
    taken, given = parameters
    head = "def make(region, function, active, measure):\n"
    head += "    begin, end = measure.region_begin, measure.region_end\n"
    source = head + _BODIES[kind].format(taken=taken, given=given) + "    return call\n"
    names: dict[str, Any] = {"__name__": __name__, "hide_frame": _hide_frame}
    exec(compile(source, _WRITTEN, "exec"), names)
    make: Callable[..., Callable[..., Any]] = names["make"]
    return make


def _async_generator(
    region: AbstractContextManager[Any], function: Callable[..., Any], active: Callable[[], bool]
) -> Callable[..., AsyncGenerator[Any, Any]]:
    from contextlib import nullcontext

    async def call(*args: Any, **keywords: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **keywords)
        with region if active() else nullcontext():
            # the same as `yield from`, which asynchronous generators do not have
            try:
                item = await inner.__anext__()
                while True:
                    try:
                        sent = yield item
                    except GeneratorExit:
                        raise
                    except BaseException as e:
                        item = await inner.athrow(e)
                    else:
                        item = await inner.asend(sent)
            except StopAsyncIteration:
                return
            finally:
                await inner.aclose()

    return call
