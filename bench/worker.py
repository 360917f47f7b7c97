# SPDX-License-Identifier: BSD-3-Clause
"""worker.py TOOL PROGRAM REPETITIONS: runs one program with one tool in this process and prints the shortest time.

TOOL is the word none (no tool, or one that was started around this process), floor-HOOK, cProfile, yappi or viztracer."""

import os
import sys
import time


def start(tool):
    """Starts the tool; returns the function that stops it."""
    if tool.startswith("floor-"):
        sys.path.insert(0, os.environ["FLOOR"])
        import floor

        floor.start(tool[6:])
        return floor.stop
    if tool == "cProfile":
        import cProfile

        profile = cProfile.Profile()
        profile.enable()
        return profile.disable
    if tool == "yappi":
        import yappi

        yappi.set_clock_type("wall")
        yappi.start()
        return yappi.stop
    if tool == "viztracer":
        import viztracer

        tracer = viztracer.VizTracer(verbose=0)
        tracer.start()
        return tracer.stop
    return lambda: None


def main():
    tool, program, repetitions = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import programs

    body, _ = programs.make(program)
    body()  # warm-up: specialized code, filled caches
    stop = start(tool)
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        body()
        times.append(time.perf_counter() - begin)
    stop()
    print(min(times))


if __name__ == "__main__":
    main()
