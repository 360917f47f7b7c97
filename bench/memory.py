# SPDX-License-Identifier: BSD-3-Clause
"""Time that memory recording adds to an allocation and its release, compared with memray, tracemalloc and scalene."""

import bisect
import os
import shutil
import subprocess
import sys

TO_MEMRAY = 0.6
SAMPLED = 1.05
# Small objects, strings, dictionaries and buffers, kept for some time: 2.3 million blocks in ten rounds
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
BLOCKS = 230_000  # in a round, counted by `spartito report memory`
TOOLS = ("none", "spartito", "memray", "tracemalloc", "scalene")
SAMPLES = "spartito, sampled"


def command(bench, tool, script, place, rounds):
    """(command line, additional variables), or (None, {}) if the tool is not installed."""
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
    """Processor time of one run, or None if the tool is not installed or fails."""
    words, variables = command(bench, tool, script, place, rounds)
    if not words:
        return None
    p = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **variables}, cwd=place)
    shutil.rmtree(os.path.join(place, "out"), ignore_errors=True)
    numbers = [line for line in p.stdout.splitlines() if line.replace(".", "", 1).replace("e-", "", 1).isdigit()]
    if p.returncode or not numbers:
        if tool == "scalene":  # its options differ between versions
            return None
        sys.exit(f"{' '.join(words)}\n{p.stdout}{p.stderr}")
    return float(numbers[0])


def measure(bench, place, times, rounds):
    """{tool: seconds of each run, sorted}. The tools run in turns, in new processes. Sampling adds less than runs differ by the
    placement of their memory: sampling and plain Python have twice as many additional turns without the others."""
    script = os.path.join(place, "allocating.py")
    with open(script, "w") as f:
        f.write(PROGRAM)
    found, tools = {}, [*TOOLS, SAMPLES]
    for turn in range(3 * times):
        if turn == times:
            tools = ["none", SAMPLES]
        tools.append(tools.pop(0))  # a tool that follows a slow one would always find the processor in the same state
        for tool in tools:
            took = seconds(bench, tool, script, place, rounds)
            if took is not None:
                bisect.insort(found.setdefault(tool, []), took)
    return found


def shorter_half(times):
    """Mean of the shorter half: the minimum is an outlier of a lucky placement in memory."""
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
