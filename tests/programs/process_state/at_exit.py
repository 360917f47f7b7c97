# SPDX-License-Identifier: BSD-3-Clause
#: visits  last 1; leaf 5; Late.__del__ 1
import atexit


def leaf():
    return 1


def last():
    for _ in range(5):
        leaf()
    print("last")


class Late:
    def __del__(self):
        print("late")


late = Late()
atexit.register(last)
print("end")
del late
