# SPDX-License-Identifier: BSD-3-Clause
#: visits  down 100; leaf 10000; work 1
#: abrupt
# Killed with 100 open frames in each of two running threads: every open frame is recorded with its visit.
import os
import threading


def leaf(n):
    return n


def down(n):
    if n > 1:
        return down(n - 1)
    for i in range(5000):
        leaf(i)
    os.kill(os.getpid(), 9)


def work():
    for i in range(5000):
        leaf(i)


t = threading.Thread(target=work)
t.start()
t.join()
down(100)
