# SPDX-License-Identifier: BSD-3-Clause
#: visits  write 3
#: side  out-0.txt out-1.txt out-2.txt
import sys


def write(n):
    with open(f"out-{n}.txt", "w") as f:
        f.write(f"{n} {sys.argv[1:]} {__name__} {sys.flags.optimize}\n")


for n in range(3):
    write(n)
