# SPDX-License-Identifier: BSD-3-Clause
#: visits  made:a 300; made:b 300; made:c 300; call 900
# Code objects are deleted and their addresses are used again; the counts of the names stay separate.
import gc


def call(name, n):
    space = {"__name__": "made"}
    exec(compile(f"def {name}():\n    return {n}\n", f"<{name}>", "exec"), space)
    return space[name]()


total = 0
for n in range(300):
    for name in ("a", "b", "c"):
        total += call(name, n)
    if n % 100 == 0:
        gc.collect()
print(total)
