# SPDX-License-Identifier: BSD-3-Clause
"""Collapsed stacks, parsed as flamegraph.pl does it."""

import re
import subprocess
import sys

import pytest
import written
from spartito.base.text import labelled

LINE = re.compile(r"^(.+) (\d+)$")


def stacks(path):
    found = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        match = LINE.match(text)
        assert match, text
        found[tuple(match[1].split(";"))] = found.get(tuple(match[1].split(";")), 0) + int(match[2])
    return found


def test_every_line_is_right_to_a_microsecond():
    found = stacks(written.written("folded"))
    expected, names = {}, []
    for row in written.model().tree():
        del names[row["depth"] :]
        names.append(labelled(row).replace(";", ":"))
        # the root of the tree is not a frame
        stack = tuple(name for name in names if name != "<root>")
        expected[stack] = expected.get(stack, 0) + row["excl"] * 1e6
    assert set(found) <= set(expected)
    for stack, us in expected.items():
        if stack:
            assert found.get(stack, 0) == pytest.approx(us, abs=1.001), stack


def test_sum_is_exact():
    own = sum(row["excl"] for row in written.model().flat() if row["kind"] != "root")
    assert sum(stacks(written.written("folded")).values()) == pytest.approx(own * 1e6, abs=1.001)


def test_separator_in_a_name():
    found = stacks(written.written("folded"))
    assert [stack for stack in found if written.REGION.replace(";", ":") in stack]


def test_very_deep_recursion_stays_small(tmp_path):
    program = tmp_path / "deep.py"
    program.write_text(
        "import sys\nsys.setrecursionlimit(10**6)\n\ndef down(n):\n    return n and down(n - 1)\n\ndown(5000)\n",
        encoding="utf-8",
    )
    run = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "deep", "--", sys.executable, program]
    subprocess.run(run, check=True)
    from spartito._analyse import Model

    model = Model(str(tmp_path / "deep"))
    model.convert("folded", str(tmp_path / "folded"))
    found = stacks(tmp_path / "folded")
    assert max(map(len, found)) <= 1025
    assert any(stack[-1] == "[deeper]" for stack in found)
    own = sum(row["excl"] for row in model.flat() if row["kind"] != "root")
    assert sum(found.values()) == pytest.approx(own * 1e6, abs=1.001)
