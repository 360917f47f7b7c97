# SPDX-License-Identifier: BSD-3-Clause
"""Finds the functions that -p names, without importing the program: parses the script and the modules that it imports."""

from __future__ import annotations

import ast
import os
import re
import sys
from importlib.machinery import PathFinder

from spartito.options.table import near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Function = ast.FunctionDef | ast.AsyncFunctionDef

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MAX_NAMES = 60_000  # characters of names in one pattern; an environment variable can have about twice that


def tree(path: str) -> ast.Module | None:
    """The syntax tree of a file. None: it cannot be read, or is no valid Python for this interpreter."""
    import warnings

    try:
        with open(path, "rb") as f, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(f.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _defined(body: Iterable[ast.AST], before: str = "") -> Iterator[tuple[str, Function]]:
    for node in body:
        if isinstance(node, FUNCTIONS):
            yield before + node.name, node
            yield from _defined(ast.iter_child_nodes(node), f"{before}{node.name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from _defined(ast.iter_child_nodes(node), f"{before}{node.name}.")
        elif isinstance(node, (ast.stmt, ast.excepthandler)):
            yield from _defined(ast.iter_child_nodes(node), before)


def first_lines(path: str) -> dict[str, int] | None:
    """First line (co_firstlineno) by qualified name of all functions of a file, without lambdas and comprehensions. None: the file
    cannot be read."""
    found = tree(path)
    if found is None:
        return None
    return {name: min(n.lineno for n in (node, *node.decorator_list)) for name, node in _defined(found.body)}


def functions(path: str) -> list[str] | None:
    """The qualified names of all functions of a file. None: it cannot be read."""
    lines = first_lines(path)
    return None if lines is None else list(lines)


def decorated(path: str) -> list[str]:
    """The functions of a script that `profile` decorates, except nested functions."""
    found = tree(path)
    names = []
    for name, node in _defined(found.body if found else ()):
        marks = (mark.attr if isinstance(mark, ast.Attribute) else getattr(mark, "id", "") for mark in node.decorator_list)
        if "profile" in marks and "<locals>" not in name:
            names.append(name)
    return names


def _literal(text: str) -> str:
    """Escapes text for an extended regular expression."""
    return re.sub(r"([][.^$*+?(){}|\\])", r"\\\1", text)


def _pattern(modules: Iterable[str], names: str) -> str:
    return f"re:^({'|'.join(_literal(m) for m in modules)}):({names})$"


def _find(name: str, places: list[str]) -> tuple[str, list[str] | None, str]:
    """Finds the module of a dotted name: (file, directories of a package, rest of the name after the module)."""
    file, inside, parts, at = "", None, name.split("."), 0
    search: list[str] | None = places
    while at < len(parts) and search is not None:
        try:
            spec = PathFinder.find_spec(".".join(parts[: at + 1]), search)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            break
        file = spec.origin if spec.has_location and spec.origin else ""
        inside = search = list(spec.submodule_search_locations) if spec.submodule_search_locations is not None else None
        at += 1
    return file, inside, ".".join(parts[at:]) if at else name


class Targets:
    """The functions that -p selects. patterns: for the setting `lines`; unknown: named targets that do not exist; script: the file
    that becomes __main__."""

    def __init__(self, script: str, places: list[str]) -> None:
        self.script = os.path.abspath(script) if script else ""
        self.places = places
        self.patterns: list[str] = []
        self.unknown: list[str] = []
        self.hints: dict[str, str] = {}  # for some unknown targets: text with a similar name that exists
        self.whole_script = False
        # (file, first line, name) of selected functions of single files, which results list even if they did not run
        self.meant: list[tuple[str, int, str]] = []
        self.files: list[tuple[str, str]] = []  # (path, module name) of selected files

    def _of_file(self, path: str, modules: list[str], below: str = "") -> None:
        """Adds the functions of a file. below: only the function or class of that name; nested functions only in the script."""
        is_script = os.path.abspath(path) == self.script
        if is_script:
            modules = ["__main__", *modules]
            self.whole_script = self.whole_script or not below
        lines = first_lines(path)
        if lines is None:
            self.unknown.append(path)
            return
        found = list(lines)
        self.files.append((path, modules[-1] if modules else ""))
        if not is_script:
            found = [name for name in found if "<locals>" not in name]
        if below:
            known = found
            found = [name for name in known if name == below or name.startswith(below + ".")]
            if not found:
                self.unknown.append(f"{modules[-1]}.{below}")
                parts = dict.fromkeys(".".join(name.split(".")[: i + 1]) for name in known for i in range(name.count(".") + 1))
                self.hints[self.unknown[-1]] = near(below, list(parts)).replace("you mean ", f"you mean {modules[-1]}.")
        self.meant += [(os.path.abspath(path), lines[name], name) for name in found if "<locals>" not in name]
        names = "|".join(map(_literal, found))
        if len(names) > MAX_NAMES:
            names = "[^<]+"
        if found:
            self.patterns.append(_pattern(dict.fromkeys(modules), names))

    def add_module(self, name: str) -> None:
        alone = name.endswith(".__init__")
        name = name[: -len(".__init__")] if alone else name
        file, inside, rest = _find(name, self.places)
        if rest == name or (not file and inside is None):
            self.unknown.append(name)
        elif rest:
            self._of_file(file, [name[: -len(rest) - 1]], rest)
        elif inside is not None and not alone:
            # a package with all its modules, also those that are imported later
            own = _literal(name)
            self.patterns.append(f"re:^{own}([.][^:]*)?:[^<]+$")
            main = os.path.join(inside[0], "__main__.py") if inside else ""
            if main and main == self.script:
                self._of_file(main, [name + ".__main__"])
        elif file.endswith((".py", ".pyw")):
            self._of_file(file, [name])
        else:
            self.unknown.append(name)

    def add_file(self, path: str) -> None:
        modules = []
        for place in self.places:
            relative = os.path.relpath(os.path.abspath(path), place or os.curdir)
            if not relative.startswith(".."):
                parts = os.path.splitext(relative)[0].split(os.sep)
                if all(part.isidentifier() for part in parts):
                    modules.append(".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts))
        if not modules:
            modules.append(os.path.splitext(os.path.basename(path))[0])
        self._of_file(path, modules)

    def add_directory(self, path: str) -> None:
        """Adds all modules in a directory: as a package if it can be imported as one, else as files."""
        whole = os.path.abspath(path)
        if self.script.startswith(os.path.join(whole, "")):
            self.whole_script = True
            self._of_file(self.script, [])
        names = [name for name in (_dotted(whole, place) for place in self.places) if name]
        self.patterns += [f"re:^{_literal(name)}([.][^:]*)?:[^<]+$" for name in dict.fromkeys(names)]
        if not names:
            self.patterns.append("file:" + "".join(f"[{c}]" if c in "*?[" else c for c in os.path.join(whole, "")) + "*")


def _dotted(path: str, place: str) -> str:
    """The module name of `path` if `place` is on the search path; "": it cannot be imported from there."""
    parts = os.path.relpath(path, place or os.curdir).split(os.sep)
    return ".".join(parts) if all(part.isidentifier() for part in parts) else ""


def split(given: Iterable[str]) -> list[str]:
    """The targets of all options -p, separated by commas unless a file has that name; an empty one removes the targets before
    it."""
    found: dict[str, None] = {}
    for chunk in given:
        if not chunk:
            found.clear()
        for word in [chunk] if os.path.isfile(chunk) else chunk.split(","):
            if word:
                found[word] = None
    return list(found)


def imported(path: str, name: str = "") -> list[str]:
    """The dotted names of all imports in a script, or in the module of that name. `from a import b` gives a.b, which need not be a
    module."""
    found: dict[str, None] = {}
    parts = name.split(".")
    if os.path.basename(path) == "__init__.py":
        parts.append("")  # __init__.py is the package, so relative imports begin in it
    for node in ast.walk(tree(path) or ast.Module(body=[], type_ignores=[])):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.name] = None
        elif isinstance(node, ast.ImportFrom) and (not node.level or node.level < len(parts)):
            package = [*parts[: len(parts) - node.level], node.module] if node.level else [node.module]
            module = ".".join(filter(None, package))
            for alias in node.names:
                found[module if alias.name == "*" else f"{module}.{alias.name}"] = None
    return list(found)


def choose(script: str, given: Iterable[str], imports: bool, preimports: bool, places: list[str]) -> Targets:
    """The targets for the given options -p. imports: also the modules that selected files import; preimports: also targets that the
    script does not import."""
    targets = Targets(script, places)
    names = imported(script) if script else []
    for word in split(given):
        if os.path.isfile(word):
            targets.add_file(word)
        elif os.path.isdir(word) and _find(word, places)[2] == word:
            targets.add_directory(word)
        elif preimports or any(f"{name}.".startswith(f"{word}.") or f"{word}.".startswith(f"{name}.") for name in names):
            targets.add_module(word)
    if imports:
        named = len(targets.unknown)
        for file, module in list(targets.files):
            if os.path.abspath(file) != targets.script:
                for name in imported(file, module):
                    targets.add_module(name)
        for name in names if targets.whole_script else ():
            targets.add_module(name)
        del targets.unknown[named:]  # imported modules without Python functions; the user did not name them
    return targets


def own_profile(path: str) -> int:
    """The line in which a script binds the name `profile` itself; 0: it does not. An import from line_profiler does not count, as
    that is Spartito's `profile`."""
    found = tree(path)
    for node in found.body if found else ():
        bound: list[str] = []
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            bound = [node.name]
        elif isinstance(node, ast.Import):
            bound = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module != "line_profiler":
            bound = [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            bound = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        if "profile" in bound:
            return node.lineno
    return 0


def on_path(script: str) -> str:
    """The path of a script: as given, or in a directory of PATH; "": not found."""
    if os.path.isfile(script):
        return script
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if place and os.path.isfile(os.path.join(place, script)):
            return os.path.join(place, script)
    return ""


def of_module(name: str, places: list[str]) -> str:
    """The file that `python -m name` runs; "": it cannot be found without an import."""
    file, inside, rest = _find(name, places)
    if rest:
        return ""
    if inside:
        main = os.path.join(inside[0], "__main__.py")
        return main if os.path.isfile(main) else ""
    return file


def search_path(first: str) -> list[str]:
    """The sys.path of the program."""
    return [first, *(p for p in sys.path[1:] if p)]
