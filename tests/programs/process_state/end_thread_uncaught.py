# SPDX-License-Identifier: BSD-3-Clause
#: visits  fail 1; leaf 5
#: stderr any
import threading


def leaf():
    return 1


def fail():
    for _ in range(5):
        leaf()
    raise KeyError("in a thread")


t = threading.Thread(target=fail)
t.start()
t.join()
print("end")
