# SPDX-License-Identifier: BSD-3-Clause
"""Timemory's tables: the text byte for byte, its numbers as in the call tree, the JSON, and every option."""

import json
import re
import subprocess
import sys

import pytest
import written
from conftest import ROOT
from spartito._analyse import Error, Model

FIB = """\
def fib(n):
    return n if n < 2 else (fib(n - 1) + fib(n - 2))


def inefficient(n):
    a = 0
    for i in range(n):
        a += i
        for j in range(n):
            a += j
    return a


def run(n):
    return fib(n) + inefficient(n)


run(20)
"""
FORK = "import os\n\n\ndef work():\n    pass\n\n\nif os.fork() == 0:\n    work()\nelse:\n    os.wait()\n    work()\n"
COLUMNS = ["LABEL", "COUNT", "DEPTH", "METRIC", "UNITS", "SUM", "MEAN", "MIN", "MAX", "VAR", "STDDEV", "% SELF"]


def measured(tmp_path, source, *options):
    program = tmp_path / "program.py"
    program.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", tmp_path / "run", "--", sys.executable, program]
    subprocess.run(list(map(str, command)), check=True)
    return tmp_path / "run"


def cells(text):
    """The rows of a table as {column: cell}; the label keeps its indentation."""
    lines = text.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0] == lines[2] == lines[-1] and set(lines[0]) == set("|-")
    ends = [i for i, c in enumerate(lines[4]) if c == "|"]
    cut = [[line[a + 2 : b - 1] for a, b in zip(ends, ends[1:])] for line in (lines[3], *lines[5:-1])]
    names = [cell.strip() for cell in cut[0]]
    return [{name: cell.rstrip() if name == "LABEL" else cell.strip() for name, cell in zip(names, row)} for row in cut[1:]]


def labels(text):
    return [row["LABEL"] for row in cells(text)]


