# SPDX-License-Identifier: BSD-3-Clause
"""races.py [DIRECTORY HOOK]: threads that call Python and C functions, start others, wait for the GIL, read files and end. The main
thread pauses and resumes their measurement; with DIRECTORY it begins and ends measurements there."""

import os
import sys
import threading

import spartito

TURNS = 20
over = threading.Event()


def leaf(n):
    return n + 1


def works():
    while not over.is_set():
        for n in range(100):
            leaf(n)
        sorted(range(50), key=lambda x: -x)
        with open(os.devnull, "rb") as f:
            f.read(1)
        with spartito.region("mine"):
            leaf(1)


def begins_others():
    while not over.is_set():
        t = threading.Thread(target=leaf, args=(1,))
        t.start()
        t.join()


def main():
    threads = [threading.Thread(target=works) for _ in range(2)] + [threading.Thread(target=begins_others)]
    for t in threads:
        t.start()
    for i in range(TURNS):
        if sys.argv[1:]:
            directory, hook = sys.argv[1:]
            with spartito.measure(
                os.path.join(directory, str(i)), hook=hook, trace=bool(i % 2), c_calls=i % 3 > 0 and hook != "evalframe"
            ):
                leaf(i)
        else:
            spartito.pause()
            leaf(i)
            spartito.resume()
    over.set()
    for t in threads:
        t.join()
    print("over")


main()
