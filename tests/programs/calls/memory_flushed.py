# SPDX-License-Identifier: BSD-3-Clause
#: options  --trace-memory 4M --when-full flush
#: visits  work 1; leaf 300000
#: slow
def leaf(n):
    return n


def work():
    for n in range(300000):
        leaf(n)


work()
print("end")
