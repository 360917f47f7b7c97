# SPDX-License-Identifier: BSD-3-Clause
#: options  --io
#: visits  main 1; reader 8; writer 8
#: threads  MainThread 1
#: locations  17
# Sixteen threads with reads and writes that wait for each other without the GIL: each call is below its own caller.
import os
import threading

ROUNDS = 200


def reader(fd):
    for _ in range(ROUNDS):
        os.read(fd, 1)


def writer(fd):
    for _ in range(ROUNDS):
        os.write(fd, b"x")


def main():
    threads = []
    for _ in range(8):
        r, w = os.pipe()
        threads += [threading.Thread(target=reader, args=(r,)), threading.Thread(target=writer, args=(w,))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


main()
print("done")
