# SPDX-License-Identifier: BSD-3-Clause
#: python 3.12-
#: visits  work 30; leaf 60
#: free  start
#: note  the interpreter reports no events while it calls a tool
import sys


def leaf():
    return 1


def work():
    return leaf() + leaf()


def start(code, offset):
    seen.append(code.co_name)


seen = []
tool = next(n for n in range(6) if sys.monitoring.get_tool(n) is None)
sys.monitoring.use_tool_id(tool, "own")
sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, start)
for code in (leaf.__code__, work.__code__):
    sys.monitoring.set_local_events(tool, code, sys.monitoring.events.PY_START)
for _ in range(30):
    work()
sys.monitoring.free_tool_id(tool)
print(len(seen), sorted(set(seen)))
