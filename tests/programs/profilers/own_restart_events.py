# SPDX-License-Identifier: BSD-3-Clause
#: python 3.12-
#: visits  work 30
#: options  --exclude "*:leaf"
#: expect-none  leaf
# restart_events() switches every tool's disabled events on again; a filtered function must stay filtered.
import sys


def leaf():
    return 1


def work():
    sys.monitoring.restart_events()
    return leaf() + leaf()


for _ in range(30):
    work()
print("end")
