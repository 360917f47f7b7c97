# SPDX-License-Identifier: BSD-3-Clause
#: visits  forever 2; step 20
#: threads  MainThread 1; endless-0 1; endless-1 1
# Daemon threads still run when the interpreter ends.
import threading
import time


def step():
    return 1


def forever(ready):
    for _ in range(10):
        step()
    ready.set()
    while True:
        time.sleep(0.05)


for n in range(2):
    event = threading.Event()
    threading.Thread(target=forever, args=(event,), name=f"endless-{n}", daemon=True).start()
    event.wait()
print("end")
