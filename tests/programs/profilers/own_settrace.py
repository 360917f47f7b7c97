# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 30; leaf 60
#: free  tracer
import sys


def leaf():
    return 1


def work():
    return leaf() + leaf()


def tracer(frame, event, arg):
    if frame.f_code in (leaf.__code__, work.__code__):
        seen.append((event, frame.f_lineno))
        return tracer


seen = []
sys.settrace(tracer)
for _ in range(30):
    work()
sys.settrace(None)
print(len(seen), seen[:6], sys.gettrace())
