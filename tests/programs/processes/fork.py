# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 160; child 3; parent 1
#: processes 4
#: inherits  parent 3
import os


def leaf():
    return 1


def child():
    for _ in range(20):
        leaf()


def parent():
    for _ in range(100):
        leaf()
    for n in range(3):
        pid = os.fork()
        if pid == 0:
            child()
            os._exit(n)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


parent()
