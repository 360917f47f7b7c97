# SPDX-License-Identifier: BSD-3-Clause
"""The part of `spartito-kernprof` within the measured processes: `profile` in the builtins, with the interface of line_profiler's
LineProfiler or of kernprof's wrapper of cProfile. Imported at interpreter start, so further imports are within functions."""

from __future__ import annotations

import os
import sys
from types import FunctionType, ModuleType

from spartito import _measure
from spartito.compat.kernprof.callables import COMPILED, functions, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from typing import Any

    from typing_extensions import Self

    from spartito.compat.kernprof.stats import LineStats

VARIABLE, SETUP = "SPARTITO_KERNPROF", "SPARTITO_KERNPROF_SETUP"


class Counted:
    """A profiler that is enabled while it was enabled more often than disabled. It is a context manager, too."""

    def __init__(self) -> None:
        self.enable_count = 0

    def _switch(self, on: bool) -> None:
        raise NotImplementedError

    def enable_by_count(self, *arguments: object, **keywords: object) -> None:
        if self.enable_count == 0:
            self._switch(True)
        self.enable_count += 1

    def disable_by_count(self) -> None:
        if self.enable_count > 0:
            self.enable_count -= 1
            if self.enable_count == 0:
                self._switch(False)

    def __enter__(self) -> Self:
        self.enable_by_count()
        return self

    def __exit__(self, *error: object) -> None:
        self.disable_by_count()


class Profiler(Counted):
    """The methods that both profilers share, such as running code while enabled."""

    def enable(self, *arguments: object, **keywords: object) -> None:
        self._switch(True)

    def disable(self) -> None:
        self._switch(False)

    def run(self, cmd: Any) -> Self:
        import __main__

        return self.runctx(cmd, vars(__main__), vars(__main__))

    def runctx(self, cmd: Any, globals: dict[str, Any], locals: Any) -> Self:
        with self:
            exec(cmd, globals, locals)
        return self

    def runcall(self, func: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Any:
        with self:
            return func(*arguments, **keywords)


class LineProfiler(Profiler):
    """Line profiler. `@profile` marks a function, whose lines are recorded from then on, and returns the function unchanged.
    add_function() and the like mark functions when the profiler is enabled the next time."""

    def __init__(self, *functions: Any) -> None:
        super().__init__()
        self.functions: list[Callable[..., Any]] = []
        self._waiting: list[FunctionType] = []
        for function in functions:
            self.add_callable(function)

    def _switch(self, on: bool) -> None:
        while on and self._waiting:
            _measure.lines(self._waiting.pop())

    def __call__(self, func: Any) -> Any:
        for function in functions(func):
            self.functions.append(function)
            _measure.lines(function)
        return func

    wrap_callable = __call__

    def add_function(self, func: Any) -> None:
        self.add_callable(func)

    def add_callable(self, func: Any, guard: Any = None, name: str | None = None) -> int:
        """Adds the Python functions of func. Returns 1 if it has any, else 0."""
        found = functions(func)
        self.functions += found
        self._waiting += found
        if self.enable_count:
            self._switch(True)
        return 1 if found else 0

    def add_class(self, cls: type, *, scoping_policy: Any = None, wrap: bool = False) -> int:
        """Adds the members of a class and returns their number. ValueError: unknown policy."""
        from spartito.compat.kernprof.scoping import Adding

        return Adding(self, scoping_policy, wrap)(cls)

    def add_module(self, mod: ModuleType, *, scoping_policy: Any = None, wrap: bool = False) -> int:
        return self.add_class(mod, scoping_policy=scoping_policy, wrap=wrap)  # type: ignore[arg-type]

    def dump_stats(self, filename: str | os.PathLike[str]) -> None:
        """Writes the results so far in the format of kernprof's output file."""
        _convert("lprof", os.fspath(filename))

    def get_stats(self) -> LineStats:
        """The results so far: `timings`, {(file, line, function): [(line, hits, time)]}, and `unit`, of times in seconds."""
        import tempfile

        from spartito.compat.kernprof.stats import load_stats

        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "stats")
            self.dump_stats(path)
            return load_stats(path)

    def print_stats(
        self,
        stream: Any = None,
        output_unit: float | None = None,
        stripzeros: bool = False,
        details: bool = True,
        summarize: bool = False,
        sort: bool = False,
        rich: bool = False,
        **keywords: object,
    ) -> None:
        from spartito.report.lines import text as linetext

        model, sources = _recorded()
        found = linetext.timed(model.lines())
        if sort:
            found.sort(key=lambda f: f.time)
        out = sys.stdout if stream is None else stream
        for line in linetext.text(found, sources, output_unit or 1e-9, stripzeros, summarize, details):
            out.write(line + "\n")


