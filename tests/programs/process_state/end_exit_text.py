# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 1
#: exit 1
import sys


def main():
    sys.exit("a message")


main()
