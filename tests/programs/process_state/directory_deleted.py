# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 10
import os
import tempfile


def leaf():
    return 1


d = tempfile.mkdtemp()
os.chdir(d)
os.rmdir(d)
for _ in range(10):
    leaf()
print("end")
