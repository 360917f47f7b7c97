# SPDX-License-Identifier: BSD-3-Clause
#: visits  count 4; relay 1; thrown 1; closed 1; never 0; abandoned 1; echo 1; failing 1; leaf 1; trunk 1
#: resumed  count 24; relay 11; thrown 2; closed 2; abandoned 3; echo 3; failing 1; leaf 3; trunk 2
#: note  count: 3 full runs of 5 (5 resumptions each) and the one of relay (9 + 0); see the comments
import gc


def count(n):
    for i in range(n):
        yield i


def relay():
    got = yield from count(9)  # 9 resumptions of each, the tenth entry being the first
    yield got
    yield "end"


def thrown():
    try:
        yield 1
    except KeyError:
        yield 2


def closed():
    try:
        yield 1
        yield 2
    finally:
        pass


def never():
    yield 1


def abandoned():
    try:
        while True:
            yield 1
    finally:
        pass


def echo():
    x = yield
    while x:
        x = yield x


def failing():
    yield 1
    raise ValueError


def leaf():
    try:
        yield 1
        yield 2
    except KeyError:
        yield 3


def trunk():
    yield from leaf()


print([sum(count(5)) for _ in range(3)], list(relay()))
g = thrown()
print(next(g), g.throw(KeyError), next(g, None))
g = closed()
print(next(g), next(g), g.close())
g = never()
g.close()
del g
never()
g = abandoned()
print(next(g), next(g), next(g))
del g
gc.collect()
g = echo()
print(next(g), g.send(1), g.send(2), next(g, None))
g = failing()
try:
    print(next(g), next(g))
except ValueError:
    print("failed")
g = trunk()
print(next(g), next(g), g.throw(KeyError), next(g, None))
