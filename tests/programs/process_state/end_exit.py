# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 10; main 1
#: exit 3
import sys


def leaf():
    return 1


def main():
    for _ in range(10):
        leaf()
    sys.exit(3)


main()
