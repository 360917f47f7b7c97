# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 1500; leaf 3000
#: locations 1501
#: slow
# Many threads, one after the other: the memory kept for an ended thread must be small.
import threading


def leaf():
    return 1


def work():
    done.append(leaf() + leaf())


done = []
for _ in range(1500):
    t = threading.Thread(target=work)
    t.start()
    t.join()
print(sum(done))
