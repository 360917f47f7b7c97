# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 20; leaf 40
#: hooks  evalframe monitoring
import cProfile
import pstats


def leaf():
    return 1


def work():
    return leaf() + leaf()


profile = cProfile.Profile()
profile.enable()
for _ in range(20):
    work()
profile.disable()
print(sorted((name, calls[0]) for (_, _, name), calls in pstats.Stats(profile).stats.items() if name in ("work", "leaf")))
