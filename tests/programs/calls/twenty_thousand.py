# SPDX-License-Identifier: BSD-3-Clause
#: visits  made:f0 1; made:f19999 1; made:f777 1; call_all 1
#: slow
#: regions 20000
def call_all():
    return sum(space[f"f{n}"]() for n in range(20000))


space = {"__name__": "made"}
exec("\n".join(f"def f{n}(): return {n}" for n in range(20000)), space)
print(call_all())
