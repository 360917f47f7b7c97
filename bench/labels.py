# SPDX-License-Identifier: BSD-3-Clause
"""Time that labels with arguments add to a call, and that of inspect.formatargvalues(), which Omnitrace uses."""

import os
import shutil
import subprocess

TARGET = 0.1
# two arguments, a method with keywords, variable arguments: 64 values each, equally frequent
PROGRAM = """
import inspect, sys, time

class Grid:
    def at(self, x, y=0, *, scale=1.5):
        return x

def two(n, text):
    return n

def more(*args, **kwargs):
    return args

grid = Grid()

def calls(n):
    for i in range(n):
        k = i & 63
        two(k, "some text")
        grid.at(k, y=2)
        more(k, 1, key="value")

def formatted(frame, event, argument):
    if event == "call":
        open_calls.append(frame.f_code.co_name + inspect.formatargvalues(*inspect.getargvalues(frame)))
    elif event == "return":
        open_calls.pop()

def named(frame, event, argument):
    if event == "call":
        open_calls.append(frame.f_code.co_name)
    elif event == "return":
        open_calls.pop()

def best(n, rounds):
    least = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        calls(n)
        least = min(least, time.perf_counter() - begin)
    return least / n / 3 * 1e9

open_calls = ["", ""]
if sys.argv[1] == "none":
    print(best(20000, 15))
else:
    sys.setprofile({"formatted": formatted, "named": named}[sys.argv[1]])
    ns = best(1000, 15)
    sys.setprofile(None)
    print(ns)
"""


def collect(bench, work, quick):
    script = os.path.join(work, "labelled.py")
    with open(script, "w") as f:
        f.write(PROGRAM)
    best = {}

    def take(way, command):
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        best[way] = min(best.get(way, float("inf")), float(out))

    for n in range(1 if quick else 4):
        for way in ("none", "named", "formatted"):
            take(way, [bench.python, script, way])
        for way, options in (("plain", []), ("file and line", ["--label", "file,line"]), ("args", ["--label", "args"])):
            directory = os.path.join(work, f"labelled-{n}")
            take(way, [bench.command, "run", "-q", *options, "-o", directory, "--", bench.python, script, "none"])
            shutil.rmtree(directory)
    ours, theirs = best["args"] - best["plain"], best["formatted"] - best["named"]
    text = ", ".join(f"{way} {best[way] - best['none']:.0f}" for way in ("plain", "file and line", "args"))
    return [("time added to a call by its label with arguments, relative to inspect.formatargvalues() for each call"
             f" ({ours:.0f} of {theirs:.0f} ns)", f"{ours / theirs:.3f}", f"at most {TARGET}", ours <= TARGET * theirs),
            ("time added to a call without label, with file and line, with arguments, ns", text, "", None)]
