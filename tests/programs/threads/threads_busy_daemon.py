# SPDX-License-Identifier: BSD-3-Clause
#: visits  forever 3
#: note  step has no exact count; the threads are in the middle of it when the interpreter ends
#: free  step
#: crashes-alone[3.10]  1 of 100 plain runs of 3.10.13 with the machine busy: a daemon thread wakes in a freed interpreter
import threading
import time


def step(n):
    return n + 1


def forever():
    begun.append(1)
    n = 0
    while True:
        n = step(n)


begun = []
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
while len(begun) < 3:
    time.sleep(0.2)
print("end")
