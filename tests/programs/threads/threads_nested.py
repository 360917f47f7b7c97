# SPDX-License-Identifier: BSD-3-Clause
#: visits  parent 4; child 8; add 80
#: locations 13
import threading


def add(box):
    box.append(1)


def child(box):
    for _ in range(10):
        add(box)


def parent(box):
    threads = [threading.Thread(target=child, args=(box,)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


box = []
threads = [threading.Thread(target=parent, args=(box,)) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(len(box))
