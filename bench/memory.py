# SPDX-License-Identifier: BSD-3-Clause
"""Memory: what recording adds to an allocation and its release, beside memray, tracemalloc and scalene."""

import bisect
import os
import shutil
import subprocess
import sys

TO_MEMRAY = 0.6
SAMPLED = 1.05
# small objects, strings, dictionaries and buffers, kept for a while: two and a half million blocks in ten rounds
PROGRAM = """
import sys, time

class Node:
    __slots__ = ("left", "right", "value")
    def __init__(self, value):
        self.value = value
        self.left = self.right = None

def tree(depth):
    n = Node([depth] * 3)
    if depth:
        n.left = tree(depth - 1)
        n.right = tree(depth - 1)
    return n

def total(n):
    return n.value[0] + (total(n.left) + total(n.right) if n.left else 0)

def texts(n):
    return ["item %d" % i for i in range(n)]

def tables(n):
    return [{"a": i + 1000, "b": str(i)} for i in range(n)]

def buffers(n):
    return [bytearray(700) for i in range(n)]

def work(rounds):
    for _ in range(rounds):
        a, b, c, d = tree(12), texts(30000), tables(10000), buffers(5000)
        total(a), len(" ".join(b)), sum(row["a"] for row in c), sum(map(len, d))

work(1)
begin = time.process_time()
work(int(sys.argv[1]))
print(time.process_time() - begin)
"""
BLOCKS = 230_000  # in a round, as `spartito report memory` tells
TOOLS = ("none", "spartito", "memray", "tracemalloc", "scalene")
SAMPLES = "spartito, sampled"


def command(bench, tool, script, place, rounds):
    """The command line, and the variables beside; None: the tool is not there."""
    program = [script, str(rounds)]
    out = os.path.join(place, "out")
    if tool.startswith("spartito"):
        options = ["--memory-sample", "512K"] if tool == SAMPLES else ["--memory-profile"]
        return [bench.command, "run", "-q", *options, "-o", out, "--", bench.python, *program], {}
    if tool == "tracemalloc":
        return [bench.python, *program], {"PYTHONTRACEMALLOC": "1"}
    if tool != "none" and not bench.has(tool):
        return None, {}
    if tool == "memray":
        options = ["-q", "-f", "--trace-python-allocators", "-o", out + ".bin"]
        return [bench.python, "-m", "memray", "run", *options, *program], {}
    if tool == "scalene":
        return [bench.python, "-m", "scalene", "run", "--off", "--outfile", out + ".json", script, "---", str(rounds)], {}
    return [bench.python, *program], {}


def seconds(bench, tool, script, place, rounds):
    """Processor time of one run; None: the tool is not there, or cannot."""
    words, variables = command(bench, tool, script, place, rounds)
    if not words:
        return None
    p = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **variables}, cwd=place)
    shutil.rmtree(os.path.join(place, "out"), ignore_errors=True)
    numbers = [line for line in p.stdout.splitlines() if line.replace(".", "", 1).replace("e-", "", 1).isdigit()]
    if p.returncode or not numbers:
        if tool == "scalene":  # its options change from version to version
            return None
        sys.exit(f"{' '.join(words)}\n{p.stdout}{p.stderr}")
    return float(numbers[0])


def measure(bench, place, times, rounds):
    """{tool: s of each run, the shortest first}; the tools take turns in fresh processes. What samples add is less than runs
    differ, by where their memory comes to lie: these and plain Python have twice as many turns again, by themselves."""
    script = os.path.join(place, "allocating.py")
    with open(script, "w") as f:
        f.write(PROGRAM)
    found, tools = {}, [*TOOLS, SAMPLES]
    for turn in range(3 * times):
        if turn == times:
            tools = ["none", SAMPLES]
        tools.append(tools.pop(0))  # whoever comes after one that took long finds another processor than the others
        for tool in tools:
            took = seconds(bench, tool, script, place, rounds)
            if took is not None:
                bisect.insort(found.setdefault(tool, []), took)
    return found


def shorter_half(times):
    """Their mean: the shortest of all is that of a rare lucky place."""
    half = times[: (len(times) + 1) // 2]
    return sum(half) / len(half)


def collect(bench, work, quick):
    print(f"memory, Python {bench.version} …", file=sys.stderr, flush=True)
    place = os.path.join(work, "memory")
    os.makedirs(place)
    rounds = 20
    found = measure(bench, place, 3 if quick else 12, rounds)
    shutil.rmtree(place)

    def added(tool):
        return (found[tool][0] - found["none"][0]) / rounds / BLOCKS * 1e9

    rows = []
    title = "time added to an allocation with its release, all of memory recorded, Python's allocators too"
    if "memray" in found:
        ours, theirs = added("spartito"), added("memray")
        title = f"{title}, relative to memray --trace-python-allocators ({ours:.0f} ns and {theirs:.0f} ns)"
        rows.append((title, f"{ours / theirs:.2f}", f"at most {TO_MEMRAY}", ours / theirs <= TO_MEMRAY))
    for tool in TOOLS[3:]:
        if tool in found:
            rows.append((f"the same by {tool}, ns", f"{added(tool):.0f}", "", None))
    sampled = shorter_half(found[SAMPLES]) / shorter_half(found["none"])
    title = "an allocation-heavy program with --memory-sample 512K, relative to plain Python (the shorter half of the runs)"
    rows.append((title, f"{sampled:.3f}", f"under {SAMPLED}", sampled < SAMPLED))
    return rows
