# SPDX-License-Identifier: BSD-3-Clause
#: needs greenlet
#: trace-more
#: visits  ping 1; pong 1; step 10; deep 30; killed 1
#: resumed  ping 0; pong 0
import greenlet


def step(n):
    return n + 1


def deep(n, other):
    if n == 0:
        other.switch()
        return 0
    return deep(n - 1, other)


def ping():
    for _ in range(5):
        step(1)
        other.switch()
    deep(14, other)


def pong():
    while True:
        step(2)
        if one.dead:
            return
        if len(log) == 4:
            deep(14, one)
        log.append(1)
        one.switch()


def killed():
    greenlet.getcurrent().parent.switch()


log = []
one, other = greenlet.greenlet(ping), greenlet.greenlet(pong)
one.switch()
k = greenlet.greenlet(killed)
k.switch()
k.throw()
print(log, k.dead)
