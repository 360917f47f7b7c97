# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 3; catch 3
#: free  down
import sys


def down(n):
    return down(n + 1)


def catch():
    try:
        down(0)
    except RecursionError as e:
        return str(e)[:32]


def main():
    print(catch())


sys.setrecursionlimit(400)
for _ in range(3):
    main()
