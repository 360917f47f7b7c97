# SPDX-License-Identifier: BSD-3-Clause
"""line_profiler's LineProfiler and `profile` in a program that was not started by `spartito-kernprof`. They measure this process
into a temporary directory, which is removed at exit. If the process is being measured already, lines are recorded into that
experiment."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import threading
import types
import weakref
from types import FunctionType, MethodType

from spartito import _measure
from spartito.compat.kernprof.callables import COMPILED, MARK, functions, wrapped
from spartito.compat.kernprof.inside import VARIABLE, Counted, _recorded
from spartito.compat.kernprof.inside import LineProfiler as WithinRun
from spartito.compat.kernprof.rc import configure
from spartito.compat.kernprof.stats import LineStats, show_text
from spartito.experiments.rundir import Directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

    from spartito.report.lines.text import Timed

    Numbers = dict[int, tuple[int, int]]  # {line: (hits, nanoseconds)}

FLAGS = ("--line-profile", "--line_profile")
OFF = ("", "0", "off", "f", "false", "n", "no")
NO_DATA = "No profiling data on the current thread"


class _Measurement:
    """The measurement of this process by its profilers. It is paused while no profiler is enabled in any thread."""

    def __init__(self) -> None:
        self.directory = ""
        self.owner = 0
        self.enabled = 0  # count of enable minus disable, over all profilers and threads
        self.lock = threading.Lock()

    def begin(self) -> None:
        """Starts the measurement; further calls have no effect. OSError, ValueError: the process cannot be measured."""
        if _measure.active() or self.directory:
            return
        import tempfile

        self.directory, self.owner = tempfile.mkdtemp(prefix="spartito-"), os.getpid()
        # registered before the program's own exit functions, which run first and can still read the results
        atexit.register(self.end)
        try:
            Directory(self.directory, list(sys.argv) or ["python"], False).create()
            _measure.start(self.directory, {"instrument": "0"})
        except BaseException:
            self.end()
            raise
        _measure.pause()

    def change(self, by: int) -> None:
        with self.lock:
            before, self.enabled = self.enabled, max(0, self.enabled + by)
            if self.directory and bool(before) != bool(self.enabled):
                if self.enabled:
                    _measure.resume()
                else:
                    _measure.pause()

    def end(self) -> None:
        if self.owner != os.getpid():
            return
        if _measure.experiment() == self.directory:
            _measure.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory = ""


_measurement = _Measurement()


class _ThreadState(threading.local):
    count = 0
    began = False


def _generator(profiler: Any, func: Any) -> Any:
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        running = func(*arguments, **keywords)
        step, given = running.send, None
        try:
            while True:
                try:
                    with profiler:
                        item = step(given)
                except StopIteration as e:
                    return e.value
                try:
                    given, step = (yield item), running.send
                except GeneratorExit:
                    raise
                except BaseException as e:
                    given, step = e, running.throw
        finally:
            with profiler:
                running.close()

    return wrapper


def _async_generator(profiler: Any, func: Any) -> Any:
    async def wrapper(*arguments: Any, **keywords: Any) -> Any:
        running = func(*arguments, **keywords)
        step, given = running.asend, None
        try:
            while True:
                try:
                    with profiler:
                        item = await step(given)
                except StopAsyncIteration:
                    return
                try:
                    given, step = (yield item), running.asend
                except GeneratorExit:
                    raise
                except BaseException as e:
                    given, step = e, running.athrow
        finally:
            with profiler:
                await running.aclose()

    return wrapper


class Mark:
    """The attribute MARK of a wrapper: the profiler that made it, and the wrapped function."""

    __slots__ = ("func", "profiler")

    def __init__(self, profiler: Any, func: Any) -> None:
        self.profiler, self.func = profiler, func


class Wrapping(Counted):
    """Decorates callables, so that the profiler is enabled while they run."""

    def add_callable(self, func: Any) -> int:
        return 0

    def _has_wrapped(self, func: Any) -> bool:
        """Whether func is a wrapper of this profiler, or contains one below wrappers of other profilers."""
        mark = getattr(func, MARK, None)
        while isinstance(mark, Mark):
            if mark.profiler is self:
                return True
            func = func.__wrapped__
            mark = getattr(func, MARK, None)
        return False

    def __call__(self, func: Any) -> Any:
        return self.wrap_callable(func)

    def wrap_callable(self, func: Any) -> Any:
        """A wrapper of func, each call of which runs within `with self:`."""
        if self._has_wrapped(func) or isinstance(func, COMPILED):
            return func
        if isinstance(func, (classmethod, staticmethod)):
            return type(func)(self(func.__func__))
        if isinstance(func, MethodType):
            return MethodType(self(func.__func__), func.__self__)
        if isinstance(func, property):
            fget, fset, fdel = (f if f is None else self(f) for f in (func.fget, func.fset, func.fdel))
            return property(fget, fset, fdel, func.__doc__)
        if isinstance(func, type):
            self._wrap_class(func)
            return func
        if not isinstance(func, FunctionType) and wrapped(func) is not None:
            return self._wrap_tool(func)
        self.add_callable(func)
        if not isinstance(func, FunctionType):
            return func
        made = self._wrap_function(func)
        (inner,) = functions(func)
        setattr(made, MARK, Mark(self, inner))
        return made

    def _wrap_function(self, func: FunctionType) -> Any:
        import inspect
        from functools import wraps

        from spartito.user import manage

        # enabled only in each step of a generator, as its caller runs between the steps
        if inspect.isgeneratorfunction(func):
            made: Any = wraps(func)(_generator(self, func))
            return types.coroutine(made) if func.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE else made
        return wraps(func)(_async_generator(self, func)) if inspect.isasyncgenfunction(func) else manage(self, func, always=True)

    def _wrap_class(self, cls: type) -> None:
        for name, member in list(vars(cls).items()):
            if isinstance(member, type) or not (isinstance(member, FunctionType) or wrapped(member) is not None):
                continue
            # an attribute may be a function that was defined outside of the class, which is not wrapped
            if all(f.__qualname__.startswith(cls.__qualname__ + ".") for f in functions(member)):
                setattr(cls, name, self(member))

    def _wrap_tool(self, func: Any) -> Any:
        """partial, partialmethod and cached_property of functools."""
        from functools import cached_property

        inner = self(func.func)
        if not isinstance(func, cached_property):
            return type(func)(inner, *func.args, **func.keywords)
        made: Any = cached_property(inner)
        made.attrname = func.attrname
        return made


# The profilers of each function; each of them counts separately. The key has the file, as code objects of two files may be equal.
_users: dict[tuple[str, CodeType], list[weakref.ref[LineProfiler]]] = {}


def _key(function: Callable[..., Any]) -> tuple[str, CodeType]:
    return function.__code__.co_filename, function.__code__


def _all() -> dict[tuple[str, int, str], Timed]:
    if _measure.experiment() is None or sys.is_finalizing():
        return {}
    from spartito.report.lines.text import timed

    return {(f.file, f.first, f.name): f for f in timed(_recorded()[0].lines())}


def _lines(function: Callable[..., Any], recorded: dict[tuple[str, int, str], Timed]) -> Numbers:
    code = function.__code__
    for name in (function.__qualname__, getattr(code, "co_qualname", code.co_name), code.co_name):
        for file in (os.path.abspath(code.co_filename), code.co_filename):
            found = recorded.get((file, code.co_firstlineno, name))
            if found:
                return {n: (hits, time) for n, hits, time in found.lines}
    return {}


class _Shared:
    """The counts of one profiler for a function that several profilers have: {line: (hits, nanoseconds)}."""

    def __init__(self, counted: Numbers) -> None:
        self.counted = counted
        self.since: Numbers | None = None  # the recorded counts when the profiler was enabled; None: it is disabled

    def until(self, now: Numbers) -> Numbers:
        return self.counted if self.since is None else _sum(self.counted, _difference(now, self.since))


def _difference(now: Numbers, before: Numbers) -> Numbers:
    found = {n: (hits - before.get(n, (0, 0))[0], max(0, time - before.get(n, (0, 0))[1])) for n, (hits, time) in now.items()}
    return {n: line for n, line in found.items() if line[0] > 0}


def _sum(a: Numbers, b: Numbers) -> Numbers:
    return {n: (a.get(n, (0, 0))[0] + b.get(n, (0, 0))[0], a.get(n, (0, 0))[1] + b.get(n, (0, 0))[1]) for n in {**a, **b}}


class LineProfiler(Wrapping, WithinRun):
    """Records the lines of its functions while it is enabled: by enable_by_count(), `with`, and in calls of its wrappers."""

    def __init__(self, *functions: Any) -> None:
        self._thread = _ThreadState()
        self._enabled = 0  # count of enable minus disable, over all threads
        self._shared: dict[tuple[str, CodeType], _Shared] = {}
        WithinRun.__init__(self, *functions)

    @property
    def enable_count(self) -> int:
        return self._thread.count

    @enable_count.setter
    def enable_count(self, n: int) -> None:
        self._thread.count = n

    def _switch(self, on: bool) -> None:
        self._thread.began = True
        with _measurement.lock:
            before, self._enabled = self._enabled, max(0, self._enabled + (1 if on else -1))
            changes = bool(before) != bool(self._enabled)
        if on and changes:
            self._count(on)
        _measurement.change(1 if on else -1)
        if not on and changes:
            self._count(on)

    def _count(self, on: bool) -> None:
        recorded = _all() if self._shared else {}
        for function in self.functions:
            shared = self._shared.get(_key(function))
            if shared is not None:
                now = _lines(function, recorded)
                shared.counted, shared.since = shared.until(now), now if on else None

    def _share(self, function: FunctionType) -> None:
        """Registers this profiler for the function. If another profiler has or had it, each counts separately from now on."""
        key = _key(function)
        users = [user for user in (ref() for ref in _users.setdefault(key, [])) if user is not None]
        if self in users:
            return
        now = _lines(function, _all()) if _users[key] else {}
        for user in users:
            if key not in user._shared:
                user._shared[key] = _Shared(now)
                user._shared[key].since = now if user._enabled else None
        if now or users:
            self._shared[key] = _Shared({})
            self._shared[key].since = now if self._enabled else None
        _users[key] = [weakref.ref(user) for user in (*users, self)]

    def add_callable(self, func: Any, guard: Any = None, name: str | None = None) -> int:
        """Adds the Python functions of func. Returns 1; or 0 if there are no functions or func is a wrapper of this profiler."""
        found = [] if self._has_wrapped(func) else functions(func)
        if found:
            _measurement.begin()
        for function in found:
            self._share(function)
            self.functions.append(function)
            _measure.lines(function)
        return 1 if found else 0

    # ---- results

    def _timed(self) -> list[Timed]:
        """The functions of this profiler, also those that did not run."""
        from spartito.report.lines.text import Timed

        recorded, found = _all(), {}
        for function in self.functions:
            code = function.__code__
            shared, now = self._shared.get(_key(function)), _lines(function, recorded)
            lines = [(n, *line) for n, line in sorted((now if shared is None else shared.until(now)).items()) if line[0]]
            key = code.co_filename, code.co_firstlineno, function.__qualname__
            found[key] = Timed(*key, lines)
        return [found[key] for key in sorted(found)]

    def get_stats(self) -> LineStats:
        return LineStats({(f.file, f.first, f.name): [*f.lines] for f in self._timed()}, 1e-9)

    def dump_stats(self, filename: str | os.PathLike[str]) -> None:
        self.get_stats().to_file(filename)

    def print_stats(
        self, stream: Any = None, output_unit: float | None = None, stripzeros: bool = False, details: bool = True,
        summarize: bool = False, sort: bool = False, rich: bool = False, **keywords: object,
    ) -> None:  # fmt: skip
        stats = self.get_stats()
        show_text(stats.timings, stats.unit, output_unit, stream, stripzeros, details, summarize, sort)

    @property
    def code_map(self) -> dict[CodeType, dict[int, dict[str, int]]]:
        """{code: {line: {code, lineno, total_time, nhits}}}"""
        found = {(f.file, f.first): f.lines for f in self._timed()}
        return {
            f.__code__: {
                n: {"code": hash(f.__code__), "lineno": n, "total_time": time, "nhits": hits}
                for n, hits, time in found[f.__code__.co_filename, f.__code__.co_firstlineno]
            }
            for f in self.functions
        }

    @property
    def code_hash_map(self) -> dict[CodeType, list[int]]:
        return {f.__code__: [hash(f.__code__.co_code)] for f in self.functions}

    @property
    def last_time(self) -> dict[CodeType, dict[str, int]]:
        """The current line of each function on this thread's stack; empty while the profiler is disabled."""
        from time import perf_counter_ns

        found: dict[CodeType, dict[str, int]] = {}
        codes = {f.__code__ for f in self.functions}
        frame = sys._getframe(1) if self.enable_count else None
        while frame is not None:
            if frame.f_code in codes:
                found.setdefault(frame.f_code, {"f_lineno": frame.f_lineno, "time": perf_counter_ns()})
            frame = frame.f_back
        return found

    @property
    def c_last_time(self) -> dict[int, dict[str, int]]:
        """last_time by the hash of the functions' bytecode. KeyError: the profiler was never enabled in this thread."""
        if not self._thread.began:
            raise KeyError(NO_DATA)
        return {hash(code.co_code): entry for code, entry in self.last_time.items()}


