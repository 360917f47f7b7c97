# SPDX-License-Identifier: BSD-3-Clause
#: options  --exclude "*:leaf" --exclude "__main__:Noise.*"
#: visits  work 10; kept 30
#: expect-none  leaf; Noise.a; Noise.b
#: callers  kept by work 30
class Noise:
    def a(self):
        return 1

    def b(self):
        return 2


def leaf():
    return kept()


def kept():
    return 1


def work():
    Noise().a()
    Noise().b()
    return leaf() + leaf() + leaf()


print(sum(work() for _ in range(10)))
