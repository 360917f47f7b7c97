# SPDX-License-Identifier: BSD-3-Clause
"""The structure of the source tree: which folder includes which, what the hot path may call, and the maximum length of files and
functions."""

import ast
import os
import re
import shutil
import subprocess
import sysconfig

import pytest
from conftest import ROOT

SRC = ROOT / "src"
# only extension modules include Python.h
PYTHON_FOLDERS = ("hook", "analyse")
PYTHON_FILES = {"sample/control/module.c", "sample/control/run.c", "sample/control/run.h"}
MAX_SOURCES, MAX_TESTS = 25, 40
SOURCES = sorted([*SRC.rglob("*.[ch]"), *(ROOT / "include").rglob("*.h")])
# Functions that the files of the hot path may call, except Spartito's own and the interpreter's. None of these allocates, locks,
# prints or sets errno at an event. The pthread functions find the end of the C stack, once for each thread.
HOT = ("hook/events/evalframe.c", "hook/events/monitoring.c", "hook/events/setprofile.c")
ALLOWED = re.compile(r"^(sp_\w+|_?Py\w+|_GLOBAL_OFFSET_TABLE_|__tls_get_addr|mem(cpy|set|cmp|move)|str(n?cmp|len)|clock_gettime"
                     r"|__stack_chk_fail|pthread_self|pthread_getattr_np|pthread_attr_(getstack|destroy))$")
LONGEST_FILE, LONGEST_FUNCTION, LONGEST_HEADER = 600, 60, 250
LONG_HEADERS = {"src/format/format.h": "the raw format is described in one place, as FORMAT.md is"}


def folders():
    """{folder of src/: what it may include besides itself}, from the table of docs/architecture.md. A name with .h is one header;
    the name of a folder means its headers, without those of its subfolders."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `src/([\w/]+)` \|.*\| (.+?) \|$", text, re.MULTILINE)
    return {name: set() if may == "–" else {item.strip("` ") for item in may.split(",")} for name, may in rows}


FOLDERS = folders()


def included(path):
    return re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', path.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("folder", sorted({str(p.parent.relative_to(SRC)) for p in SOURCES if SRC in p.parents}))
def test_includes_go_one_way(folder):
    allowed = FOLDERS[folder]
    for path in sorted((SRC / folder).glob("*.[ch]")):
        for name in included(path):
            if name in ("Python.h", "structmember.h", "frameobject.h") or name.startswith(("internal/pycore", "cpython/")):
                inside = folder.split("/")[0] in PYTHON_FOLDERS or str(path.relative_to(SRC)) in PYTHON_FILES
                assert inside, f"{path}: {name} outside {PYTHON_FOLDERS}"
            if (SRC / name).is_file():
                place = os.path.dirname(name)
                assert place == folder or place in allowed or name in allowed, f"{path} must not include {name}"
            elif (ROOT / "include" / name).exists():
                assert name in allowed, f"{path} must not include {name}"


def cycle(edges):
    """The names along a cycle of a graph {name: names}; empty without a cycle."""
    done, way = set(), []

    def visit(name):
        if name in way:
            return [*way[way.index(name):], name]
        if name in done:
            return []
        way.append(name)
        found = next(filter(None, map(visit, sorted(edges.get(name, ())))), [])
        way.pop()
        done.add(name)
        return found

    return next(filter(None, map(visit, sorted(edges))), [])


def test_no_cycle_of_folders_or_headers():
    edges = {name: {os.path.dirname(m) if m.endswith(".h") else m for m in may} - {name} for name, may in FOLDERS.items()}
    assert not cycle(edges)
    headers = {str(p.relative_to(SRC)): set(included(p)) for p in SOURCES if p.suffix == ".h" and SRC in p.parents}
    assert len(headers) > 50 and not cycle(headers)


def python_modules():
    """{name: path} of the modules of the package spartito; an extension module has the path of its stub."""
    found = {}
    for path in [*(ROOT / "python" / "spartito").rglob("*.py"), *(ROOT / "python" / "spartito").glob("_*.pyi")]:
        parts = path.relative_to(ROOT / "python").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def python_imports(path, modules):
    """The modules of Spartito that a module imports anywhere, also in functions, but not under TYPE_CHECKING."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {name if (name := f"{node.module}.{a.name}") in modules else node.module for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
    return found & set(modules)


# the packages of python/spartito: each imports only those before it. Modules beside them, such as spartito.user, may import all.
PACKAGES = (
    "base", "options", "experiments", "report", "compare", "picture", "sample", "run", "view", "results", "middleware", "notebook",
    "pytest", "compat", "cli",
)


