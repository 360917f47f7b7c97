# SPDX-License-Identifier: BSD-3-Clause
"""Reports of metrics, parameters, file I/O and compiled functions, on the raw files of format version 2 in tests/old-raw."""

import io
import json
import re
import shutil
import subprocess
import sys

import pytest
from commandline import run
from conftest import ROOT
from spartito.base.text import Output
from spartito.report import calltable
from spartito.report.parts import Part

OLD = ROOT / "tests" / "old-raw"


@pytest.fixture(scope="module", params=["profile", "trace"])
def sample(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param) / "x"
    (path / "raw").mkdir(parents=True)
    shutil.copy(OLD / f"v2-{request.param}.raw", path / "raw" / "node1-7-0.raw")
    return path


def report(spartito, *words):
    done = run(spartito, "report", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tree_shows_values_of_parameters(spartito, sample):
    lines = report(spartito, "tree", "--threshold", "0", sample).splitlines()
    names = [line.split("  ")[-1].strip() for line in lines]
    assert {"__main__:Grid.work [order=-3]", "__main__:Grid.work [order=2]", "__main__:main [case=small]"} <= set(names)
    assert "kernel.so:solve" in names and "kernel.so+0x1200" in names and "MEASUREMENT OFF" in names
    rows = json.loads(report(spartito, "--json", "tree", "--threshold", "0", sample))["rows"]
    (row,) = [row for row in rows if row.get("parameters") == [{"name": "order", "type": "int", "value": "-3"}]]
    assert row["name"] == "__main__:Grid.work" and row["visits"] == 1
    (before,) = [r for r in rows if r["name"] == "__main__:Grid.work" and "parameters" not in r]
    assert before["visits"] == 0


def test_metrics_are_columns(spartito, sample):
    text = report(spartito, "--limit", "0", sample)
    assert "self ru_utime" in text and "total instructions" in text
    heads = text.splitlines()[0].split("  ")
    assert [h.strip() for h in heads].count("io_bytes_read") == 1 and "self io_bytes_read" not in text
    (line,) = [line for line in text.splitlines() if "user:sweep" in line]
    assert "10.0 KiB" in line  # read in its callees, by both threads
    found = json.loads(report(spartito, "--json", "--limit", "0", sample))
    assert [m["name"] for m in found["info"]["metrics"]] == ["ru_utime", "instructions", "io_bytes_read", "io_bytes_written"]
    assert [m["exclusive"] for m in found["info"]["metrics"]] == [False, False, True, True]
    rows = {row["name"]: row["metrics"] for row in found["rows"]}
    assert rows["read"]["io_bytes_read"] == {"incl": 2 * 5096, "excl": 2 * 5096}
    assert rows["user:sweep"]["io_bytes_read"] == {"incl": 2 * 5096, "excl": 0}
    assert rows["user:sweep"]["ru_utime"] == {"incl": 80, "excl": 2 * (40 - 3 * 3 - 8)}
    part = json.loads(report(spartito, "--json", "--limit", "0", "--threads", sample))["parts"][1]
    assert {r["name"]: r["metrics"]["io_bytes_read"]["incl"] for r in part["rows"]}["user:sweep"] == 5096
    tree = report(spartito, "tree", "--threshold", "0", sample)
    assert "total ru_utime" in tree


def test_io(spartito, sample):
    traced = sample.parent.name.startswith("trace")
    text = report(spartito, "io", sample)
    assert ("/data/input.bin" in text) == traced and ("--io --trace" in text) != traced
    assert "__main__:main [case=small] > user:sweep > read" in text
    found = json.loads(report(spartito, "--json", "io", sample))
    assert found["report"] == "io"
    paths = {path["path"][-1]: path for path in found["paths"]}
    assert paths["read"]["bytes_read"] == 2 * 5096 and paths["read"]["calls"] == 4
    assert paths["write"]["bytes_written"] == 2 * 512 and paths["write"]["bytes_read"] == 0
    assert paths["write"]["time"] == pytest.approx(60e-9)
    if not traced:
        assert found["files"] is None
        return
    files = {f["path"]: f for f in found["files"]}
    assert set(files) == {"/data/input.bin", "/data/output.bin"}
    f = files["/data/input.bin"]
    assert (f["opens"], f["reads"], f["seeks"], f["failed"], f["bytes_read"]) == (1, 4, 1, 0, 2 * 5096)
    assert f["read_time"] == pytest.approx(4 * 20e-9) and f["write_time"] == 0
    # written through a duplicated descriptor
    assert (files["/data/output.bin"]["writes"], files["/data/output.bin"]["bytes_written"]) == (2, 2 * 512)


def test_io_where_there_is_none(spartito, tmp_path):
    (tmp_path / "raw").mkdir()
    shutil.copy(OLD / "v1-trace.raw", tmp_path / "raw" / "a.raw")
    done = run(spartito, "report", "io", tmp_path)
    assert done.returncode == 1 and "no file I/O was recorded" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("other", ["--threads", "--sort=incl", "--match=f", "--process=0"])
def test_io_takes_no_other_options(spartito, tmp_path, other):
    done = run(spartito, "report", "io", other, tmp_path)
    assert done.returncode == 2 and "is not for the report io" in done.stderr


def test_formats(sample, tmp_path):
    code = (
        "import json, pstats, sys\nfrom spartito import _analyse\nm = _analyse.Model(sys.argv[1])\n"
        "for name in ('pstats', 'callgrind', 'folded', 'speedscope', 'json'):\n    m.convert(name, sys.argv[2] + '/' + name)\n"
    )
    subprocess.run([sys.executable, "-c", code, sample, tmp_path], check=True)
    import pstats

    stats = pstats.Stats(str(tmp_path / "pstats")).stats
    assert stats[("~", 0, "read")][:2] == (4, 4) and ("~", 0, "kernel.so+0x1200") in stats
    assert stats[("/sample.py", 9, "work")][:2] == (2, 2)
    assert stats[("/sample.py", 30, "user:sweep")][0] == 2
    found = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    kinds = {region["name"]: region["kind"] for region in found["regions"]}
    assert kinds["read"] == "io" and kinds["kernel.so:solve"] == "native" and kinds["MEASUREMENT OFF"] == "off"
    assert found["value_columns"][-4:] == [m["name"] for m in found["metrics"]]
    values = {(v["value"], v["type"]) for v in found["parameter_values"]}
    assert values == {("small", "string"), ("-3", "int"), ("2", "int")}
    reads = sum(row[-2] for rows in found["values"] for row in rows)
    assert reads == 2 * 5096
    folded = (tmp_path / "folded").read_text(encoding="utf-8")
    stacks = {line.rpartition(" ")[0] for line in folded.splitlines()}
    assert "__main__:main [case=small]" in stacks and "__main__:main" not in stacks
    assert len(json.loads((tmp_path / "speedscope").read_text(encoding="utf-8"))["profiles"]) == 2


def metric(name, source, unit="B"):
    return {"name": name, "source": source, "unit": unit, "exponent": -9 if unit == "s" else 0}


METRICS = [
    *(metric(name, "memory", "#") for name in ("allocations", "temporary", "left")),
    *(metric(name, "memory") for name in ("allocated", "left_bytes", "peak_bytes")),
    metric("wait_time", "wait", "s"),
    *(metric(f"sampled_{name}", "sample", "s") for name in ("cpu", "running", "gil", "idle")),
]


def columns(width, timed, **kinds):
    """Titles of the table of functions in a terminal of that width."""
    rich = pytest.importorskip("rich.console")
    row = {
        **dict.fromkeys(("excl", "incl", "mean", "min", "max", "std", "running", "waiting"), 1.5), "visits": None, "resumed": 0,
        "name": "package.module:Class.function", "file": "/usr/lib/python3/package/module.py", "line": 12,
        "metrics": {m["name"]: {"excl": 123456789, "incl": 987654321} for m in METRICS} | kinds,
    }  # fmt: skip
    process = {"sampled": True, "counted": False}
    location = {"visits": 0, "resumed": 0, "busy": 1.0 if timed else 0, "running": 0.5}
    stream = io.StringIO()
    out = Output(stream)
    out.console = rich.Console(file=stream, width=width, highlight=False)
    calltable.write_flat(out, [row], Part("", [location]), {"metrics": METRICS, "processes": [process], "locations": [location]})
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return re.split("  +", lines[0].strip())


def test_a_narrow_terminal_keeps_the_columns_that_say_most():
    always = ["running", "running %", "total", "calls", "function"]
    assert columns(80, True) == [*always[:4], "peak_bytes", "function"]
    assert columns(100, True) == [*always[:4], "peak_bytes", "wait_time", "cpu", "function"]
    wide = columns(400, True)
    assert wide[:6] == ["running", "running %", "waiting", "total", "total %", "calls"] and wide[-1] == "defined at"
    assert wide[6:-2] == [m["name"].removeprefix("sampled_") for m in METRICS if m["name"] != "sampled_running"]


def test_what_nothing_was_collected_of_has_no_column():
    assert "gil" not in columns(400, True, sampled_gil={"excl": 0, "incl": 5})
    assert "gil" in columns(400, True)


def test_memory_alone_is_reported_with_callees_too():
    titles = columns(400, False)
    assert {"self peak_bytes", "total peak_bytes"} <= set(titles) and "self" not in titles
