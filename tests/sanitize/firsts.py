# SPDX-License-Identifier: BSD-3-Clause
"""firsts.py DIRECTORY [OPTION…]: threads that call the same functions for the first time together, raise exceptions, run
generators, and run tasks of which most have no separate record. The options are those of spartito.measure()."""

import asyncio
import sys
import threading

import spartito

THREADS, FUNCTIONS, CALLS, TASKS = 4, 40, 5, 50
VALUES = {"lines": "many:f*", "label": "args"}  # of the other options: true
SOURCE = "".join(
    f"def f{i}(n, items=()):\n    return n + len(items)\n"
    f"def g{i}(n):\n    yield n\n    yield f{i}(n)\n"
    f"def h{i}(n):\n    raise ValueError(n)\n"
    for i in range(FUNCTIONS)
)


async def nap():
    await asyncio.sleep(0)


async def naps():
    await asyncio.gather(*(nap() for _ in range(TASKS)))


def works(names, together, shared):
    together.wait()
    for i in range(FUNCTIONS):
        for n in range(CALLS):
            names[f"f{i}"](n, shared)
            list(names[f"g{i}"](n))
            try:
                names[f"h{i}"](n)
            except ValueError:
                pass
    asyncio.run(naps())


def main():
    directory, *options = sys.argv[1:]
    names = {"__name__": "many"}
    exec(compile(SOURCE, "many.py", "exec"), names)
    together = threading.Barrier(THREADS)
    with spartito.measure(directory, task_limit=10, **{name: VALUES.get(name, True) for name in options}):
        threads = [threading.Thread(target=works, args=(names, together, list(range(100)))) for _ in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    print("over")


main()
