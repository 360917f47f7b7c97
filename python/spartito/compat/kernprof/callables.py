# SPDX-License-Identifier: BSD-3-Clause
"""Finds the Python functions of a callable, class or descriptor. Imported at interpreter start, so keep imports few."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, FunctionType, MethodType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MARK = "__line_profiler_id__"  # attribute of wrappers, see Mark
COMPILED = (
    BuiltinFunctionType,
    type(str.join),  # method_descriptor
    type(object.__init__),  # wrapper_descriptor
    type(object().__str__),  # method-wrapper
    type(dict.__dict__["fromkeys"]),  # classmethod_descriptor
)


def wrapped(thing: Any) -> tuple[Any, ...] | None:
    """The callables that a method, descriptor or partial object contains; None: it is of another type."""
    if isinstance(thing, (classmethod, staticmethod, MethodType)):
        return (thing.__func__,)
    if isinstance(thing, property):
        return tuple(f for f in (thing.fget, thing.fset, thing.fdel) if f is not None)
    tools = sys.modules.get("functools")  # without this module, no object has its types
    if tools is not None and isinstance(thing, (tools.partial, tools.partialmethod, tools.cached_property)):
        return (thing.func,)
    return None


def _members(cls: type) -> Iterator[Any]:
    """The functions, descriptors and nested classes that a class defines."""
    prefix = cls.__qualname__ + "."
    for member in list(vars(cls).values()):
        if isinstance(member, type):
            if member.__module__ == cls.__module__ and member.__qualname__.startswith(prefix):
                yield member
        elif isinstance(member, FunctionType) or wrapped(member) is not None:
            yield member


def functions(thing: Any, seen: set[int] | None = None) -> list[FunctionType]:
    """The Python functions of a callable (method, property, partial, class …). For a wrapper of a profiler, the wrapped function.
    TypeError: it is not callable."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, COMPILED):
        return []
    seen.add(id(thing))
    if isinstance(thing, FunctionType):
        mark = vars(thing).get(MARK)
        return [thing] if mark is None else functions(mark.func, seen)
    below = wrapped(thing)
    if below is None and isinstance(thing, type):
        below = tuple(_members(thing))
    if below is not None:
        return [f for part in below for f in functions(part, seen)]
    if not callable(thing):
        raise TypeError(f"profile: {thing!r} is neither a function nor anything else that can be called")
    if hasattr(thing, "__code__"):  # compiled by Cython
        return []
    return functions(type(thing).__call__, seen)
