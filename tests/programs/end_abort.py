# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 1; leaf 50000
#: abrupt
import os
import resource


def leaf(n):
    return n


def work():
    for n in range(50000):
        leaf(n)


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
work()
print("before", flush=True)
os.abort()
