# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 1; helper 25
#: note  with -S the interpreter reads no start-up files: that child is not measured
#: processes 3
import subprocess
import sys


def helper():
    return 1


def main():
    code = "def helper(): return 1\nfor _ in range(7): helper()\nprint(sum(helper() for _ in range(3)))"
    for flags in ([], ["-S"], ["-O"]):
        print(subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True).stdout)
    for _ in range(5):
        helper()


main()
