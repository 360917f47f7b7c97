# SPDX-License-Identifier: BSD-3-Clause
#: visits  first 3; second 3; changing 0
#: note  a region is named after the code object, not after the function object
def first():
    return 1


def second():
    return 2


def changing():
    return 0


for code in (first.__code__, second.__code__):
    changing.__code__ = code
    print([changing() for _ in range(3)])
