# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 1
#: processes 3
# -I ignores PYTHON* variables, -E too; both children still belong to the run.
import subprocess
import sys


def main():
    for flag in ("-I", "-E"):
        subprocess.run([sys.executable, flag, "-c", "print(sum(range(10)))"], check=True)


main()