class CallProfiler(Profiler):
    """Call profiler, for kernprof without -l: records calls while it is enabled, and in functions that it decorates."""

    def _switch(self, on: bool) -> None:
        if on:
            _measure.instrument(True)  # with -b, SPARTITO_INSTRUMENT=0 disables this at start
            _measure.resume()
        else:
            _measure.pause()

    def __call__(self, func: Any) -> Any:
        if isinstance(func, (classmethod, staticmethod)):
            return type(func)(self(func.__func__))
        if isinstance(func, property):
            fget, fset, fdel = (f if f is None else self(f) for f in (func.fget, func.fset, func.fdel))
            return property(fget, fset, fdel, func.__doc__)
        if isinstance(func, type):
            for name, member in list(vars(func).items()):
                if isinstance(member, FunctionType) or (not isinstance(member, type) and wrapped(member) is not None):
                    setattr(func, name, self(member))
            return func
        if isinstance(func, COMPILED):
            return func
        if not callable(func):
            raise TypeError(f"profile: {func!r} is neither a function nor anything else that can be called")
        from spartito.user import manage

        return manage(self, func)

    wrap_callable = __call__

    def dump_stats(self, filename: str | os.PathLike[str]) -> None:
        _convert("pstats", os.fspath(filename))

    def create_stats(self) -> None:
        self.disable()

    def print_stats(self, sort: Any = -1) -> None:
        import pstats
        import tempfile

        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "stats")
            self.dump_stats(path)
            keys = sort if isinstance(sort, tuple) else (sort,)
            pstats.Stats(path).strip_dirs().sort_stats(*keys).print_stats()


def _recorded() -> tuple[Any, Any]:
    """The model of the current experiment, and its sources. This process imports them only if the user asks for results."""
    directory = _measure.experiment()
    if directory is None:
        raise RuntimeError("profile: nothing is being measured, so there are no results; run the program with spartito-kernprof")
    from spartito._analyse import Model
    from spartito.report.lines.source import Sources

    model = Model(directory)
    return model, Sources(directory, float("inf"))


def _convert(kind: str, path: str) -> None:
    model, _ = _recorded()
    if kind == "lprof" and not model.lines():
        from spartito.compat.kernprof.results import EMPTY

        with open(path, "wb") as f:
            f.write(EMPTY)
    else:
        model.convert(kind, path)


class _Finder:
    """Import hook: when the program imports an installed line_profiler, replaces its `profile` by Spartito's."""

    def __init__(self, profiler: Profiler) -> None:
        self.profiler = profiler

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "line_profiler":
            return None
        sys.meta_path.remove(self)
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute, profiler = spec.loader.exec_module, self.profiler

        def exec_module(module: ModuleType) -> None:
            execute(module)
            overwrite = getattr(getattr(module, "profile", None), "_kernprof_overwrite", None)
            if overwrite is not None:
                overwrite(profiler)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def invalidate_caches(self) -> None:
        pass


def _run_setup(path: str) -> None:
    """Runs the setup script as kernprof does: as __main__, and with its directory on sys.path. It is not recorded, as recording
    begins with the code object <module> of __main__, and this one has another name."""
    import builtins

    sys.path.insert(1 if sys.path[:1] != [os.path.dirname(path)] else 0, os.path.dirname(path))
    with open(path, "rb") as f:
        code = compile(f.read(), path, "exec").replace(co_name="<setup>")
    exec(code, {"__file__": path, "__name__": "__main__", "__builtins__": builtins})


def begin() -> None:
    """Called at the start of every process of the run. Only the direct child of kernprof runs the setup script."""
    import builtins

    kind = os.environ.get(VARIABLE)
    profiler: Profiler | None = {"lines": LineProfiler, "calls": CallProfiler}.get(kind or "", lambda: None)()
    if profiler is not None:
        builtins.profile = profiler  # type: ignore[attr-defined]
        sys.meta_path.insert(0, _Finder(profiler))
    parent, sep, path = os.environ.get(SETUP, "").partition(":")
    if sep and parent == str(os.getppid()):
        del os.environ[SETUP]
        from spartito.run.ahead import arm

        arm(lambda: _run_setup(path))
