# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 2; down 120002
#: slow
# Threads with C stacks too small for the frame evaluator: the recorder changes to another hook in the middle of a thread,
# below the frame of threading.Thread.run.
import sys
import threading


def down(n):
    return down(n - 1) + 1 if n else 0


def main():
    depths.append(down(60000))


sys.setrecursionlimit(1 << 30)
threading.stack_size(64 << 20)
depths = []
threads = [threading.Thread(target=main) for _ in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(depths)