def test_python_imports_go_one_way():
    modules = python_modules()
    edges = {name: python_imports(path, modules) - {name} for name, path in modules.items()}
    assert len(edges) > 100 and not cycle(edges)
    below = ("_measure", "_analyse", "_sample", "_version", "_build")

    def rank(name):
        parts = name.split(".")
        if len(parts) < 2 or (parts[1] not in PACKAGES and parts[1] not in below):
            return None
        return -1 if parts[1] in below else PACKAGES.index(parts[1])

    for name, imported in edges.items():
        for other in imported:
            if rank(name) is not None and rank(other) is not None:
                assert rank(other) <= rank(name), f"{name} must not import {other}"
    assert {p.name for p in (ROOT / "python" / "spartito").iterdir() if p.is_dir() and list(p.glob("*.py"))} == set(PACKAGES)


# The folders of viewer/src: each imports only from itself and those before it. The files beside them are the entry points.
VIEWER_FOLDERS = ("data", "calltree", "draw", "state", "parts", "page", "charts", "timeline", "views", ".")


def test_viewer_imports_go_one_way():
    """Also for imports of types."""
    source = ROOT / "viewer" / "src"
    files = {str(p.relative_to(source)): p for p in source.rglob("*") if p.suffix in (".ts", ".tsx", ".css")}
    edges = {}
    for name, path in files.items():
        found = re.findall(r"""(?:from|import\(?)\s*["'](\.[^"']+)["']""", path.read_text(encoding="utf-8"))
        named = [os.path.normpath(os.path.join(os.path.dirname(name), target)) for target in found]
        edges[name] = {target + end for target in named for end in ("", ".ts", ".tsx") if target + end in files}
        assert len(edges[name]) == len(set(named)), f"viewer/src/{name} imports what is not there"
    assert sum(map(len, edges.values())) > 200 and not cycle(edges)
    for name, imported in edges.items():
        for other in imported:
            here, there = (VIEWER_FOLDERS.index(os.path.dirname(n) or ".") for n in (name, other))
            assert there <= here, f"viewer/src/{name} must not import {other}"


def test_a_folder_can_be_overlooked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    assert listed.returncode == 0
    folders = {}
    for name in listed.stdout.splitlines():
        if name.endswith((".c", ".h", ".py", ".pyi", ".ts", ".tsx", ".css")) and (ROOT / name).exists():
            folders.setdefault(os.path.dirname(name), []).append(name)
    for folder, names in folders.items():
        many = [name for name in names if os.path.basename(name) != "__init__.py"]
        maximum = MAX_TESTS if {"test", "tests"} & set(folder.split("/")) else MAX_SOURCES
        assert len(many) <= maximum, f"{folder}: {len(many)} files"


@pytest.mark.parametrize("source", HOT)
def test_hot_path_calls_nothing_unexpected(source, tmp_path):
    compiler, nm = shutil.which(os.environ.get("CC", "cc")), shutil.which("nm")
    assert compiler and nm
    obj = tmp_path / "hot.o"
    subprocess.run([compiler, "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-c",
                    f"-I{SRC}", f"-I{ROOT / 'include'}", f"-I{sysconfig.get_path('include')}", str(SRC / source), "-o",
                    str(obj)], check=True)
    symbols = subprocess.run([nm, "-u", str(obj)], check=True, capture_output=True, text=True).stdout.split()
    strange = sorted(s for s in set(symbols) - {"U", "w"} if not ALLOWED.match(s))
    assert not strange


def c_functions(path):
    """(name, lines) of each function: in this style its braces are at the start of a line."""
    start = head = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            yield head, number - start + 1
            start = None
        elif re.match(r"[A-Za-z_].*\(", line):
            head = line
    assert start is None, f"{path}: brace at line {start} not closed"


def test_sizes_of_c():
    for path in SOURCES:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        short = path.suffix == ".h" and str(path.relative_to(ROOT)) not in LONG_HEADERS
        assert lines <= (LONGEST_HEADER if short else LONGEST_FILE), path
        long = [(name, lines) for name, lines in c_functions(path) if lines > LONGEST_FUNCTION + 2]
        assert not long, f"{path}: {long}"


def test_sizes_of_python():
    for path in sorted([*(ROOT / "python").rglob("*.py"), *(ROOT / "tests" / "py").rglob("*.py")]):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= LONGEST_FILE, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno < LONGEST_FUNCTION + 10, f"{path}: {node.name}"


def test_every_file_has_its_licence():
    command = ["git", "ls-files", "*.c", "*.h", "*.py", "*.sh", "meson.build"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    paths = listed.stdout.split() if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in SOURCES]
    for name in paths:
        path = ROOT / name
        if path.exists() and path.stat().st_size:
            with open(path, encoding="utf-8") as f:
                head = f.readline() + f.readline()
            assert "SPDX-License-Identifier: BSD-3-Clause" in head, name


def test_documents_name_files_that_exist():
    """Links, and paths in code spans that begin with a folder of the tree. x and FOLDER are placeholders."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert len(listed) > 30
    for name in listed:
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"
        for path in re.findall(r"`((?:src|python|tests|tools|docs|viewer|bench|dropin|include)/[\w./+-]+)`", text):
            if re.search(r"(^|/)(test_write_)?x\.|FOLDER", path):
                continue
            assert (ROOT / path).exists(), f"{name}: {path}"
