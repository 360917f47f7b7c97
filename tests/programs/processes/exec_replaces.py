# SPDX-License-Identifier: BSD-3-Clause
#: visits  before 10; after 20
#: processes 2
# exec replaces the program of the process: the experiment has a second file with the same process id.
import os
import sys


def before():
    return 1


def after():
    return 2


if len(sys.argv) > 1:
    for _ in range(20):
        after()
    print("second image")
else:
    for _ in range(10):
        before()
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, __file__, "again"])
