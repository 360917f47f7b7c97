# SPDX-License-Identifier: BSD-3-Clause
"""The walls of the house: who includes whom, what the hot path may call, how long a file and a function may be."""

import ast
import os
import re
import shutil
import subprocess
import sysconfig

import pytest
from conftest import ROOT

SRC = ROOT / "src"
# what a room may include beside itself
ROOMS = {
    "base": set(),
    "record": {"base", "format/format.h", "format/checksum.h"},
    "hook": {"base", "record", "format/format.h", "spartito.h"},
    "sample": {"base", "record", "format/format.h"},
    "preload": {"wrap", "base/compiler.h", "record/adapter.h", "format/format.h"},
    "heap": {"base/compiler.h", "record/heap/heap.h", "format/format.h"},
    "clib": {"wrap", "base/compiler.h", "record/waits/clib.h", "format/format.h"},
    "wrap": {"base/compiler.h"},
    "native": {"record/adapter.h"},
    "mpi": {"base/compiler.h", "base/dynamic.h", "record/adapter.h", "format/format.h", "model/merge/merge.h"},
    "raw": {"base"},
    "model": {"base", "raw"},
    "write": {"base", "model"},
    "view": {"base", "model"},
    "analyse": {"base", "model", "view", "write", "reader/compress.h", "reader/running.h"},
}
PYTHON_ROOMS = {"hook", "analyse"}
DOORS = {"sample/control/module.c", "sample/control/run.c", "sample/control/run.h"}
SOURCES = sorted([*SRC.rglob("*.[ch]"), *(ROOT / "include").rglob("*.h")])
# What the files that run for each event may call, beside Spartito's own functions and the interpreter. Nothing here
# allocates, locks, prints or sets errno for an event; the pthread functions say once for a thread where its C stack ends.
HOT = ("hook/events/evalframe.c", "hook/events/monitoring.c", "hook/events/setprofile.c")
ALLOWED = re.compile(r"^(sp_\w+|_?Py\w+|_GLOBAL_OFFSET_TABLE_|__tls_get_addr|mem(cpy|set|cmp|move)|str(n?cmp|len)|clock_gettime"
                     r"|__stack_chk_fail|pthread_self|pthread_getattr_np|pthread_attr_(getstack|destroy))$")
LONGEST_FILE, LONGEST_FUNCTION = 600, 60


def room(path):
    return path.relative_to(SRC).parts[0]


def included(path):
    return re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', path.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("path", [p for p in SOURCES if SRC in p.parents], ids=lambda p: str(p.relative_to(SRC)))
def test_includes_go_one_way(path):
    allowed = ROOMS[room(path)]
    for name in included(path):
        if name in ("Python.h", "structmember.h", "frameobject.h") or name.startswith(("internal/pycore", "cpython/")):
            inside = room(path) in PYTHON_ROOMS or str(path.relative_to(SRC)) in DOORS
            assert inside, f"{name} outside {PYTHON_ROOMS}"
        first = name.split("/")[0]
        if (SRC / first).is_dir() and "/" in name:
            assert first == room(path) or first in allowed or name in allowed, f"{room(path)} must not include {name}"
        elif (ROOT / "include" / name).exists():
            assert name in allowed, f"{room(path)} must not include {name}"


def test_every_room_is_known():
    assert {p.name for p in SRC.iterdir() if p.is_dir()} <= set(ROOMS)


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
