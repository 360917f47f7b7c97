# SPDX-License-Identifier: BSD-3-Clause
"""Prints the flags that an MPI compiler wrapper passes to the C compiler or the linker, one a line.

    flags.py COMPILER compile|link

If `COMPILER -show` fails, it prints nothing and the status is 1."""

from __future__ import annotations

import shlex
import subprocess
import sys


def main() -> int:
    compiler, what = sys.argv[1:]
    done = subprocess.run([compiler, "-show"], capture_output=True, text=True)
    if done.returncode:
        return 1
    words = shlex.split(done.stdout)[1:]
    wanted = ("-I", "-D") if what == "compile" else ("-L", "-l", "-Wl,")
    for word in words:
        if word.startswith(wanted):
            print(word)
    return 0


sys.exit(main())
