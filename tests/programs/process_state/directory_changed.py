# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 20
#: processes 2
import os
import tempfile


def leaf():
    return 1


for _ in range(10):
    leaf()
with tempfile.TemporaryDirectory() as d:
    os.chdir(d)
    pid = os.fork()
    if pid == 0:
        for _ in range(5):
            leaf()
        os._exit(0)
    os.waitpid(pid, 0)
    os.chdir("/")
for _ in range(5):
    leaf()
print(os.getcwd())
