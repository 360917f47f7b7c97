# SPDX-License-Identifier: BSD-3-Clause
"""Turns a cell's code into code for a script. Magics and `!commands` are omitted and reported; strings keep their text when the
code is indented."""

from __future__ import annotations

import ast
import io
import tokenize

from IPython.core.inputtransformer2 import TransformerManager

from spartito.base.messages import Refused
from spartito.compat.scorep.kernel.celltext import Cell, first_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# magics whose argument is Python code, which becomes part of the script
PYTHON = ("time", "timeit", "prun", "capture", "spartito")
ENVIRONMENT = ("env", "set_env")
MAGIC = ("run_line_magic", "run_cell_magic", "system", "getoutput")


class Code:
    def __init__(self) -> None:
        self.text = ""
        self.future: list[str] = []  # what the cell imports from __future__, which a script has at its begin
        self.variables: dict[str, str] = {}  # variables of Score-P that %env sets
        self.left_out: list[str] = []  # messages about omitted code

    def indented(self) -> str:
        """text as the body of a block."""
        text = self.text if self.text.endswith("\n") else self.text + "\n"
        inside: set[int] = set()
        only_comments = True
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
                only_comments = False
            inside.update(_within(token))
        inside.update(_within_fstrings(text))
        lines = text.split("\n")
        made = "\n".join(line if n in inside or not line.strip() else "    " + line for n, line in enumerate(lines, 1))
        return made + ("    pass\n" if only_comments else "")


def _within(token: tokenize.TokenInfo) -> range:
    """The lines that begin within a string."""
    return range(token.start[0] + 1, token.end[0] + 1) if token.type == tokenize.STRING else range(0)


def _within_fstrings(text: str) -> Iterator[int]:
    """The lines that begin within an f-string, which is several tokens from Python 3.12 on."""
    begin, end = getattr(tokenize, "FSTRING_START", None), getattr(tokenize, "FSTRING_END", None)
    if begin is None:
        return
    starts = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == begin:
            starts.append(token.start[0])
        elif token.type == end:
            yield from range(starts.pop() + 1, token.end[0] + 1)


def _shell_call(node: ast.AST) -> tuple[str, list[str]] | None:
    """(method, arguments) of `get_ipython().method("…", …)`, to which IPython translates a magic."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in MAGIC:
        return None
    shell = node.func.value
    if not isinstance(shell, ast.Call) or not isinstance(shell.func, ast.Name) or shell.func.id != "get_ipython":
        return None
    words = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return node.func.attr, words


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements that contain no other statements, in their order."""
    for child in ast.iter_child_nodes(tree):
        below = list(_statements(child))
        if below:
            yield from below
        elif isinstance(child, ast.stmt):
            yield child


def _assignment(word: str) -> tuple[str, str]:
    """NAME and value of a line of %env; two empty strings if the line only prints a variable."""
    for sep in ("=", " "):
        name, found, value = word.partition(sep)
        if found and name.strip().isidentifier():
            return name.strip(), value.strip()
    return "", ""


def _as_typed(method: str, words: list[str]) -> str:
    """The first line of a magic as the user typed it."""
    text = " ".join(words).strip().split("\n")[0]
    mark = {"run_line_magic": "%", "run_cell_magic": "%%"}.get(method, "!")
    return f"{mark}{text}"


def _replacement(code: Code, statement: ast.stmt, method: str, words: list[str]) -> str:
    """The code of the script that replaces a magic."""
    name, line = words[0] if words else "", words[1] if len(words) > 1 else ""
    if method == "run_line_magic" and isinstance(statement, ast.Expr):
        if name in ENVIRONMENT:
            variable, value = _assignment(line)
            if variable.startswith("SCOREP_"):
                code.variables[variable] = value
                return "pass"
            if variable:
                return f"os.environ[{variable!r}] = {value!r}"
        if name in PYTHON[:3] and line and not line.startswith("-"):
            return line
    code.left_out.append(f"left out of the script: {_as_typed(method, words)}")
    return f"pass  # left out: {_as_typed(method, words)}"


def _cell_magic(code: Code, cell: Cell) -> str:
    """The code of a cell below its cell magic, if that is in PYTHON."""
    name, _, below = first_line(cell.text)
    if not name:
        return cell.text
    if name in PYTHON:
        return below.text
    code.left_out.append(f"left out of the script: a cell of %%{name}")
    return ""


def _without_future(code: Code, statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        code.future += [alias.name for alias in statement.names]
        return True
    return False


def plain(cell: Cell) -> Code:
    """The code of a cell for a script. Refused: it cannot be part of a script; the message has the line."""
    code = Code()
    text = _cell_magic(code, cell)
    if not text.strip():
        return code
    made = TransformerManager().transform_cell(text)
    try:
        tree = ast.parse(made)
        compile(made, "cell", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as e:
        raise Refused(_why(made, e)) from None
    lines = made.split("\n")
    for statement in sorted(_statements(tree), key=lambda s: s.lineno, reverse=True):
        call = next(filter(None, map(_shell_call, ast.walk(statement))), None)
        if call:
            new = _replacement(code, statement, *call)
        elif _without_future(code, statement):
            new = "pass"
        else:
            continue
        first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
        # col_offset counts bytes
        begin = lines[first].encode()[: statement.col_offset].decode()
        end = lines[last - 1].encode()[statement.end_col_offset :].decode()
        lines[first:last] = [begin + new + end]
    code.left_out.reverse()
    code.text = "\n".join(lines)
    if not [s for s in ast.parse(code.text).body if not isinstance(s, ast.Pass)] and "#" not in code.text:
        code.text = ""
    return code


def _why(text: str, error: Exception) -> str:
    try:
        compile(text, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        line = getattr(error, "lineno", None)
        return f"the cell is not written to the script: {error.args[0]}" + (f" (line {line})" if line else "")
    return "the cell is not written to the script: it waits (await) outside of a function, which a script cannot"
