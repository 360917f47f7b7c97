# SPDX-License-Identifier: BSD-3-Clause
#: free  work leaf tracer
#: hooks  setprofile
# The program replaces the profile function of the hook: it must work, and the incomplete recording must be reported.
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
