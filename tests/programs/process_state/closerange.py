# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 2000
import os


def leaf(n):
    return n + 1


for i in range(1000):
    leaf(i)
os.closerange(3, 4096)
for i in range(1000):
    leaf(i)
print("end")
