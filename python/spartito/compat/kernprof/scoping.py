# SPDX-License-Identifier: BSD-3-Clause
"""Selects the members of a namespace for LineProfiler.add_class() and add_module(), with the policies of line_profiler 5: `exact`
(only members defined in the namespace), `children` (also its child classes or modules), `descendants` (also their descendants),
`siblings` (all below the namespace's parent), `none` (all members). For functions, `exact` and `children` are the same."""

from __future__ import annotations

import warnings
from types import FunctionType, ModuleType

from spartito.compat.kernprof.callables import functions, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Path = tuple[str, ...]

POLICIES = ("exact", "children", "descendants", "siblings", "none")
DEFAULTS = {"func": "siblings", "class": "siblings", "module": "exact"}


def chosen(policy: Any) -> dict[str, str]:
    """The policy of each kind of member. ValueError: unknown policy."""
    given = policy if isinstance(policy, dict) else dict.fromkeys(DEFAULTS, policy) if policy is not None else {}
    found = dict(DEFAULTS)
    for kind, name in given.items():
        text = str(getattr(name, "value", name)).lower()
        if kind not in DEFAULTS or text not in POLICIES:
            raise ValueError(f"scoping_policy: {kind}: {name!r} is not one of {', '.join(POLICIES)}")
        found[kind] = text
    return found


def _path(thing: Any) -> Path:
    """The names of a function, class or module from the outermost package on."""
    if isinstance(thing, ModuleType):
        return tuple(thing.__name__.split("."))
    return (*str(thing.__module__).split("."), *thing.__qualname__.split("."))


def _within(path: Path, namespace: Path, policy: str) -> bool:
    """Whether a member with that path belongs to the namespace by the policy."""
    if policy == "siblings" and len(namespace) > 1:
        namespace = namespace[:-1]
    if policy == "none":
        return True
    if policy == "children":
        return path[:-1] == namespace
    return policy != "exact" and len(path) > len(namespace) and path[: len(namespace)] == namespace


def _is_member(value: Any, here: Path, policy: str) -> bool:
    """Whether all functions of a callable belong to the namespace."""
    policy = "children" if policy == "exact" else policy
    return all(_within(_path(f), here, policy) for f in functions(value))


class Adding:
    """One call of add_class() or add_module(). profiler: the LineProfiler."""

    def __init__(self, profiler: Any, policy: Any, wrap: bool) -> None:
        self.profiler, self.policy, self.wrap = profiler, chosen(policy), wrap
        self.seen: set[int] = set()

    def _values(self, namespace: Any) -> Iterator[tuple[str, Any, str]]:
        here = _path(namespace)
        for name, value in list(vars(namespace).items()):
            if isinstance(value, type):
                if _within(_path(value), here, self.policy["class"]):
                    yield name, value, "below"
            elif isinstance(value, ModuleType):
                if isinstance(namespace, ModuleType) and _within(_path(value), here, self.policy["module"]):
                    yield name, value, "below"
            elif (isinstance(value, FunctionType) or wrapped(value) is not None) and _is_member(value, here, self.policy["func"]):
                yield name, value, "function"

    def __call__(self, namespace: Any) -> int:
        """Adds the members of the namespace and returns their number."""
        self.seen.add(id(namespace))
        added, failed = 0, {}
        for name, value, kind in self._values(namespace):
            if kind == "below":
                added += self(value) if id(value) not in self.seen else 0
                continue
            if not self.wrap:
                added += self.profiler.add_callable(value)
                continue
            before = len(self.profiler.functions)
            made = self.profiler.wrap_callable(value)
            added += len(self.profiler.functions) > before
            try:
                setattr(namespace, name, made)
            except (TypeError, AttributeError):  # attributes of built-in types cannot be set
                failed[name] = value
        if failed:
            text = f"cannot wrap {len(failed)} attribute(s) of {namespace!r} (`{{attr: value}}`): {failed!r}"
            warnings.warn(text, stacklevel=2)
        return added
