# SPDX-License-Identifier: BSD-3-Clause
#: python 3.11-
#: visits  down 50000
#: slow
# Since 3.11 a Python call takes no C stack: the main thread's 8 MiB are enough, and must stay so.
import sys


def down(n):
    return 0 if n == 1 else 1 + down(n - 1)


sys.setrecursionlimit(60000)
print(down(50000))
