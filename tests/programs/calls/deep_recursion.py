# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 1; down 60000
#: slow
# 50,000 frames with a raised limit. Before Python 3.11 each frame needs C stack: the thread has a large one.
import sys
import threading


def down(n):
    return 0 if n == 1 else 1 + down(n - 1)


def main():
    print(down(50000), down(10000))


sys.setrecursionlimit(1000000)
threading.stack_size(1 << 29)
t = threading.Thread(target=main)
t.start()
t.join()
