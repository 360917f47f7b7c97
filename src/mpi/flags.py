# SPDX-License-Identifier: BSD-3-Clause
"""Prints the flags that an MPI compiler wrapper passes to the C compiler or the linker, one a line.

    flags.py COMPILER compile|link|standard

standard: those of compile, but first the directory in which Open MPI keeps the mpi.h of the standard binary interface.
If `COMPILER -show` fails, it prints nothing and the status is 1."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys


def main() -> int:
    compiler, what = sys.argv[1:]
    done = subprocess.run([compiler, "-show"], capture_output=True, text=True)
    if done.returncode:
        return 1
    words = shlex.split(done.stdout)[1:]
    wanted = ("-L", "-l", "-Wl,") if what == "link" else ("-I", "-D")
    for word in words if what == "standard" else ():
        path = os.path.join(word[2:], "standard_abi")
        if word.startswith("-I") and os.path.exists(os.path.join(path, "mpi.h")):
            print("-I" + path)
    for word in words:
        if word.startswith(wanted):
            print(word)
    return 0


sys.exit(main())
