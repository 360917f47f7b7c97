# SPDX-License-Identifier: BSD-3-Clause
#: visits  before 1; after 2; leaf 14; inside 1
#: processes 2
#: inherits  inside 1
# Parent and child both return through the frame that forked and end normally.
import os
import sys


def leaf():
    return 1


def before():
    for _ in range(4):
        leaf()


def inside():
    return os.fork()


def after():
    for _ in range(5):
        leaf()


before()
pid = inside()
after()
if pid:
    os.waitpid(pid, 0)
    print("parent")
else:
    sys.stderr.flush()
