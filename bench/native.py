# SPDX-License-Identifier: BSD-3-Clause
"""What -finstrument-functions costs a call, in ns: python bench/native.py

A call that does nothing, as it is; instrumented with nothing measured; filtered out; measured; measured with a trace."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SPARTITO = [sys.executable, "-m", "spartito"]
CALLS = 10_000
PROGRAM = f"import ctypes; f = ctypes.CDLL('./lib.so').calls; f.restype = ctypes.c_double; print(f(ctypes.c_long({CALLS})))"
WAYS = (
    ("a call as it is", False, None),
    ("instrumented, nothing measured", True, None),
    ("left out by the filter", True, ["--exclude", "function:leaf"]),
    ("profile", True, []),
    ("profile and trace", True, ["--trace"]),
)


def measure(where: str, instrumented: bool, options: "list[str] | None") -> float:
    compiler = [*SPARTITO, "cc"] if instrumented else ["cc"]
    flags = ["-O2", "-shared", "-fPIC", os.path.join(HERE, "native.c"), "-o", os.path.join(where, "lib.so")]
    subprocess.run([*compiler, *flags], check=True)
    before = [] if options is None else [*SPARTITO, "run", "-q", *options, "-o", os.path.join(where, "x"), "--"]
    done = subprocess.run([*before, sys.executable, "-c", PROGRAM], cwd=where, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


for name, instrumented, options in WAYS:
    with tempfile.TemporaryDirectory() as where:
        print(f"{name:<32}{measure(where, instrumented, options):8.1f} ns")
