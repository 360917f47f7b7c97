# SPDX-License-Identifier: BSD-3-Clause
"""omnitrace.profiler.config: selects and labels the recorded functions.

Measured processes import this module, so it imports only light modules."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FLAGS = (
    *("trace_c", "include_internal", "include_args", "include_line", "include_filename", "full_filepath"),
    "annotate_trace",
)
FILTERS = (
    *("restrict_functions", "restrict_modules", "include_functions", "include_modules"),
    *("exclude_functions", "exclude_modules"),
)
EXCLUDED_FUNCTIONS = ("^<.*>$",)
EXCLUDED_MODULES = (r"(encoder|decoder|threading)\.py$", "^<.*>$")


def regular(pattern: str) -> None:
    """Checks an extended regular expression. ValueError: it is invalid, and at which position."""
    if "\n" in pattern or "\0" in pattern:
        raise ValueError(f"{pattern!r}: a pattern cannot hold the end of a line or NUL")
    from spartito.options.settings import _regular

    _regular(pattern)


class Config:
    """The attributes of omnitrace.profiler.config. An assignment to a list appends to it."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {name: False for name in FLAGS}
        self._values.update({name: [] for name in FILTERS})
        self._values["exclude_functions"] = list(EXCLUDED_FUNCTIONS)
        self._values["exclude_modules"] = list(EXCLUDED_MODULES)
        self._values["verbosity"] = 0
        self._changed: Callable[[str], None] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            value = self._values[name]
        except KeyError:
            raise AttributeError(f"omnitrace.profiler.config has no attribute {name!r}") from None
        return list(value) if isinstance(value, list) else value

    def __setattr__(self, name: str, value: Any) -> None:
        """TypeError: the value has not the attribute's type; ValueError: it is no regular expression."""
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if name not in self._values:
            raise AttributeError(f"omnitrace.profiler.config has no attribute {name!r}")
        if name in FLAGS:
            if not isinstance(value, (bool, int)):
                raise TypeError(f"config.{name} must be a bool, not {type(value).__name__}")
            self._values[name] = bool(value)
        elif name == "verbosity":
            if not isinstance(value, int):
                raise TypeError(f"config.{name} must be an int, not {type(value).__name__}")
            self._values[name] = int(value)
        else:
            self._values[name] = self._more(name, value)
        if self._changed:
            self._changed(name)

    def _more(self, name: str, value: Any) -> list[str]:
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise TypeError(f"config.{name} must be a list of str, not {type(value).__name__}")
        added = list(value)
        for pattern in added:
            if not isinstance(pattern, str):
                raise TypeError(f"config.{name} must hold str only, not {type(pattern).__name__}")
            try:
                regular(pattern)
            except ValueError as e:
                raise ValueError(f"config.{name}: {e}") from None
        return list(dict.fromkeys([*self._values[name], *added]))

    def __dir__(self) -> list[str]:
        return [*FLAGS, *FILTERS, "verbosity"]

    def filter(self) -> str:
        """The recorder's filter, in which the last matching item decides. Omnitrace applies the first match of: restrict, include,
        exclude for functions, then the same for files. So the items are in opposite order. C functions have no file."""
        items = ["-file:re:" + p for p in self.exclude_modules]
        items += ["+file:re:" + p for p in self.include_modules]
        if self.restrict_modules:
            items += ["-file:?*", *("+file:re:" + p for p in self.restrict_modules)]
        # "!" also excludes their callees; the functions that Omnitrace excludes by default are excluded without callees
        items += ["!name:re:" + p for p in self.exclude_functions if p not in EXCLUDED_FUNCTIONS]
        items += ["-name:re:" + p for p in EXCLUDED_FUNCTIONS]
        items += ["+name:re:" + p for p in self.include_functions]
        if self.restrict_functions:
            items += ["-*", *("+name:re:" + p for p in self.restrict_functions)]
        return "\n".join(items)

    def label(self) -> str:
        """The recorder's setting `label`."""
        file = "path" if self.full_filepath else "file"
        words = [("args", self.include_args), (file, self.include_filename), ("line", self.include_line)]
        return ",".join(word for word, wanted in words if wanted)

    def text(self) -> str:
        """The configuration as lines NAME=VALUE, for another process."""
        lines = [f"{name}={int(self._values[name])}" for name in (*FLAGS, "verbosity")]
        lines += [f"{name}={pattern}" for name in FILTERS for pattern in self._values[name]]
        return "\n".join(lines)

    def read(self, text: str) -> None:
        """Reads the lines of text(); ignores other lines."""
        for line in text.split("\n"):
            name, sep, value = line.partition("=")
            if sep and (name in FLAGS or name == "verbosity"):
                self._values[name] = int(value) if name == "verbosity" else value == "1"
            elif sep and name in FILTERS and value not in self._values[name]:
                self._values[name].append(value)
