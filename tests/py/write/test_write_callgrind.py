# SPDX-License-Identifier: BSD-3-Clause
"""Callgrind files, read by callgrind_annotate and by gprof2dot."""

import re

import pytest
import written

ROW = re.compile(r"^ *([\d,]+) \( ?[\d.]+%\)  (.*)$")


def annotated(*options):
    """(nanoseconds by "file:function", the total)"""
    text = written.run("callgrind_annotate", "--threshold=100", "--auto=no", *options, written.written("callgrind"))
    assert "malformed" not in text and "WARNING" not in text
    found = {}
    for line in text.splitlines():
        match = ROW.match(line)
        if match:
            found[match[2]] = int(match[1].replace(",", ""))
    return found, found.pop("PROGRAM TOTALS")


def name_of(row):
    return f"{row['file'] or '???'}:{row['name']}"


def test_exclusive():
    found, total = annotated("--inclusive=no")
    own = [row for row in written.model().flat() if row["kind"] != "root"]
    assert total == pytest.approx(sum(row["excl"] for row in own) * 1e9, abs=len(own) + 1)
    for row in written.rows().values():
        assert found.get(name_of(row), 0) == pytest.approx(row["excl"] * 1e9, abs=1)


def test_inclusive_counts_recursion_once():
    found, _ = annotated("--inclusive=yes")
    for row in written.rows().values():
        assert found.get(name_of(row), 0) == pytest.approx(row["incl"] * 1e9, abs=20), row["name"]


def test_calls():
    import gprof2dot

    with open(written.written("callgrind"), encoding="utf-8") as lines:
        profile = gprof2dot.CallgrindParser(lines).parse()
    by_name = {f.name: f for f in profile.functions.values()}
    rows = written.rows()
    leaf = by_name[rows["leaf"]["name"]].id
    assert leaf in by_name[rows["caught"]["name"]].calls
    for name, visits in written.VISITS.items():
        assert by_name[rows[name]["name"]].called == visits, name


def test_lines():
    text = written.written("callgrind").read_text(encoding="utf-8")
    fib = written.rows()["fib"]
    assert re.search(rf"^fn=\(\d+\)( {re.escape(fib['name'])})?\n{fib['line']} \d+$", text, re.MULTILINE)
