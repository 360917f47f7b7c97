# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 10
#: locations 11
import _thread
import time


def work(lock):
    counts.append(1)
    lock.release()


counts = []
for _ in range(10):
    lock = _thread.allocate_lock()
    lock.acquire()
    _thread.start_new_thread(work, (lock,))
    lock.acquire()
time.sleep(0.05)
print(len(counts))