class GlobalProfiler:
    """`from line_profiler import profile`. In a run of kernprof it is kernprof's profiler. Otherwise LINE_PROFILE=1, --line-profile
    or enable() enables it, and it writes its results at exit."""

    def __init__(self, config: object = None) -> None:
        self._profile: Any = None
        self._owner = 0
        self.enabled: bool | None = None
        self.output_prefix = "profile_output"
        self.setup_config = {"environ_flags": ["LINE_PROFILE"], "cli_flags": [*FLAGS]}
        self.write_config = {"lprof": True, "text": True, "timestamped_text": True, "stdout": True}
        self.show_config = {"sort": True, "stripzeros": True, "rich": True, "details": False, "summarize": True}
        configure(self, config)
        if VARIABLE in os.environ:
            import builtins

            self._kernprof_overwrite(getattr(builtins, "profile", None))

    def _kernprof_overwrite(self, profile: Any) -> None:
        self._profile, self.enabled = profile, profile is not None

    def _implicit_setup(self) -> None:
        asked = any(os.environ.get(name, "").lower() not in OFF for name in self.setup_config["environ_flags"])
        if asked or any(flag in sys.argv for flag in self.setup_config["cli_flags"]):
            self.enable()
        else:
            self.disable()

    def enable(self, output_prefix: str | None = None) -> None:
        if self._profile is None:
            self._profile, self._owner = LineProfiler(), os.getpid()
            _measurement.begin()
            atexit.register(self.show)
        elif VARIABLE in os.environ:
            self._profile.enable()
        self.enabled = True
        if output_prefix is not None:
            self.output_prefix = output_prefix

    def disable(self) -> None:
        if VARIABLE in os.environ and self._profile is not None:
            self._profile.disable()
        else:
            self.enabled = False

    def __call__(self, func: Callable[..., Any]) -> Any:
        if self.enabled is None:
            self._implicit_setup()
        return self._profile(func) if self.enabled else func

    def __enter__(self) -> GlobalProfiler:
        if self._profile is not None:
            self._profile.enable_by_count()
        return self

    def __exit__(self, *error: object) -> None:
        if self._profile is not None:
            self._profile.disable_by_count()

    def show(self) -> None:
        """Writes the outputs of write_config. A forked child writes nothing."""
        if self._profile is None or (self._owner and self._owner != os.getpid()):
            return
        import io

        if self.write_config["stdout"]:
            self._profile.print_stats(**self.show_config)
        out = io.StringIO()
        self._profile.print_stats(stream=out, **{**self.show_config, "details": True, "rich": False})
        if self.write_config["text"]:
            self._write(f"{self.output_prefix}.txt", out.getvalue())
        if self.write_config["timestamped_text"]:
            from time import strftime

            self._write(f"{self.output_prefix}_{strftime('%Y-%m-%dT%H%M%S')}.txt", out.getvalue())
        if self.write_config["lprof"]:
            path = f"{self.output_prefix}.lprof"
            self._profile.dump_stats(path)
            print(f"Wrote profile results to {path}")
            print("To view details run:")
            print(f"{os.path.basename(sys.executable or 'python3')} -m line_profiler -rtmz {path}")

    def _write(self, path: str, text: str) -> None:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        print(f"Wrote profile results to {path}")
