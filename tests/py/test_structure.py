# SPDX-License-Identifier: BSD-3-Clause
"""The structure of the tree: who includes whom, what the hot path may call, how long a file and a function may be."""

import ast
import os
import re
import shutil
import subprocess
import sysconfig

import pytest
from conftest import ROOT

SRC = ROOT / "src"
# Only extension modules see Python.h.
PYTHON_FOLDERS = ("hook", "analyse")
PYTHON_FILES = {"sample/control/module.c", "sample/control/run.c", "sample/control/run.h"}
MOST_SOURCES, MOST_TESTS = 25, 40
SOURCES = sorted([*SRC.rglob("*.[ch]"), *(ROOT / "include").rglob("*.h")])
# What the files that run for each event may call, beside Spartito's own functions and the interpreter. Nothing here
# allocates, locks, prints or sets errno for an event; the pthread functions say once for a thread where its C stack ends.
HOT = ("hook/events/evalframe.c", "hook/events/monitoring.c", "hook/events/setprofile.c")
ALLOWED = re.compile(r"^(sp_\w+|_?Py\w+|_GLOBAL_OFFSET_TABLE_|__tls_get_addr|mem(cpy|set|cmp|move)|str(n?cmp|len)|clock_gettime"
                     r"|__stack_chk_fail|pthread_self|pthread_getattr_np|pthread_attr_(getstack|destroy))$")
LONGEST_FILE, LONGEST_FUNCTION = 600, 60


def folders():
    """What each folder of src/ may include beside itself: the table of docs/architecture.md. Names end in .h for one header; a
    folder's name stands for the headers that lie in it, not for those of folders in it."""
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


def circle(edges):
    """The names along a circle of a graph, given as {name: names}; empty without one."""
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


def test_no_circle_of_folders_or_headers():
    edges = {name: {os.path.dirname(m) if m.endswith(".h") else m for m in may} - {name} for name, may in FOLDERS.items()}
    assert not circle(edges)
    headers = {str(p.relative_to(SRC)): set(included(p)) for p in SOURCES if p.suffix == ".h" and SRC in p.parents}
    assert len(headers) > 50 and not circle(headers)


def test_a_folder_can_be_overlooked():
    for folder in [SRC, *(p for p in SRC.rglob("*") if p.is_dir())]:
        sources = [p for p in folder.iterdir() if p.suffix in (".c", ".h")]
        assert len(sources) <= MOST_SOURCES, folder


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
    """(name, lines) of each function; the style puts its braces at the start of a line."""
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
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE, path
        long = [(name, lines) for name, lines in c_functions(path) if lines > LONGEST_FUNCTION + 2]
        assert not long, f"{path}: {long}"


def test_sizes_of_python():
    for path in sorted([*(ROOT / "python").rglob("*.py"), *(ROOT / "tests" / "py").glob("*.py")]):
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
