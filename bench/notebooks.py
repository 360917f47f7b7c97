# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a measured notebook cell, from the request to its report, compared with a plain cell and %%prun. Alone: python
bench/notebooks.py PYTHON [rounds]."""

import json
import os
import subprocess
import sys
import tempfile

# A kernel's client, run by the measured Python. The kinds of cells take turns, so that a busy time of the machine affects all of
# them. The result is the median, as that is what a user experiences.
CODE = """
import json, os, statistics, sys, time
from jupyter_client.manager import start_new_kernel
work, rounds, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.environ.update(IPYTHONDIR=work, JUPYTER_RUNTIME_DIR=work, JUPYTER_PATH=os.path.join(work, "share", "jupyter"))
manager, client = start_new_kernel(kernel_name="python3", cwd=work)

def run(code):
    begin = time.perf_counter()
    sent = client.execute(code)
    shown, idle, size = 0.0, False, 0
    while not idle:
        message = client.get_iopub_msg(timeout=600)
        if message["parent_header"].get("msg_id") != sent:
            continue
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "display_data":
            shown, size = time.perf_counter(), len(content["data"].get("text/html", ""))
        if kind == "error":
            sys.exit(chr(10).join(content["traceback"]))
        idle = kind == "status" and content["execution_state"] == "idle"
    while client.get_shell_msg(timeout=600)["parent_header"].get("msg_id") != sent:
        pass
    return time.perf_counter() - begin, shown, size

KINDS = {"plain": "pass", "spartito": "%%spartito\\npass", "trace": "%%spartito --trace\\npass", "prun": "%%prun -q\\npass"}
def costs(kinds=KINDS):
    took = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, code in kinds.items():
            took[kind].append(run(code)[0])
    return {kind: statistics.median(times) for kind, times in took.items()}

out = {}
run("%load_ext spartito")
for code in KINDS.values():
    run(code)  # what is imported with the first cell
out["empty"] = costs()
run("import numpy; array = numpy.ones(100_000_000 // 8)")
out["array"] = costs()
run("del array; numbers = list(range(1_000_000))")
out["list"] = costs()
run("del numbers\\ndef leaf(): pass\\ndef calls(n):\\n    for _ in range(n): leaf()")
run("import time\\nend = 0.0")
for kind, option in (("profile", ""), ("trace", " --trace")):
    late = []
    for _ in range(max(rounds // 10, 3)):
        # the cell says itself when it is over; perf_counter() is the same clock in both processes
        _, shown, size = run(f"%%spartito{option}\\ncalls({calls})\\nend = time.perf_counter()")
        sent = client.execute("", user_expressions={"end": "end"}, silent=True)
        while True:
            message = client.get_shell_msg(timeout=600)
            if message["parent_header"].get("msg_id") == sent:
                break
        late.append(shown - float(message["content"]["user_expressions"]["end"]["data"]["text/plain"]))
    out[kind] = [statistics.median(late), size]
client.stop_channels()
manager.shutdown_kernel()
manager, client = start_new_kernel(kernel_name="scorep-python", cwd=work)
scorep = {"plain": "pass", "scorep": "%%execute_with_scorep\\npass"}
for code in scorep.values():
    run(code)
out["scorep"] = costs(scorep)
client.stop_channels()
manager.shutdown_kernel()
print(json.dumps(out))
"""
CALLS = 500_000  # calls of one function, with two events each
CELLS = {"empty": "empty cell", "array": "the same with 100 MB in an array", "list": "the same with a list of 10^6 elements"}


def collect(bench, work, quick):
    return measure(bench.python, work, 10 if quick else 100)


def measure(python, work, rounds):
    directory = os.path.join(work, "notebooks")
    os.makedirs(directory)
    install = [python, "-m", "spartito", "kernel", "install", "--score-p", "--prefix", directory]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    command = [python, "-c", CODE, directory, str(rounds), str(CALLS)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=directory)
    found = json.loads(done.stdout)
    rows = [row for key, what in CELLS.items() for row in costs(what, found[key])]
    rows.append(cost("empty cell of the Score-P kernel's notebooks", "execute_with_scorep", "scorep", found["scorep"]))
    return rows + [row for key in ("profile", "trace") for row in reports(key, *found[key])]


def cost(what, magic, kind, took, promised=True):
    """took: {kind of cell: seconds}"""
    more = 1e3 * (took[kind] - took["plain"])
    title = f"{what}, %%{magic}, ms more than the {1e3 * took['plain']:.1f} of a plain one"
    return (title, f"{more:.1f}", "at most 10", more <= 10) if promised else (title, f"{more:.1f}", "", None)


def costs(what, took):
    return [
        cost(what, "spartito", "spartito", took),
        cost(what, "spartito --trace", "trace", took),
        cost(what, "prun", "prun", took, promised=False),
    ]


def reports(kind, late, size):
    of = f"cell of 10^6 events, {kind}"
    return [
        (f"{of}: s from its end until the report is there", f"{late:.2f}", "under 0.5", late < 0.5),
        (f"{of}: KB that its frame adds to the notebook", f"{size / 1e3:.0f}", "", None),
    ]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as place:
        for row in measure(sys.argv[1], place, int(sys.argv[2]) if len(sys.argv) > 2 else 100):
            print(*row, sep=" | ")
