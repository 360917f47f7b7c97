# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 20; own 4
#: user  y 2000
#: free  run
# Regions with the same name in isolated interpreters, which may have separate GILs: each creates its own objects.
import threading

import spartito

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INSIDE = """
import os
import spartito
for _ in range(20000):
    with spartito.region("x") as r:
        assert type(r) is spartito.region
os.write(1, b"inside\\n")
"""


def leaf():
    return 1


def own():
    handle = interpreters.create()
    interpreters.run_string(handle, INSIDE)
    interpreters.destroy(handle)


for _ in range(1000):
    with spartito.region("y"):
        pass
threads = [threading.Thread(target=own) for _ in range(4)]
for t in threads:
    t.start()
for _ in range(20):
    leaf()
for t in threads:
    t.join()
for _ in range(1000):
    with spartito.region("y") as r:
        assert type(r) is spartito.region
print("end")
