# SPDX-License-Identifier: BSD-3-Clause
#: options  --depth 3 --only-mine
#: visits  one 5; two 5
#: expect-none  three; four
#: note  <module> is at depth 1
def one():
    return two()


def two():
    return three()


def three():
    return four()


def four():
    return 1


print(one() + one() + one() + one() + one())
