# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 20
#: processes 2
# A fork after os.environ.clear() still belongs to the run.
import os


def leaf():
    return 1


for _ in range(10):
    leaf()
os.environ.clear()
pid = os.fork()
if pid == 0:
    for _ in range(5):
        leaf()
    os._exit(0)
os.waitpid(pid, 0)
for _ in range(5):
    leaf()
print("end", len(os.environ))
