# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 50; leaf 5000; start_all 1
#: callers  leaf by work 5000
#: threads  MainThread 1; worker-0 1; worker-7 1; worker-49 1
#: locations 51
import threading


def leaf(n):
    return n + 1


def work(n):
    for _ in range(100):
        n = leaf(n)
    results.append(n)


def start_all():
    threads = [threading.Thread(target=work, args=(i,), name=f"worker-{i}") for i in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


results = []
start_all()
print(sorted(results))
