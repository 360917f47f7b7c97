# SPDX-License-Identifier: BSD-3-Clause
#: visits  leaf 20
#: free  run
# Code of a sub-interpreter may be recorded or not; counts of the main interpreter are exact, and the program works.
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters


def leaf():
    return 1


for _ in range(10):
    leaf()
handle = interpreters.create()
interpreters.run_string(handle, "def inside():\n    return 1\nfor _ in range(5):\n    inside()\n")
interpreters.destroy(handle)
for _ in range(10):
    leaf()
print("end")
