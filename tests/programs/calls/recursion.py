# SPDX-License-Identifier: BSD-3-Clause
#: visits  fib 1973; even 51; odd 50; ackermann 92
#: callers  fib by fib 1972; odd by even 50; even by odd 50
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


print(fib(15), even(100), ackermann(2, 3), ackermann(2, 3) + ackermann(1, 1))