def test_trip_count_is_the_known_one(tmp_path):
    """Prints the same table as Omnitrace's documentation for this program."""
    golden = (ROOT / "tests/golden/trip_count.txt").read_text(encoding="utf-8")
    run = measured(tmp_path, FIB, "--exclude", "function:<module>")
    assert Model(str(run)).table("trip_count") == golden
    command = [sys.executable, "-m", "spartito", "report", "trip-count", str(run)]
    assert subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout == golden
    shallow = subprocess.run([*command, "--depth", "2"], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    assert [row["DEPTH"] for row in cells(shallow)] == ["0", "1", "1"]


def test_wall_clock_has_the_numbers_of_the_tree():
    model = written.model("--only-mine")
    rows = cells(model.table("wall_clock", collapse_threads=True, precision=9, max_width=0, qualified=True))
    assert list(rows[0]) == COLUMNS
    tree = [row for row in model.tree(threshold=0.0) if row["kind"] != "root"]
    found = sorted((row["LABEL"][len(">>> ") :].lstrip(" |_"), int(row["DEPTH"]), int(row["COUNT"]), row["SUM"]) for row in rows)
    wanted = sorted(
        (row["qualname"].lstrip("_"), row["depth"], row["visits"] + row["resumed"], f"{row['incl']:.9f}") for row in tree
    )
    assert found == wanted
    assert {row["METRIC"] for row in rows} == {"wall_clock"} and {row["UNITS"] for row in rows} == {"sec"}
    for i, row in enumerate(rows):
        count, total = int(row["COUNT"]), float(row["SUM"])
        if count:
            assert float(row["MEAN"]) == pytest.approx(total / count, abs=2e-9)
            if not row["LABEL"].endswith("_main"):  # parameters and a pause split its call into several rows
                assert float(row["MIN"]) <= float(row["MEAN"]) + 2e-9 <= float(row["MAX"]) + 4e-9
        assert float(row["STDDEV"]) == pytest.approx(float(row["VAR"]) ** 0.5, abs=4e-5)
        below = 0.0
        for other in rows[i + 1 :]:
            if int(other["DEPTH"]) <= int(row["DEPTH"]):
                break
            below += float(other["SUM"]) if int(other["DEPTH"]) == int(row["DEPTH"]) + 1 else 0
        if total > 1e-6:
            assert float(row["% SELF"]) == pytest.approx(max(0, 100 * (1 - below / total)), abs=0.3)


def test_variance_is_that_of_a_sample(tmp_path):
    source = "import time\n\n\ndef nap(s):\n    time.sleep(s)\n\n\nfor s in (0.001, 0.02, 0.04):\n    nap(s)\n"
    run = measured(tmp_path, source, "--trace")
    model = Model(str(run))
    calls, sums = model.table("wall_clock", timeline=True, precision=9), model.table("wall_clock", precision=9)
    durations = [float(row["SUM"]) for row in cells(calls) if "nap" in row["LABEL"]]
    (row,) = [row for row in cells(sums) if "nap" in row["LABEL"]]
    mean = sum(durations) / 3
    variance = sum((d - mean) ** 2 for d in durations) / 2
    assert float(row["VAR"]) == pytest.approx(variance, rel=1e-3, abs=2e-9)
    assert float(row["STDDEV"]) == pytest.approx(variance**0.5, rel=1e-3)


@pytest.mark.parametrize("metric", ["trip_count", "wall_clock"])
def test_json_says_what_the_text_says(metric):
    model = written.model()
    table = json.loads(model.table(metric, json=True))["timemory"][metric]
    text = cells(model.table(metric, max_width=0, precision=9))
    (rank,) = table["ranks"]
    assert rank["rank"] == 0 and rank["graph_size"] == len(rank["graph"]) == len(text)
    assert table["unit_repr"] == ("sec" if metric == "wall_clock" else "")
    for node, row in zip(rank["graph"], text):
        assert (node["prefix"], str(node["depth"]), str(node["entry"]["laps"])) == (row["LABEL"], row["DEPTH"], row["COUNT"])
        assert set(node) == {"hash", "prefix", "depth", "entry", "stats", "rolling_hash"}
        assert set(node["entry"]) == {"laps", "value", "accum", "repr_data", "repr_display"}
        assert set(node["stats"]) == {"sum", "count", "min", "max", "sqr", "mean", "stddev"}
        assert node["entry"]["repr_data"] == pytest.approx(float(row["SUM"]), abs=1e-9)
        if metric == "wall_clock":
            assert node["entry"]["value"] == pytest.approx(node["entry"]["repr_data"] * 1e9, abs=1)
            assert node["stats"]["stddev"] == pytest.approx(float(row["STDDEV"]), abs=1e-9)


def test_threads_are_kept_apart_or_collapsed():
    model = written.model()
    apart = labels(model.table("trip_count"))
    assert {label[:6] for label in apart} == {"|0>>> ", "|1>>> "}
    assert sum("worker" in label for label in apart) == 2
    together = labels(model.table("trip_count", collapse_threads=True))
    assert all(label.startswith(">>> ") for label in together)
    assert "|1>>> |_sweep; über" not in apart and any("|_sweep; über" in label for label in apart)


def test_processes_are_kept_apart_or_collapsed(tmp_path):
    model = Model(str(measured(tmp_path, FORK, "--only-mine")))
    apart = labels(model.table("trip_count"))
    assert {label[:7] for label in apart} == {"|0|0>>>", "|1|0>>>"}
    assert {label.split(">>>")[0] for label in labels(model.table("trip_count", collapse_threads=True))} == {"|0", "|1"}
    (row,) = [row for row in cells(model.table("trip_count", collapse_processes=True)) if row["LABEL"].endswith("_work")]
    assert row["COUNT"] == "2" and row["LABEL"].startswith("|0>>> ")
    assert all(label.startswith("|0>>> ") for label in labels(model.table("trip_count", process=1)))
    ranks = json.loads(model.table("wall_clock", json=True))["timemory"]["wall_clock"]["ranks"]
    assert [rank["rank"] for rank in ranks] == [0, 1]


def test_names_without_their_classes():
    model = written.model()
    short = {label.split("|_")[-1] for label in labels(model.table("trip_count"))}
    assert {"smooth", "<lambda>", "<genexpr>", "leaf"} <= short
    long = {label.split("|_")[-1] for label in labels(model.table("trip_count", qualified=True))}
    assert {"Grid.smooth", "make.<locals>.<lambda>", "Grid.smooth.<locals>.<genexpr>", "leaf"} <= long


def test_c_functions_have_their_own_names(tmp_path):
    run = measured(tmp_path, "import math\n\n\ndef f():\n    math.sqrt(2)\n    [].append(1)\n\n\nf()\n", "--c-calls")
    names = {label.split("|_")[-1] for label in labels(Model(str(run)).table("trip_count"))}
    assert {"sqrt", "append", "f"} <= names


def test_flat_sums_up_the_calls_of_a_name():
    rows = cells(written.model("--only-mine").table("wall_clock", flat=True, collapse_threads=True))
    assert {row["DEPTH"] for row in rows} == {"0"} and {row["% SELF"] for row in rows} <= {"100.0", "0.0"}
    counts = {row["LABEL"]: int(row["COUNT"]) for row in rows}
    assert len(counts) == len(rows)
    for name, visits in written.VISITS.items():
        resumed = sum(n for other, n in written.RESUMED.items() if other.split(".")[-1] == name.split(".")[-1])
        assert counts[">>> " + name.split(".")[-1]] == visits + resumed


def test_same_label_below_the_same_call_is_one_row(tmp_path):
    source = "class A:\n    def f(self):\n        pass\n\n\nclass B:\n    def f(self):\n        pass\n\n\nA().f()\nB().f()\n"
    rows = cells(Model(str(measured(tmp_path, source, "--only-mine"))).table("trip_count"))
    assert [(row["LABEL"], row["COUNT"]) for row in rows if row["LABEL"].endswith("_f")] == [("|0>>> |_f", "2")]


def test_timeline_has_a_row_for_each_call():
    model = written.model("--trace")
    rows = cells(model.table("wall_clock", timeline=True))
    assert {row["COUNT"] for row in rows} <= {"1"}
    for name, visits in written.VISITS.items():
        if name not in written.RESUMED and "<" not in name:
            assert sum(row["LABEL"].split("|_")[-1] == name.split(".")[-1] for row in rows) == visits
    flat = cells(model.table("trip_count", timeline=True, flat=True, max_depth=0))
    assert len(flat) == len(rows)
    with pytest.raises(Error, match="needs the trace"):
        written.model().table("trip_count", timeline=True)


def test_depth_width_precision_units():
    model = written.model()
    assert {row["DEPTH"] for row in cells(model.table("trip_count", max_depth=1))} == {"0", "1"}
    wide = cells(model.table("wall_clock", max_width=12))
    assert max(len(row["LABEL"]) for row in wide) == 12 and wide[0]["LABEL"] == "|0>>> <mo..."
    assert all(len(row["SUM"].split(".")[1]) == 3 for row in cells(model.table("wall_clock", precision=3)))
    row, ms = cells(model.table("wall_clock"))[0], cells(model.table("wall_clock", units="msec"))[0]
    assert ms["UNITS"] == "msec" and float(ms["SUM"]) == pytest.approx(1000 * float(row["SUM"]), abs=1e-3)
    scientific = cells(model.table("wall_clock", scientific=True))[0]["SUM"]
    assert re.fullmatch(r"\d\.\d{6}e[+-]\d\d", scientific)
    assert float(scientific) == pytest.approx(float(row["SUM"]), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "options", "error", "message"),
    [
        ("cpu_clock", {}, ValueError, "unknown metric 'cpu_clock'"),
        ("wall_clock", {"units": "days"}, ValueError, "unknown unit 'days'"),
        ("wall_clock", {"precision": 99}, ValueError, "precision is not between 0 and 18"),
        ("wall_clock", {"max_width": -1}, ValueError, "whole numbers"),
        ("wall_clock", {"process": 7}, Error, "there is no process 7"),
    ],
)
def test_what_cannot_be_is_refused(metric, options, error, message):
    with pytest.raises(error, match=message):
        written.model().table(metric, **options)


def test_directory_holds_what_the_tables_say():
    path = written.written("timemory")
    assert sorted(p.name for p in path.iterdir()) == ["trip_count.json", "trip_count.txt", "wall_clock.json", "wall_clock.txt"]
    for p in path.iterdir():
        assert p.read_text(encoding="utf-8") == written.model().table(p.stem, json=p.suffix == ".json")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wall-clock", "--sort", "incl"], "--sort is not for the report wall-clock"),
        (["trip-count", "--limit", "3"], "--limit is not for the report trip-count"),
    ],
)
def test_report_refuses(words, message, spartito):
    done = subprocess.run([*spartito, "report", *words, "x"], stderr=subprocess.PIPE, encoding="utf-8")
    assert done.returncode == 2 and message in done.stderr
