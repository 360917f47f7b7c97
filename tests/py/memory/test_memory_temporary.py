# SPDX-License-Identifier: BSD-3-Clause
"""What is temporary, by size classes; and the tables by line of programs that leave allocating to libraries."""

import pytest
from memoryhelp import LIBC, recorded
from spartito.analysis import Model
from spartito.report import memorytable


@pytest.mark.parametrize("options, first", [((), 0), (("--temporary", "3"), 100)], ids=["1", "3"])
def test_temporary_is_told_by_size_classes(spartito, tmp_path, options, first):
    m = recorded(spartito, tmp_path, LIBC + """
malloc, free = libc.malloc, libc.free
small = []
for i in range(100):
    p = malloc(800_000)  # alone
    small.append(malloc(20))
    free(p)
    p = malloc(900_000)  # first
    q = malloc(700_000)  # second
    free(q)
    r = malloc(600_000)  # third
    free(p)
    free(r)
""", *options)
    assert m.sum("alone", "temporary") == m.sum("second", "temporary") == m.sum("third", "temporary") == 100
    assert m.sum("first", "temporary") == first
    assert m.sum("alone", "temporary_bytes") == 80_000_000
    assert all(site["first"] <= site["last"] for site in m.found["sites"])
    model = Model(str(tmp_path / "x"))
    table = memorytable.gather(model, model.info(), 0)["temporary"]
    assert table[0]["temporary_bytes"] >= 80_000_000
    assert [row["temporary_bytes"] for row in table] == sorted((row["temporary_bytes"] for row in table), reverse=True)


def test_the_table_by_line_names_the_programs_own_function(spartito, tmp_path):
    recorded(spartito, tmp_path, """
import textwrap
def ours(): return textwrap.fill("word " * 20000)
kept = [ours() for i in range(3)]
""")
    model = Model(str(tmp_path / "x"))
    rows = memorytable.gather(model, model.info(), 0)["allocated"]
    assert any(memorytable.place(row).startswith("__main__:ours, by textwrap:") for row in rows)
    assert not any(row["own"] for row in rows if row["function"] and row["function"].startswith("__main__:"))
