# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/performance.md from the times."""

import math
import os
import platform

import programs

NAMES = {"none": "plain Python", "spartito": "Spartito, profile", "spartito-trace": "Spartito, profile + trace",
         "scorep": "Score-P, profile + trace"}
CALLS = ("function", "method", "recursion", "generator")  # the loops of Python calls
TO_CPROFILE = {"3.9": 0.6, "3.11": 0.45, "3.13": 0.45}


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def name_of(tool):
    return NAMES.get(tool) or (f"least possible: {tool[6:]}" if tool.startswith("floor-") else tool)


def added(results, tool, loop):
    """ns that the tool adds to one call."""
    return (results[tool, loop] - results["none", loop]) / programs.make(loop)[1] * 1e9


def rows(header, lines):
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for line in lines:
        yield "| " + " | ".join(line) + " |"


def slowdown(results, tool, names):
    return mean(results[tool, n] / results["none", n] for n in names)


def section(bench, results):
    loops = [n for n in programs.LOOPS if ("none", n) in results]
    names = [n for n in programs.PROGRAMS if ("none", n) in results]
    yield f"\n## Python {bench.version}\n"
    yield f"Spartito's hook here is `{bench.hook}`.\n"
    if loops:
        yield "Time added to one call, ns (in the first row the whole call):\n"
        plain = [f"{results['none', n] / programs.make(n)[1] * 1e9:.0f}" for n in loops]
        lines = [[name_of(t), *(f"{added(results, t, n):.0f}" for n in loops)] for t in bench.tools[1:]]
        yield from rows(["", *loops], [["plain Python", *plain], *lines])
    if names:
        yield "\nSlowdown of programs (in the first row seconds):\n"
        lines = [["plain Python", *(f"{results['none', n]:.3f}" for n in names), ""]]
        for t in bench.tools[1:]:
            ratios = [f"{results[t, n] / results['none', n]:.2f}" for n in names]
            lines.append([name_of(t), *ratios, f"**{slowdown(results, t, names):.2f}**"])
        yield from rows(["", *names, "geometric mean"], lines)


def promises(bench, results):
    """The rows of the figures that are ratios of times."""
    names = [n for n in programs.PROGRAMS if ("none", n) in results]
    loops = [n for n in CALLS if ("none", n) in results]
    if names:
        ratio = slowdown(results, "spartito-trace", names) / slowdown(results, f"floor-{bench.hook}", names)
        yield (f"{bench.version}: slowdown with profile and trace, relative to the least hook of the kind `{bench.hook}`",
               f"{ratio:.2f}", "at most 1.25", ratio <= 1.25)
    if loops and bench.version in TO_CPROFILE:
        ours = mean(max(added(results, "spartito-trace", n), 0.1) for n in loops)
        theirs = mean(max(added(results, "cProfile", n), 0.1) for n in loops)
        target = TO_CPROFILE[bench.version]
        yield (f"{bench.version}: time added to a call with profile and trace, relative to cProfile (mean of {', '.join(loops)})",
               f"{ours / theirs:.2f}", f"at most {target}", ours / theirs <= target)


def verdict(met):
    return "" if met is None else "yes" if met else "**no**"


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            found = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    except OSError:
        found = []
    return found[0] if found else platform.machine()


def document(benches, results, others, rounds):
    figures = [row for b in benches for row in promises(b, results[b.version])] + others
    lines = [
        "# Performance",
        "",
        f"Written by `make bench`: {processor()}, {os.cpu_count()} processors, Linux {platform.release().split('-')[0]}. Every",
        "number comes from one run; the tools take turns in fresh processes, and each time is the shortest of "
        f"{rounds} round{'s' if rounds > 1 else ''}.",
        "",
        "*Least possible* is a hook in C (`bench/hooks/floor.c`) that stores the processor's time-stamp counter at entry and exit",
        "in a ring and does nothing else. No tool with the same hook can be faster. cProfile and yappi keep neither call paths",
        "nor a trace. The time that viztracer needs at the end to write its file is not counted. The programs are those of",
        "pyperformance, each in one process. [Notes](performance-notes.md) explain some figures, and give others that were",
        "measured separately.",
        "",
        "## What was promised",
        "",
    ]
    lines += rows(["figure", "measured", "target", "met"], [[f, m, t, verdict(ok)] for f, m, t, ok in figures])
    for bench in benches:
        lines += section(bench, results[bench.version])
    return "\n".join(lines) + "\n"
