# SPDX-License-Identifier: BSD-3-Clause
#: visits  down 11
#: exit 1
def down(n):
    if n == 0:
        raise ValueError("uncaught")
    down(n - 1)


down(10)
