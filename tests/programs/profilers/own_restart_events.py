# SPDX-License-Identifier: BSD-3-Clause
#: python 3.12-
#: visits  work 30
#: options  --exclude "*:leaf"
#: expect-none  leaf
# restart_events() enables the disabled events of every tool; an excluded function must stay excluded.
import sys


def leaf():
    return 1


def work():
    sys.monitoring.restart_events()
    return leaf() + leaf()


for _ in range(30):
    work()
print("end")
