# SPDX-License-Identifier: BSD-3-Clause
#: free  work leaf tracer
#: hooks  setprofile
# The program takes the profile function away from the hook that uses it: it must work, and the loss must be told.
import sys


def leaf():
    return 1


def work():
    return leaf() + leaf() + leaf()


def tracer(frame, event, arg):
    if frame.f_code in (leaf.__code__, work.__code__) and event in ("call", "return"):
        seen.append(event)


seen = []
sys.setprofile(tracer)
for _ in range(50):
    work()
sys.setprofile(None)
print(len(seen))
