# SPDX-License-Identifier: BSD-3-Clause
"""What an MPI's compiler gives to the C compiler: flags.py COMPILER compile|link. Nothing, and a status of 1, where it
cannot be asked."""

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
