# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 1; leaf 50000; end 1
#: abrupt
#: each  kill9; sigterm; abort; os_exit; segfault
import ctypes
import os
import resource
import sys


def leaf(n):
    return n


def work():
    for n in range(50000):
        leaf(n)


def end(how):
    if how == "kill9":
        os.kill(os.getpid(), 9)
    if how == "sigterm":
        os.kill(os.getpid(), 15)
    if how == "abort":
        os.abort()
    if how == "os_exit":
        os._exit(7)
    if how == "segfault":
        ctypes.string_at(0)


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
work()
print("before", flush=True)
end(sys.argv[1])
