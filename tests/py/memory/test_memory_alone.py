# SPDX-License-Identifier: BSD-3-Clause
"""Experiments with memory and without times, in report, graph, plot and diff."""

import json
import re
import sys

import pytest
from commandline import run
from spartito.analysis import Model

PROGRAM = """
import ctypes
libc = ctypes.PyDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
def many(n):
    for i in range(n):
        libc.free(libc.malloc(1 << 20))
def few():
    libc.malloc({few} << 20)
def middle():
    many(30)
    few()
def other():
    many(10)
middle()
other()
{more}
"""
# Large blocks are always recorded, with their exact size. A small block allocated by the same call represents 256 bytes plus its
# size, if it is sampled. few() has few of these: even if all were sampled they would be 0.01 % of its bytes. With a period of 16K a
# single one would be 0.16 %.
OPTIONS = {"all": ["--memory-profile", "--no-calls"], "sampled": ["--memory-sample", "256"]}


@pytest.fixture(scope="module", params=OPTIONS)
def two(request, tmp_path_factory):
    """Experiments a and b: in b few() allocates twice as much, and added() is new. a has 40 and 10 MiB, b has 40, 20 and 5 MiB."""
    directory = tmp_path_factory.mktemp("alone")
    spartito = [sys.executable, "-m", "spartito"]
    for name, few, more in ("a", 10, ""), ("b", 20, "def added():\n    libc.malloc(5 << 20)\nadded()\n"):
        (directory / "program.py").write_text(PROGRAM.format(few=few, more=more))
        words = ["-q", *OPTIONS[request.param], "-o", name, "--", sys.executable, "program.py"]
        done = run(spartito, "run", *words, cwd=directory)
        assert (done.returncode, done.stderr) == (0, "")
    return directory


def test_the_tree_is_ordered_by_bytes(spartito, two):
    shown = run(spartito, "report", "tree", "a", cwd=two).stdout
    names = [line.split("  ")[-1].strip() for line in shown.splitlines() if "__main__:" in line]
    assert names[:3] == ["__main__:<module>", "__main__:middle", "__main__:many"]
    assert names.index("__main__:few") < names.index("__main__:other")
    assert "below the threshold" in shown
    found = json.loads(run(spartito, "report", "tree", "--json", "--threshold", "0", "a", cwd=two).stdout)["rows"]
    values = {row["name"]: row["metrics"]["allocated"]["incl"] for row in found}
    assert values["__main__:middle"] == pytest.approx(40 << 20, rel=0.01)
    assert not any(row["hidden"] for row in found)
    # callers precede their callees, and each group is sorted by size
    for i, row in enumerate(found):
        later = [r for r in found[i + 1 :] if r["parent"] == row["parent"]]
        assert all(row["metrics"]["allocated"]["incl"] >= r["metrics"]["allocated"]["incl"] for r in later)
    two_rows = json.loads(run(spartito, "report", "tree", "--json", "--limit", "2", "a", cwd=two).stdout)["rows"]
    assert [row["name"] for row in two_rows if row["kind"] != "root"] == ["__main__:<module>", "__main__:middle"]
    assert sum(row["hidden"] for row in two_rows) >= 3


@pytest.mark.parametrize("suffix", ["dot", "svg"])
def test_the_call_graph_is_of_bytes(spartito, two, suffix, monkeypatch):
    monkeypatch.setenv("PATH", str(two))  # without Graphviz
    done = run(spartito, "plot", "--kind", "graph", "-o", f"g.{suffix}", "a", cwd=two)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"wrote g.{suffix}: ")
    text = (two / f"g.{suffix}").read_text()
    assert "memory allocated" in text and "30.0 MiB" in text and "10.0 MiB" in text and "×" not in text
    assert " blocks" in text and " µs" not in text
    done = run(spartito, "plot", "--kind", "graph", "-o", "m.dot", "--match", "other", "a", cwd=two)
    matched = (two / "m.dot").read_text()
    assert done.returncode == 0 and "other" in matched and "few" not in matched
    assert run(spartito, "plot", "--kind", "graph", "-o", "m.dot", "--match", "nobody", "a", cwd=two).returncode == 1


