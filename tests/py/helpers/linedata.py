# SPDX-License-Identifier: BSD-3-Clause
"""An experiment with given line numbers and times, for tests of reports and writers."""

import subprocess
import sys

import rawlines

SOURCE = '''\
# coding: utf-8
import sys


def busy(n):
    total = 0
    for i in range(n):
        total += helper(i)  # größer

    # a comment within
    return total


def helper(i):
\treturn i * 2


class Grid:
    @staticmethod
    def wide(text="""
one
two"""):
        square = lambda x: x * x
        return (
            square(3)
            + square(4)
        )


def never():
    return 0


busy(5)
Grid.wide()
'''
# (hits, self, callees) in ticks: small to large, so that each width and form of a number occurs
LINES = {
    "busy": {6: (1, 1_000, 0), 7: (6, 12_345, 0), 8: (5, 4_000_000, 90_000_000_000), 11: (1, 70, 0)},
    "helper": {15: (12_345_678_901, 88_000_000_000_000, 0)},
    "Grid.wide": {23: (1, 3, 0), 25: (1, 200, 40), 26: (1, 300, 0)},
    "Grid.wide.<locals>.<lambda>": {23: (2, 50, 0)},
}


def make(directory, *options):
    """Creates the experiment `run` of the program lined.py in that directory."""
    program = directory / "lined.py"
    program.write_text(SOURCE, encoding="utf-8")
    run = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", directory / "run", "--", sys.executable, program]
    subprocess.run(list(map(str, run)), check=True)
    rawlines.add(directory / "run", LINES)
    return directory / "run"
