# SPDX-License-Identifier: BSD-3-Clause
"""Temporary allocations by size class, and tables by line for programs whose libraries allocate."""

import pytest
from memoryhelp import LIBC, recorded
from spartito.analysis import Model
from spartito.report import memorytable


@pytest.mark.parametrize("options, others", [((), 1), (("--temporary", "2"), 2), (("--temporary", "3"), 3)], ids=["1", "2", "3"])
def test_temporary_is_told_by_size_classes(spartito, tmp_path, options, others):
    """As in memray, an allocation is temporary if at most N others occur before its release."""
    m = recorded(spartito, tmp_path, LIBC + """
malloc, free = libc.malloc, libc.free
small = []
for i in range(100):
    p = malloc(800_000)  # alone
    small.append(malloc(20))
    free(p)
    a = malloc(900_000)  # first
    b = malloc(700_000)  # second
    c = malloc(600_000)  # third
    d = malloc(1_000_000)  # fourth
    free(a)
    free(b)
    free(c)
    free(d)
""", *options)
    assert m.sum("alone", "temporary") == 100
    for i, mark in enumerate(("fourth", "third", "second", "first")):
        assert m.sum(mark, "temporary") == (100 if i <= others else 0)
    assert m.sum("alone", "temporary_bytes") == 80_000_000
    assert all(site["first"] <= site["last"] for site in m.found["sites"])
    model = Model(str(tmp_path / "x"))
    table = memorytable.gather(model, model.info(), 0)["temporary"]
    assert table[0]["temporary_bytes"] >= 80_000_000
    assert [row["temporary_bytes"] for row in table] == sorted((row["temporary_bytes"] for row in table), reverse=True)


def test_temporary_of_samples(spartito, tmp_path):
    """For samples, the bytes allocated in between decide."""
    m = recorded(spartito, tmp_path, """
def work():
    for i in range(1000):
        b = bytes(20_000)  # small
        c = object()
        del b, c
    for i in range(1000):
        b = bytes(20_000); del b  # gone
    for i in range(1000):
        b = bytes(20_000)  # one
        c = bytes(20_000)
        del b, c
    for i in range(1000):
        b = bytes(20_000)  # two
        c, d = bytes(20_000), bytes(20_000)
        del b, c, d
work()
""", "--memory-sample", "1K")
    # the allocator of Python's objects passes large ones on to malloc(), except without the GIL
    for mark in ("small", "gone", "one"):
        assert m.sum(mark, "temporary", None) == m.sum(mark, "count", None) > 900
    assert m.sum("two", "count", None) > 900 and m.sum("two", "temporary", None) == 0


LIBRARY = """
import textwrap
def fill(): return textwrap.fill("word " * 20000)
def ours():
    return fill()
kept = [ours() for i in range(3)]
again = (fill(),
         fill())
import pprint  # import
"""


@pytest.mark.parametrize("option", ["--memory-profile", "--memory-sample=1K"])
def test_the_table_by_line_has_the_programs_own_lines(spartito, tmp_path, option):
    """Allocations in a library are shown at the program's line that called it, also those of an import."""
    recorded(spartito, tmp_path, LIBRARY, option)
    model = Model(str(tmp_path / "x"))
    rows = memorytable.gather(model, model.info(), 0)["allocated"]
    file = str(tmp_path / "program.py")
    fill = [row for row in rows if row["function"] == "__main__:fill" and row["within"]]
    assert {(row["file"], row["line"]) for row in fill} == {(file, 3)}
    assert any(memorytable.place(row).startswith("__main__:fill, line 3, in textwrap:TextWrapper.") for row in fill)
    imports = [row for row in rows if row["function"] == "__main__:<module>" and row["within"]]
    line = 1 + LIBRARY[: LIBRARY.index("  # import")].count("\n")
    lines = {row["line"] for row in imports}
    assert line in lines and lines <= {0, 2, line}  # 0: C code that had released the GIL
    # below the program, no row has a line of a library
    stacks = model.memory()["stacks"]
    called = [row for row in rows if "__main__:<module>" in stacks[row["sites"][0]["path"]]]
    assert called and all(row["file"] == file for row in called)
    if option == "--memory-profile":
        whole = sum(site["bytes"] for site in model.memory()["sites"])
        assert sum(row["bytes"] for row in rows) == whole
