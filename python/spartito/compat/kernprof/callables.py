# SPDX-License-Identifier: BSD-3-Clause
"""Which functions of Python a callable, class or descriptor consists of. Imported when the interpreter starts."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, FunctionType, MethodType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MARK = "__line_profiler_id__"  # of a wrapper: which profiler made it, around what
COMPILED = (
    BuiltinFunctionType,
    type(str.join),  # method_descriptor
    type(object.__init__),  # wrapper_descriptor
    type(object().__str__),  # method-wrapper
    type(dict.__dict__["fromkeys"]),  # classmethod_descriptor
)


def wrapped(thing: Any) -> tuple[Any, ...] | None:
    """What a callable or descriptor of Python is made of; None: it is something else."""
    if isinstance(thing, (classmethod, staticmethod, MethodType)):
        return (thing.__func__,)
    if isinstance(thing, property):
        return tuple(f for f in (thing.fget, thing.fset, thing.fdel) if f is not None)
    tools = sys.modules.get("functools")  # only where it was imported there can be such
    if tools is not None and isinstance(thing, (tools.partial, tools.partialmethod, tools.cached_property)):
        return (thing.func,)
    return None


def _members(cls: type) -> Iterator[Any]:
    """What is defined in a class."""
    prefix = cls.__qualname__ + "."
    for member in list(vars(cls).values()):
        if isinstance(member, type):
            if member.__module__ == cls.__module__ and member.__qualname__.startswith(prefix):
                yield member
        elif isinstance(member, FunctionType) or wrapped(member) is not None:
            yield member


def functions(thing: Any, seen: set[int] | None = None) -> list[FunctionType]:
    """The functions that a callable (method, property, partial, class …) consists of; of a wrapper that a profiler has made, the
    one within. TypeError: it is no callable."""
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
