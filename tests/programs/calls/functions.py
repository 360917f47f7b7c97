# SPDX-License-Identifier: BSD-3-Clause
#: visits  main 1; add 1000; twice 500; outer 10; outer.<locals>.inner 30; default 3
#: callers  add by twice 1000; twice by main 500; outer.<locals>.inner by outer 30
def add(a, b):
    return a + b


def twice(a):
    return add(a, a) + add(a, 1)


def outer():
    def inner(x):
        return x

    return inner(1) + inner(2) + inner(3)


def default(*args, key=None, **more):
    return len(args), key, sorted(more)


def main():
    total = 0
    for i in range(500):
        total += twice(i)
    for _ in range(10):
        total += outer()
    print(total, default(), default(1, key=2), default(*range(5), z=1, y=2))


main()
