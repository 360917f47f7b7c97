# SPDX-License-Identifier: BSD-3-Clause
"""What `spartito.start`, `measure` and the decorator `region` do; imported when they are first used."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

from spartito import _measure
from spartito.rundir import Directory, create
from spartito.say import Refused
from spartito.settings import keyword_settings

Function = TypeVar("Function", bound=Callable[..., Any])


def start(directory: str | os.PathLike[str] | None, keywords: dict[str, object]) -> None:
    settings = keyword_settings(keywords)
    if _measure.active():
        raise ValueError(f"measuring already, into {_measure.experiment()}")
    made = _directory("" if directory is None else os.fspath(directory))
    try:
        _measure.start(made.path, settings)
    except BaseException:
        made.remove()
        raise


def _directory(output: str) -> Directory:
    script = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python"
    try:
        return create(output, [script, *sys.argv[1:]])
    except Refused as e:
        raise OSError(str(e)) from None


class Measure:
    def __init__(self, directory: str | None, keywords: dict[str, object]) -> None:
        self.directory = directory
        self.keywords = keywords
        self.mine = False

    def __enter__(self) -> None:
        if not _measure.active():
            start(self.directory, self.keywords)
            self.mine = True

    def __exit__(self, t: type[BaseException] | None, v: BaseException | None, tb: TracebackType | None) -> None:
        if self.mine:
            self.mine = False
            _measure.stop()


async def async_enter(region: _measure.region) -> _measure.region:
    return region.__enter__()


async def async_leave(region: _measure.region) -> None:
    region.__exit__(None, None, None)


def decorate(name: str | None, function: Function) -> Function:
    """function within a region for each call. Coroutines and generators stay what they are to `inspect`."""
    if not callable(function):
        raise TypeError(f"region({name!r}) decorates functions, not {type(function).__name__}")
    if name is None:
        name = getattr(function, "__qualname__", type(function).__name__)
    if inspect.iscoroutinefunction(function):
        made: Any = _coroutine(name, function)
    elif inspect.isasyncgenfunction(function):
        made = _async_generator(name, function)
    elif inspect.isgeneratorfunction(function):
        made = _generator(name, function)
    else:
        made = _plain(name, function)
    wrapped: Any = wraps(function)(made)
    result: Function = wrapped
    return result


def _plain(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    active, begin, end = _measure.active, _measure.region_begin, _measure.region_end

    def call(*args: Any, **keywords: Any) -> Any:
        if not active():
            return function(*args, **keywords)
        begin(name)
        try:
            return function(*args, **keywords)
        finally:
            end(name)

    return call


def _coroutine(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    region = _measure.region

    async def call(*args: Any, **keywords: Any) -> Any:
        with region(name):
            return await function(*args, **keywords)

    return call


def _generator(name: str, function: Callable[..., Any]) -> Callable[..., Generator[Any, Any, Any]]:
    region = _measure.region

    def call(*args: Any, **keywords: Any) -> Generator[Any, Any, Any]:
        with region(name):
            return (yield from function(*args, **keywords))

    return call


def _async_generator(name: str, function: Callable[..., Any]) -> Callable[..., AsyncGenerator[Any, Any]]:
    region = _measure.region

    async def call(*args: Any, **keywords: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **keywords)
        with region(name):
            # what `yield from` does, which asynchronous generators do not have
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
