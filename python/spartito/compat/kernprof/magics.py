# SPDX-License-Identifier: BSD-3-Clause
"""The magics %lprun and %%lprun_all of line_profiler's extension of IPython."""

from __future__ import annotations

import io
import types

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.page import page

from spartito.compat.kernprof.alone import LineProfiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

FREE = (SystemExit, KeyboardInterrupt)  # exceptions of the measured code that do not fail the cell


def _functions(code: CodeType, namespace: dict[str, Any]) -> list[types.FunctionType]:
    """Function objects for the code objects of all functions that the code defines, without class bodies."""
    found = []
    for inner in code.co_consts:
        if not isinstance(inner, types.CodeType):
            continue
        if inner.co_flags & 2 and not inner.co_name.startswith("<"):  # CO_NEWLOCALS: a function, not a class body
            cells = tuple(types.CellType() for _ in inner.co_freevars)
            found.append(types.FunctionType(inner, namespace, inner.co_name, None, cells))
        found += _functions(inner, namespace)
    return found


@magics_class
class LineProfilerMagics(Magics):  # type: ignore[misc]
    def _profiled(self, profiler: LineProfiler, run: Callable[[], object]) -> str:
        """Calls run() with the profiler as builtin `profile`. Returns a message about an exception that ended it."""
        import builtins

        before = vars(builtins).get("profile")
        vars(builtins)["profile"] = profiler
        try:
            with profiler:
                run()
        except FREE as e:
            return f"*** {type(e).__name__} exception caught in code being profiled."
        finally:
            if before is None:
                del vars(builtins)["profile"]
            else:
                vars(builtins)["profile"] = before
        return ""

    def _finish(self, profiler: LineProfiler, options: Any, message: str) -> LineProfiler | None:
        unit = None
        if "u" in options:
            try:
                unit = float(options.u[0])
            except ValueError:
                raise TypeError(f"-u: {options.u[0]!r} is no number of seconds") from None
        out = io.StringIO()
        skip = "s" in options or "z" in options
        profiler.print_stats(out, output_unit=unit, stripzeros=skip, sort="t" in options, summarize="m" in options)
        page(out.getvalue())
        if message:
            print(message)
        for path in options.get("D", ()):
            profiler.dump_stats(path)
            print(f"*** Profile stats pickled to file {path!r}.")
        for path in options.get("T", ()):
            with open(path, "w", encoding="utf-8") as f:
                f.write(out.getvalue())
            print(f"*** Profile printout saved to text file {path!r}.")
        return profiler if "r" in options else None

    @line_magic  # type: ignore[untyped-decorator]
    def lprun(self, line: str) -> LineProfiler | None:
        """%lprun -f FUNCTION [-f …] [-m MODULE] [-rszt] [-u SECONDS] [-D FILE] [-T FILE] STATEMENT

        Profiles the lines of these functions, and of those of a module, while the statement runs. -r returns the profiler, -s and
        -z omit lines that did not run, -t sorts by time, -D writes a .lprof file, -T writes the printed text to a file."""
        options, statement = self.parse_options(line, "rsztf:m:D:T:u:", list_all=True)
        namespace = self.shell.user_ns
        profiler = LineProfiler()
        for name in options.get("f", ()):
            try:
                function = eval(name, namespace)
            except Exception as e:
                raise UsageError(f"-f {name}: {type(e).__name__}: {e}") from None
            profiler.add_callable(function)
        for name in options.get("m", ()):
            from importlib import import_module

            try:
                profiler.add_module(import_module(name))
            except ImportError as e:
                raise UsageError(f"-m {name}: {e}") from None
        message = self._profiled(profiler, lambda: exec(statement, namespace))
        return self._finish(profiler, options, message)

    @cell_magic  # type: ignore[untyped-decorator]
    def lprun_all(self, line: str, cell: str) -> LineProfiler | None:
        """%%lprun_all [-prszt] [-u SECONDS] [-D FILE] [-T FILE]

        Profiles all lines of the cell and of the functions that it defines; -p: without these functions. -t stores the duration in
        seconds in _total_time_taken. The other options are those of %lprun."""
        from linecache import cache
        from time import perf_counter

        options, _ = self.parse_options(line, "rsztpD:T:u:", list_all=True)
        namespace = self.shell.user_ns
        text = self.shell.input_transformer_manager.transform_cell(cell)
        file = f"<generated: cell {self.shell.execution_count}, {hash(text) & 0xFFFFFFFF:08x}>"
        cache[file] = len(text), None, text.splitlines(keepends=True), file
        code = compile(text, file, "exec", flags=self.shell.compile.flags, dont_inherit=True)
        whole = types.FunctionType(code, namespace, "<module>")
        profiler = LineProfiler(whole, *([] if "p" in options else _functions(code, namespace)))
        began = perf_counter()
        message = self._profiled(profiler, lambda: exec(code, namespace))
        if options.pop("t", None) is not None:
            namespace["_total_time_taken"] = perf_counter() - began
        return self._finish(profiler, options, message)


def load_ipython_extension(shell: Any) -> None:
    shell.register_magics(LineProfilerMagics)
