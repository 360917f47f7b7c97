# SPDX-License-Identifier: BSD-3-Clause
#: visits  in_thread 1; leaf 13
#: processes 2
#: inherits  in_thread 1
import os
import threading


def leaf():
    return 1


def in_thread():
    leaf()
    pid = os.fork()
    if pid == 0:
        for _ in range(5):
            leaf()
        os._exit(0)
    os.waitpid(pid, 0)
    for _ in range(7):
        leaf()


t = threading.Thread(target=in_thread, name="forker")
t.start()
t.join()
print("end")
