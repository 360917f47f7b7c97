# SPDX-License-Identifier: BSD-3-Clause
#: python 3.11-
#: visits  down 50000
#: slow
# From Python 3.11 on a Python call needs no C stack: the main thread's 8 MiB suffice, and must suffice when measured.
import sys


def down(n):
    return 0 if n == 1 else 1 + down(n - 1)


sys.setrecursionlimit(60000)
print(down(50000))
