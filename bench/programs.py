# SPDX-License-Identifier: BSD-3-Clause
"""The measured programs: five loops of calls, and programs of pyperformance. programs()[name] returns (body, calls): body() does
the work once, calls is the number of its calls where it is known.

The programs of pyperformance run with a replacement of the module pyperf, which collects their functions and starts no process."""

import asyncio
import os
import runpy
import sys
import time
import types

LOOPS = ("function", "method", "recursion", "generator", "builtin")
# calls of each benchmark's function that take about 0.1 s in plain Python
PROGRAMS = {
    "richards": 1,
    "deltablue": 12,
    "chaos": 1,
    "raytrace": 1,
    "go": 1,
    "hexiom": 8,
    "nqueens": 1,
    "pyflate": 1,
    "logging": 300,
    "async_tree": 1,
    "coroutines": 2,
    "generators": 1,
}
CALLS = 400_000


def function_loop():
    def f(x):
        return x

    def body():
        for i in range(CALLS):
            f(i)

    return body, CALLS


def method_loop():
    class Thing:
        def get(self, x):
            return x

    def body():
        thing = Thing()
        for i in range(CALLS):
            thing.get(i)

    return body, CALLS


def recursion_loop():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def body():
        for _ in range(18):
            fib(20)

    return body, 18 * 21891


def generator_loop():
    def numbers():
        for i in range(CALLS):  # noqa: UP028 - each element must pass through this frame
            yield i

    def body():
        for _ in numbers():
            pass

    return body, CALLS


def builtin_loop():
    def body():
        box = []
        for _ in range(CALLS):
            len(box)

    return body, CALLS


class Runner:
    """Replaces pyperf.Runner: collects the functions of a benchmark."""

    taken = []

    def __init__(self, add_cmdline_args=None):
        import argparse

        self.metadata, self.argparser = {}, argparse.ArgumentParser()

    def parse_args(self):
        return self.argparser.parse_args([])

    def bench_func(self, name, function, *arguments, inner_loops=1):
        self.taken.append(lambda: function(*arguments))

    def bench_time_func(self, name, function, *arguments, inner_loops=1):
        self.taken.append(lambda: function(1, *arguments))

    def bench_async_func(self, name, function, *arguments, inner_loops=1):
        self.taken.append(lambda: asyncio.run(function(*arguments)))


def pyperformance_program(name):
    import pyperformance

    stand_in = types.ModuleType("pyperf")
    stand_in.Runner, stand_in.perf_counter = Runner, time.perf_counter
    sys.modules["pyperf"] = stand_in
    here = os.path.join(os.path.dirname(pyperformance.__file__), "data-files", "benchmarks", "bm_" + name)
    sys.path.insert(0, here)
    arguments, sys.argv = sys.argv, [os.path.join(here, "run_benchmark.py")]
    # this benchmark selects its variant by the command line
    if name == "async_tree":
        sys.argv.append("none")
        Runner.parse_args = lambda self: self.argparser.parse_args(sys.argv[1:])
    runpy.run_path(sys.argv[0], run_name="__main__")
    sys.argv = arguments

    def body():
        for function in Runner.taken:
            for _ in range(PROGRAMS[name]):
                function()

    return body, 0


def make(name):
    if name in PROGRAMS:
        return pyperformance_program(name)
    return globals()[name + "_loop"]()
