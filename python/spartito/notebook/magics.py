# SPDX-License-Identifier: BSD-3-Clause
"""%%spartito and %spartito, and the registration of all magics with the shell."""

from __future__ import annotations

import ast

from spartito.notebook import celloptions, cells, commands, completion
from spartito.notebook.commands import usage_error
from spartito.notebook.measuring import NotMeasured, Request, Unit, print_note
from spartito.options.table import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

FIRST = "%%spartito must be on the first line of a cell that is run by itself; measure a statement with %spartito"
NO_AWAIT = "%spartito measures plain statements; for `await`, put %%spartito on the first line of the cell"


def request_cell(line: str, raw_cell: str) -> Request | None:
    assert cells.current
    given = celloptions.parse_options(line)
    if given.get("help"):
        return None
    request, notes = celloptions.request(given, f"In[{cells.current.number}]")
    for text in notes:
        print_note(text)
    return request


# ---- %spartito statement


def _compiled(shell: Any, statement: str, number: int) -> tuple[CodeType | None, CodeType | None]:
    """The code of the statements to execute, and the code of the last expression, whose value is the result."""
    text = shell.transform_cell(statement)
    name = shell.compile.cache(text, number, raw_code=text)
    cells.names(shell)
    tree = shell.transform_ast(shell.compile.ast_parse(text, filename=name))
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not statement.rstrip().endswith(";"):
        last = shell.compile(ast.Expression(tree.body.pop().value), name, "eval")
    return shell.compile(tree, name, "exec") if tree.body else None, last


def run_statement(shell: Any, request: Request, run: CodeType | None, last: CodeType | None) -> Any:
    """Runs and measures the code; returns the value of `last`. Exceptions of the code are not caught."""
    __tracebackhide__ = True  # IPython omits this frame from tracebacks
    assert cells.current
    unit: Unit | None = Unit(request)
    try:
        assert unit
        unit.begin()
    except NotMeasured as e:
        unit = None
        print_note(f"not measured: {e}")
    value = None
    try:
        if unit:
            unit.functions(True)
        if run:
            exec(run, shell.user_ns)
        if last:
            value = eval(last, shell.user_ns)
    finally:
        if unit:
            unit.end()
            cells.current.deliver_later(unit)
    return value


def spartito_line(shell: Any, line: str) -> Any:
    __tracebackhide__ = True
    try:
        given, statement = celloptions.parse_statement(line)
        if given.get("help") or not statement:
            print(celloptions.help_text())
            return None
        assert cells.current
        request, notes = celloptions.request(given, f"In[{cells.current.number}]")
    except Usage as e:
        raise usage_error(f"%spartito: {e}") from None
    try:
        run, last = _compiled(shell, statement, cells.current.number)
    except SyntaxError as e:
        if "await" in str(e) or "async" in str(e):
            raise usage_error(NO_AWAIT) from None
        raise usage_error(f"%spartito: {e.msg}: {e.text.strip() if e.text else statement}") from None
    for text in notes:
        print_note(text)
    return run_statement(shell, request, run, last)


# ---- registration


def _functions(shell: Any) -> list[tuple[str, str, Callable[..., Any]]]:
    """(kind, name, function) of each magic."""
    from IPython.core.magic import no_var_expand

    @no_var_expand  # type: ignore[untyped-decorator,unused-ignore]
    def spartito(line: str, cell: str | None = None) -> Any:
        __tracebackhide__ = True
        if cell is not None:
            raise usage_error(FIRST)
        return spartito_line(shell, line)

    spartito.__doc__ = _documentation()
    return [("line_cell", "spartito", spartito), *(("line", name, _command(name)) for name in commands.COMMANDS)]


def _command(name: str) -> Callable[[str], Any]:
    def magic(line: str) -> Any:
        return commands.run(name, line)

    magic.__name__ = name
    magic.__doc__ = commands.documentation(commands.COMMANDS[name])
    return magic


def _documentation() -> str:
    return (
        "%spartito [options] statement\n%%spartito [options]\n\n"
        "Measures a statement, or the cell below its first line, which runs in this kernel as it would without it. The report "
        "appears below the cell; the value of an expression is that of the cell, too.\n\n"
        "options (those of `spartito run`):\n" + celloptions.help_text()
    )


def load(shell: Any) -> None:
    for kind, name, function in _functions(shell):
        shell.register_magic_function(function, magic_kind=kind, magic_name=name)
    cells.mark("spartito", request_cell, celloptions.check)
    cells.line_magics[:] = ["spartito", *commands.COMMANDS]
    completion.load(shell)


def unload(shell: Any) -> None:
    cells.unmark("spartito")
    completion.unload(shell)
    for kind, name, _ in _functions(shell):
        for table in ("line", "cell"):
            if table in kind:
                shell.magics_manager.magics[table].pop(name, None)