@pytest.mark.parametrize("kind", ["flame", "icicle", "sunburst"])
def test_plots_are_of_bytes(spartito, two, kind):
    done = run(spartito, "plot", "--kind", kind, "-o", "p.svg", "b", cwd=two)
    assert (done.returncode, done.stderr) == (0, "")
    text = (two / "p.svg").read_text()
    assert re.search(r"__main__:few\ntotal 20\.0 MiB \(\d", text) and "50.0 MiB" in text
    assert " blocks" in text and " µs" not in text


def test_diff_compares_bytes(spartito, two):
    done = run(spartito, "diff", "a", "b", cwd=two)
    assert done.returncode == 0
    assert "no calls and no samples were recorded on both sides" in done.stdout and " took " not in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("memory: B allocated ")]
    assert len(lines) == 1 and "left " in lines[0]
    rows = [line for line in done.stdout.splitlines() if re.search(r"\b(few|added|many)\b", line)]
    assert rows[0].endswith("few") and "10.0 MiB" in rows[0] and "20.0 MiB" in rows[0] and "+100.0" in rows[0]
    assert "added" in rows[1] and "of nothing" in rows[1]
    found = json.loads(run(spartito, "diff", "--json", "--limit", "0", "a", "b", cwd=two).stdout)["memory"]
    by_name = {row["name"]: row["sides"] for row in found["rows"]}
    assert [side["left_bytes"] for side in by_name["__main__:few"]] == [pytest.approx(n << 20, rel=0.001) for n in (10, 20)]
    assert [side["allocated"] for side in by_name["__main__:many"]] == [pytest.approx(40 << 20, rel=0.01)] * 2
    assert by_name["__main__:added"][0]["allocated"] == 0
    for name, size in ("a", 10 << 20), ("b", 20 << 20):
        memory = Model(str(two / name)).memory()
        large = [site for site in memory["sites"] if site["function"] == "__main__:few" and site["allocator"] == "malloc"]
        assert [(site["count"], site["bytes"], site["left_bytes"]) for site in large] == [(1, size, size)]
    same = json.loads(run(spartito, "diff", "--json", "a", "--with", "a", cwd=two).stdout)["memory"]
    assert same["sides"][0] == same["sides"][1]
    done = run(spartito, "diff", "--fail-above", "5%", "a", "b", cwd=two)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "spartito: --fail-above: a holds memory and no times: record calls or samples as well\n"


def test_diff_of_calls_and_memory(spartito, tmp_path):
    for name, few in ("a", 1), ("b", 3):
        (tmp_path / "program.py").write_text(PROGRAM.format(few=few, more=""))
        words = ["-q", "--memory-profile", "-o", name, "--", sys.executable, "program.py"]
        assert run(spartito, "run", *words, cwd=tmp_path).returncode == 0
    shown = run(spartito, "diff", "a", "b", cwd=tmp_path).stdout
    assert " took " in shown and "memory: B allocated" in shown
    # one side has no memory data: nothing to compare
    run(spartito, "run", "-q", "-o", "c", "--", sys.executable, "program.py", cwd=tmp_path)
    shown = run(spartito, "diff", "a", "c", cwd=tmp_path).stdout
    assert " took " in shown and "memory: " not in shown


def test_merged_is_the_same(spartito, two):
    views = (["report"], ["report", "tree"], ["report", "memory"])
    before = [run(spartito, *view, "b", cwd=two).stdout for view in views]
    assert run(spartito, "finalize", "--force", "b", cwd=two).returncode == 0
    assert [run(spartito, *view, "b", cwd=two).stdout for view in views] == before
