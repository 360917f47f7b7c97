# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of memory: runs programs, and finds their allocations by line."""

import subprocess
import sys

from commandline import run
from spartito.analysis import Model

LIBC = """import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
kinds = dict(malloc="z", calloc="zz", realloc="pz", free="p", aligned_alloc="zz", valloc="z", reallocarray="pzz")
for name, kinds in kinds.items():
    f = getattr(libc, name)
    f.restype = None if name == "free" else ctypes.c_void_p
    f.argtypes = [dict(z=ctypes.c_size_t, p=ctypes.c_void_p)[k] for k in kinds]
"""


class Memory:
    """found: Model.memory(). A line is named by the comment at its end, as in `p = malloc(1)  # one`."""

    def __init__(self, directory, text=""):
        self.model = Model(str(directory))
        self.found = self.model.memory()
        self.lines = {}
        for number, line in enumerate(text.splitlines(), 1):
            if "  # " in line:
                self.lines[line.rsplit("  # ", 1)[1].strip()] = number

    def sites(self, mark, allocator=None):
        line = self.lines[mark]
        return [s for s in self.found["sites"]
                if s["line"] == line and s["file"].endswith("program.py") and allocator in (None, s["allocator"])]

    def sum(self, mark, what, allocator="malloc"):
        return sum(s[what] for s in self.sites(mark, allocator))

    def numbers(self, mark, allocator="malloc"):
        return tuple(self.sum(mark, what, allocator) for what in ("count", "bytes", "freed", "freed_bytes"))


def recorded(spartito, cwd, text, *options, env=None, status=0, name="x"):
    """Runs a program; returns its Memory, with the program's output as `stdout`. The output must equal that of a run without
    Spartito."""
    (cwd / "program.py").write_text(text)
    if not any(str(o).startswith("--memory") or str(o).startswith("--limit") for o in options):
        options = ("--memory-profile", *options)
    done = run(spartito, "run", "-q", *options, "-o", cwd / name, "--", sys.executable, cwd / "program.py", cwd=cwd, env=env)
    assert done.returncode == status, done.stderr
    plain = subprocess.run([sys.executable, cwd / "program.py"], cwd=cwd, env=env, capture_output=True, text=True)
    assert plain.stdout == done.stdout
    m = Memory(cwd / name, text)
    m.stdout = done.stdout
    return m
