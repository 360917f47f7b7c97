# SPDX-License-Identifier: BSD-3-Clause
#: options  --trace-memory 4M --when-full stop
#: visits  work 1; leaf 1000000
#: trace-incomplete
#: slow
# The trace stops at the limit. The profile continues and stays exact, and every dropped event is counted.
def leaf(n):
    return n


def work():
    for n in range(1000000):
        leaf(n)


work()
print("end")
