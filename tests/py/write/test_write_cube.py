# SPDX-License-Identifier: BSD-3-Clause
"""Cube files read by pycubexr: each number equals that in the JSON of the same experiment."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from xml.etree import ElementTree

import numpy
import pycubexr
import pytest
import written
from conftest import ROOT
from pycubexr.classes.metric import MetricType
from spartito._analyse import Model

FORKING = """\
import os, threading
def leaf(): pass
def left(n):
    leaf()
    if n: right(n - 1), leaf()
def right(n):
    if n: left(n - 1)
    leaf()
def work():
    for n in range(4): left(n), right(n)
threads = [threading.Thread(target=f, name=f.__name__) for f in (work, leaf)]
[t.start() for t in threads], [t.join() for t in threads]
work()
pid = os.fork()
if pid == 0:
    work(), leaf()
else:
    os.waitpid(pid, 0)
    right(5)
"""


#: metrics that every file has; those of Score-P are all zero here
TIMES = ["visits", "time", "min_time", "max_time"]
OFF_CPU = ["running", "waiting", "preempted"]
BYTES = ["bytes_put", "bytes_get", "io_bytes_read", "io_bytes_written"]


@pytest.fixture(scope="module", params=["known", "forking"])
def both(request, tmp_path_factory):
    """(an experiment as JSON, the same as Cube)"""
    if request.param == "known":
        yield json.loads(written.written("json").read_text()), written.written("cube")
        return
    path = tmp_path_factory.mktemp("cube")
    (path / "program.py").write_text(FORKING)
    spartito = [sys.executable, "-m", "spartito"]
    run = [*spartito, "run", "-q", "-o", "x", "--to", "json,cube", "--", sys.executable, "program.py"]
    subprocess.run(run, cwd=path, check=True)
    yield json.loads((path / "x.json").read_text()), path / "x.cubex"


def main_locations(known):
    seen = set()
    return [not (where["process"] in seen or seen.add(where["process"])) for where in known["locations"]]


def expected(known):
    """{(side, names from the root): [(visits, inclusive, exclusive, min, max) of each location or None]}"""
    names, paths = [r["name"] for r in known["regions"]], known["paths"]
    full = [()]
    for parent, region, _ in paths[1:]:
        full.append((*full[parent], names[region]))
    found = {}
    for place, (values, main) in enumerate(zip(known["values"], main_locations(known))):
        for path, visits, resumed, incl, excl, low, high, *_ in values:
            if path:
                row = found.setdefault((main, full[path]), [None] * len(known["values"]))
                row[place] = (visits + resumed, incl, excl, low, high)
    return found


def walk(parser, cnode, names, side):
    for child in cnode.get_children():
        name = parser.get_region(child).name
        if name == "THREADS" and not names:
            yield from walk(parser, child, (), False)
        else:
            yield (side, (*names, name)), child
            yield from walk(parser, child, (*names, name), side)


def close(ns, seconds):
    return seconds * 1e9 == pytest.approx(ns, abs=1, rel=1e-9)


def test_every_number(both):
    known, path = both
    wanted = expected(known)
    with pycubexr.CubexParser(path) as parser:
        assert [where.name for where in parser.get_locations()] == [where["name"] for where in known["locations"]]
        metric = {name: parser.get_metric_values(parser.get_metric_by_name(name)) for name in TIMES}
        (root,) = parser.get_root_cnodes()
        cnodes = dict(walk(parser, root, (), True))
        assert {k for k, row in wanted.items() if any(row)} <= set(cnodes)
        for key, cnode in cnodes.items():
            rows = wanted.get(key, [None] * len(known["values"]))
            exclusive = metric["time"].cnode_values(cnode, convert_to_exclusive=True)
            shortest, longest = (metric[n].cnode_values(cnode).astype(float) for n in ("min_time", "max_time"))
            for place, row in enumerate(rows):
                visits, incl, excl, low, high = row or (0, 0, 0, None, 0)
                assert metric["visits"].cnode_values(cnode)[place] == visits, key
                assert close(incl, metric["time"].cnode_values(cnode)[place]), key
                assert close(excl, exclusive[place]), key
                assert close(low, shortest[place]) if visits else shortest[place] == sys.float_info.max, key
                assert close(high if visits else 0, longest[place]), key


def test_the_program_takes_all_the_time(both):
    known, path = both
    with pycubexr.CubexParser(path) as parser:
        (root,) = parser.get_root_cnodes()
        assert parser.get_region(root).name == os.path.basename(sys.executable)
        time = parser.get_metric_values(parser.get_metric_by_name("time"))
        for place, (where, main) in enumerate(zip(known["locations"], main_locations(known))):
            top = sum(v[3] for v in known["values"][place] if v[0] and known["paths"][v[0]][0] == 0)
            life = where["end"] - where["begin"] if main else 0
            assert close(max(top, life), time.cnode_values(root)[place])
        visits = parser.get_metric_values(parser.get_metric_by_name("visits")).cnode_values(root)
        assert list(visits) == main_locations(known)


def test_regions_and_places(both):
    known, path = both
    with pycubexr.CubexParser(path) as parser:
        regions = [(r.name, r.mod, r.begin, r.role) for r in parser._anchor_result.regions]
        for r in known["regions"]:
            if r["kind"] == "python":
                assert (r["name"], r["file"], r["line"], "function") in regions
        (machine,) = parser._anchor_result.system_tree_nodes
        assert [g.name for g in machine.all_location_groups()] == [f"Process {p['pid']}" for p in known["processes"]]


def anchor(path):
    with tarfile.open(path) as archive:
        return ElementTree.parse(archive.extractfile("anchor.xml")).getroot()


def test_anchor_as_score_p_writes_it(both):
    known, path = both
    root = anchor(path)
    metrics = {m.findtext("uniq_name"): (m.get("type"), m.findtext("dtype"), m.findtext("uom")) for m in root.iter("metric")}
    assert [name for name in metrics if name not in OFF_CPU] == TIMES + BYTES  # off-CPU time only if it was measured
    assert metrics["time"] == ("INCLUSIVE", "DOUBLE", "sec")
    assert all(metrics[name] == ("EXCLUSIVE", "UINT64", "bytes") for name in BYTES)
    program, *others = root.iter("region")
    assert program.findtext("mangled_name") == known["processes"][0]["command"]
    assert (program.find("attr").get("key"), program.find("attr").get("value")) == (
        "Score-P::ProgramArguments::numberOfArguments",
        str(len(known["processes"][0]["command"].split()) - 1),
    )
    assert (program.findtext("paradigm"), program.findtext("role")) == ("measurement", "artificial")
    shown = {r.findtext("name"): (r.findtext("paradigm"), r.findtext("role")) for r in others}
    for r in known["regions"]:
        if r["kind"] == "python":
            assert shown[r["name"]] == (f"user:{r['module']}", "function")
        elif r["kind"] == "user":
            assert shown[r["name"]] == ("user", "function")
    assert shown["THREADS"] == ("pthread", "artificial")


def test_topology_has_each_thread(both):
    known, path = both
    (cart,) = anchor(path).iter("cart")
    sizes = {d.get("name"): int(d.get("size")) for d in cart.iter("dim")}
    counts = Counter(where["process"] for where in known["locations"])
    assert (cart.get("name"), sizes) == ("Process x Thread", {"Process": len(counts), "Thread": max(counts.values())})
    places = {int(c.get("locId")): tuple(map(int, c.text.split())) for c in cart.iter("coord")}
    assert sorted(places) == list(range(len(known["locations"])))
    assert sorted(places.values()) == sorted((p, t) for p in counts for t in range(counts[p]))


def test_archive_is_plain_tar(both):
    with tarfile.open(both[1]) as archive:
        names = archive.getnames()
        numbers = sorted({int(name.partition(".")[0]) for name in names[:-1]})  # of the metrics with values
        assert numbers[:4] == [0, 1, 2, 3]
        assert names == [f"{i}.{kind}" for i in numbers for kind in ("index", "data")] + ["anchor.xml"]
        rows = numpy.frombuffer(archive.extractfile("1.index").read()[22:], "i4")
        assert list(rows) == list(range(len(rows)))


def test_odd_names(tmp_path):
    """Names with markup and control characters are escaped."""
    (tmp_path / "program.py").write_text(
        "import spartito\nfor n in ('<a & \"b\">', 'tab\\tnew\\nline', 'nul\\0', '\\u20ac'):\n    with spartito.region(n): pass\n"
    )
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", "x", "--to", "cube", "--", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    with pycubexr.CubexParser(tmp_path / "x.cubex") as parser:
        names = {r.name for r in parser._anchor_result.regions}
    assert {'<a & "b">', "tab new line", "nul ", "\u20ac"} <= names, done.stderr


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """(Cube file, its parser, its cnodes) of tests/c/generator/rawgen_sample.c, a raw file with all kinds of records."""
    path = tmp_path_factory.mktemp("sample")
    (path / "x" / "raw").mkdir(parents=True)
    shutil.copy(ROOT / "tests/old-raw/v2-profile.raw", path / "x" / "raw")
    Model(str(path / "x")).convert("cube", str(path / "x.cubex"))
    with pycubexr.CubexParser(path / "x.cubex") as parser:
        (root,) = parser.get_root_cnodes()
        yield path / "x.cubex", parser, dict(walk(parser, root, (), True))


def numbers(sample, metric, *names, main=True, exclusive=False):
    _, parser, cnodes = sample
    values = parser.get_metric_values(parser.get_metric_by_name(metric))
    return values.cnode_values(
        cnodes[main, names],
        convert_to_exclusive=exclusive and values.metric.metric_type == MetricType.INCLUSIVE,
        convert_to_inclusive=not exclusive and values.metric.metric_type == MetricType.EXCLUSIVE,
    ).tolist()


def test_metrics_have_columns(sample):
    root = anchor(sample[0])
    metrics = {m.findtext("uniq_name"): (m.get("type"), m.findtext("dtype"), m.findtext("uom")) for m in root.iter("metric")}
    assert list(metrics) == [*TIMES, *BYTES, "ru_utime", "instructions"]
    assert metrics["ru_utime"] == ("INCLUSIVE", "UINT64", "10^-6 s")
    assert metrics["instructions"] == ("INCLUSIVE", "UINT64", "#")
    with tarfile.open(sample[0]) as archive:
        stored = {int(name.split(".")[0]) for name in archive.getnames() if name[0].isdigit()}
    assert stored == {i for i, name in enumerate(metrics) if name not in ("bytes_put", "bytes_get")}
    main, sweep = "__main__:main", "user:sweep"
    assert numbers(sample, "ru_utime", main, "__main__:Grid.work") == [30, 0]
    assert numbers(sample, "ru_utime", main, "__main__:Grid.work", main=False) == [0, 30]
    assert numbers(sample, "ru_utime", main, "__main__:Grid.work", exclusive=True) == [20, 0]
    assert numbers(sample, "instructions", main, sweep) == [1200, 0]
    assert numbers(sample, "instructions", main, sweep, exclusive=True) == [1200 - 180 - 90 - 240, 0]
    # the frame of main was still open at the end: it has no values, except those of its callees
    assert numbers(sample, "ru_utime", main) == [30 + 40 + 50, 0]
    assert numbers(sample, "ru_utime", main, exclusive=True) == [0, 0]


def test_own_metrics_are_exclusive(sample):
    main, sweep = "__main__:main", "user:sweep"
    assert numbers(sample, "io_bytes_read", main, sweep, "read", exclusive=True) == [5096, 0]
    assert numbers(sample, "io_bytes_read", main, sweep, exclusive=True) == [0, 0]
    assert numbers(sample, "io_bytes_read", main, main=True) == [5096, 0]
    assert numbers(sample, "io_bytes_written", main, sweep, "write", main=False) == [0, 512]


def test_parameters_of_call_paths(sample):
    found = []
    regions = {r.get("id"): r.findtext("name") for r in anchor(sample[0]).iter("region")}
    for cnode in anchor(sample[0]).iter("cnode"):
        name = regions[cnode.get("calleeId")]
        if name in ("__main__:main", "__main__:Grid.work"):
            found.append((name, [(p.get("partype"), p.get("parkey"), p.get("parvalue")) for p in cnode.findall("parameter")]))
    # every call path of work has a parameter: 10 ns of 300 before it was set are counted with the value
    assert found == [
        ("__main__:main", [("string", "case", "small")]),
        ("__main__:Grid.work", [("numeric", "order", "-3")]),
        ("__main__:main", [("string", "case", "small")]),
        ("__main__:Grid.work", [("numeric", "order", "2")]),
    ]
    assert numbers(sample, "time", "__main__:main", "__main__:Grid.work") == pytest.approx([300e-9, 0])
    assert numbers(sample, "time", "__main__:main", "__main__:Grid.work", main=False) == pytest.approx([0, 300e-9])
    assert numbers(sample, "visits", "__main__:main", "__main__:Grid.work", exclusive=True) == [1, 0]


def test_kinds_of_regions(sample):
    shown = {r.findtext("name"): r for r in anchor(sample[0]).iter("region")}
    for name, mod, paradigm, role in (
        ("MEASUREMENT OFF", "", "user", "artificial"),
        ("read", "POSIX I/O", "io", "file_io"),
        ("solve", "/lib/kernel.so", "compiler", "function"),
        ("user:sweep", "/sample.py", "user:user", "function"),
    ):
        region = shown[name]
        assert (region.get("mod"), region.findtext("paradigm"), region.findtext("role")) == (mod, paradigm, role)
