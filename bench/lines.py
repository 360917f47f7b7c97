# SPDX-License-Identifier: BSD-3-Clause
"""Cost of line profiles: Spartito, line_profiler and the minimal hook on the same loop, in turns; and of other code, which is not
profiled. Rows as in figures.py."""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# relative to line_profiler's time; other versions are measured without a target
TO_PEER = {"3.11": 0.35, "3.13": 0.2}
TO_FLOOR, BESIDE = 1.3, 1.02
LINES = 6  # of one iteration: five statements and the loop's line
TOOLS = ("plain", "floor", "spartito", "line_profiler")
WORKER = """
import json, sys, time
def chosen(n):
    a = 0
    for i in range(n):
        a = i
        b = a + 1
        c = b - a
        d = c * 2
        a = d
    return a
def called(n):
    return n + 1
def beside(n):
    a = 0
    for i in range(n):
        a = called(i)
        b = a - i
        a = b * 2
    return a
def best(function, n, repeat):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        function(n)
        times.append(time.perf_counter() - begin)
    return min(times) / n * 1e9
tool, repeat = sys.argv[1], int(sys.argv[2])
other = best(beside, 5000, 8 * repeat)
chosen(100)
run = chosen
if tool == "floor":
    import line_floor
    line_floor.start(chosen)
elif tool == "line_profiler":
    import line_profiler
    run = line_profiler.LineProfiler()(chosen)
print(json.dumps([best(run, 5000, repeat), min(other, best(beside, 5000, 8 * repeat))]))
"""


def build_floor(bench, work):
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    include = subprocess.run([bench.python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-I" + include,
                    "-I" + os.path.join(HERE, "..", "src"), "-o",
                    os.path.join(work, "line_floor.so"), os.path.join(HERE, "hooks", "lines.c")], check=True)


def measure(bench, work, rounds, repeat):
    """{tool: (ns per line, ns per iteration of the other code)}: minima over rounds of new processes."""
    script = os.path.join(work, "line_loop.py")
    with open(script, "w") as f:
        f.write(WORKER)
    best = {}
    for n in range(rounds):
        for tool in TOOLS:
            command = [bench.python, script, tool, str(repeat)]
            if tool == "spartito":
                options = ["-q", "--lines", "chosen", "--lines-only", "-o", os.path.join(work, f"x-{n}")]
                command = [bench.python, "-m", "spartito", "run", *options, "--", *command]
            p = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": work})
            if p.returncode:
                sys.exit(f"{' '.join(command)}\n{p.stdout}{p.stderr}")
            line, beside = json.loads(p.stdout)
            before = best.get(tool, (float("inf"), float("inf")))
            best[tool] = min(before[0], line / LINES), min(before[1], beside)
    return best


def of(bench, work, quick):
    place = os.path.join(work, "lines-" + bench.version)
    os.makedirs(place)
    build_floor(bench, place)
    best = measure(bench, place, 2 if quick else 8, 20 if quick else 60)
    shutil.rmtree(place)
    plain = best["plain"][0]
    own, floor, peer = (best[tool][0] - plain for tool in ("spartito", "floor", "line_profiler"))
    most = TO_PEER.get(bench.version)
    title = f"time added to each line executed, Python {bench.version}"
    rows = [
        (f"{title}, relative to line_profiler ({own:.0f} ns and {peer:.0f} ns)", f"{own / peer:.2f}",
         f"at most {most}" if most else "", own / peer <= most if most else None),
        (f"{title}, relative to the least possible hook ({floor:.0f} ns)", f"{own / floor:.2f}", f"at most {TO_FLOOR}",
         own / floor <= TO_FLOOR),
    ]
    if tuple(map(int, bench.version.split("."))) >= (3, 12):
        ratio = best["spartito"][1] / best["plain"][1]
        rows.append((f"code beside it whose lines are not recorded, Python {bench.version}, relative to plain Python",
                     f"{ratio:.3f}", f"under {BESIDE}", ratio < BESIDE))
    return rows


def collect(benches, work, quick):
    rows = []
    for bench in benches:
        print(f"lines, Python {bench.version} …", file=sys.stderr, flush=True)
        rows += of(bench, work, quick)
    return rows
