# SPDX-License-Identifier: BSD-3-Clause
#: visits  work 50; leaf 150
#: free  tracer
#: hooks  evalframe monitoring
# The program's own profile function gets the same events as without Spartito.
import sys


def leaf():
    return 1


def work():
    return leaf() + leaf() + leaf()


def tracer(frame, event, arg):
    if frame.f_code in (leaf.__code__, work.__code__):
        seen.append(event)


seen = []
sys.setprofile(tracer)
for _ in range(50):
    work()
sys.setprofile(None)
print(len(seen), sys.getprofile())
