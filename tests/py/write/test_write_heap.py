# SPDX-License-Identifier: BSD-3-Clause
"""Memory over time in traces, and memory by call path in experiments without calls."""

import json
import subprocess
import sys

import otf2file
import pftrace
import profileproto
import pytest
from spartito._analyse import Model
from spartito.report import memorytable
from test_write_samples import convert

SERIES = ("heap", "heap blocks", "resident size")
PROGRAM = """
import glob, os, time
def grow(n):
    kept = []
    for i in range(n):
        kept.append(bytearray(1 << 20))
        time.sleep(0.004)
    return kept
def spike():
    return len(bytearray(48 << 20))
def until_sampled():
    mine = f"run/raw/*-{os.getpid()}-*.samples.raw"
    while "SPARTITO_SAMPLER" in os.environ and not any(b"grow" in open(name, "rb").read() for name in glob.glob(mine)):
        grow(1)
grow(12)
spike()
pid = os.fork()
if not pid:
    grow(4)
    until_sampled()
    os._exit(0)
os.waitpid(pid, 0)
until_sampled()
"""


def recorded(place, *options):
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", "run", "--", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=place, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("traced"), "--memory-profile", "--trace")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """An experiment without calls: memory over time is its only timeline."""
    return recorded(tmp_path_factory.mktemp("alone"), "--memory-profile", "--no-calls")


@pytest.fixture(params=["traced", "alone"])
def either(request):
    return request.getfixturevalue(request.param)


def expected_series(p, to):
    """{series: {(time, value)}} of a process, from the model and the report. to(s) converts to a time of the format."""
    series = {name: {(to(row[0]), row[1 + i]) for row in p["series"]} for i, name in enumerate(SERIES)}
    series["heap"].add((to(p["peak_time"]), p["peak_bytes"]))
    series["heap blocks"].add((to(p["peak_time"]), p["peak_blocks"]))
    series["resident size"].add((to(p["resident_peak_time"]), p["resident_peak"]))
    series["resident size"] = {(t, v) for t, v in series["resident size"] if v}
    report = memorytable.points(p)
    assert max(v for _, v in series["heap"]) == max(heap for _, heap, _ in report) == p["peak_bytes"] >= 4 << 20
    assert max(v for _, v in series["resident size"]) == max(resident for _, _, resident in report) == p["resident_peak"]
    return series


def ns(seconds):
    return round(seconds * 1e9)


def in_archive(place, name):
    done = convert(place / "run", place / name)
    assert (done.returncode, done.stderr) == (0, "")
    return otf2file.read(place / name / "traces.otf2")


def test_otf2(either):
    found = in_archive(either, "archive")
    processes = Model(str(either / "run")).memory()["processes"]
    assert len(processes) == 2
    modes = {name: found["members"][name] for name in SERIES}
    assert modes == {
        "heap": ["ABSOLUTE_POINT", "bytes", 0],
        "heap blocks": ["ABSOLUTE_POINT", "#", 0],
        "resident size": ["ABSOLUTE_POINT", "bytes", 0],
    }
    assert len(found["locations"]) == 2
    assert found["instances"] == [[name, where["name"], where["group"]] for where in found["locations"] for name in SERIES]
    for p, location in zip(processes, found["locations"]):
        events = [(time, name, value) for time, values in location["metrics"] for name, value in values.items() if name in SERIES]
        assert [time for time, *_ in events] == sorted(time for time, *_ in events)
        for name, points in expected_series(p, ns).items():
            assert {(time, value) for time, of, value in events if of == name} == points


def test_merged(traced, tmp_path):
    before = in_archive(traced, "before")
    subprocess.run([sys.executable, "-m", "spartito", "finalize", "--force", "-q", str(traced / "run")], check=True, timeout=60)
    try:
        assert in_archive(traced, "after") == before
    finally:
        (traced / "run" / "merged").unlink()


@pytest.mark.parametrize("format", ["perfetto", "chrome"])
def test_counts_of_a_process(either, tmp_path, format):
    if format == "perfetto":
        pytest.importorskip("perfetto")
    suffix = {"perfetto": ".pftrace", "chrome": ".json"}[format]
    done = convert(either / "run", tmp_path / f"x{suffix}", to=format)
    assert done.returncode == 0 and ("memory over time alone" in done.stdout) == (either.name[:5] == "alone")
    trace = getattr(pftrace, format)(tmp_path / f"x{suffix}")
    m = Model(str(either / "run"))
    for p in m.memory()["processes"]:
        pid = m.info()["processes"][p["process"]]["pid"]
        for name, points in expected_series(p, ns).items():
            assert set(trace.counts[(pid, None, name) if format == "perfetto" else (pid, name)]) == points


def test_with_samples(tmp_path):
    recorded(tmp_path, "--sample", "--memory-sample", "64K")
    found = in_archive(tmp_path, "archive")
    for p, location in zip(Model(str(tmp_path / "run")).memory()["processes"], found["locations"]):
        values = [v["heap"] for _, v in location["metrics"] if "heap" in v]
        assert max(values) == p["peak_bytes"] and location["samples"]


@pytest.mark.parametrize("options", [("--memory-sample", "64K"), ("--memory-profile",)], ids=["sample", "profile"])
def test_folded(tmp_path, options):
    """Without calls and samples, stacks have the bytes live at the peak."""
    recorded(tmp_path, *options)
    assert convert(tmp_path / "run", tmp_path / "x.folded", to="folded").returncode == 0
    lines = dict(line.rsplit(" ", 1) for line in (tmp_path / "x.folded").read_text().splitlines())
    m = Model(str(tmp_path / "run"))
    if any(process["counted"] for process in m.info()["processes"]):
        whole = sum(row["excl"] for row in m.flat()) * 1e6
        assert sum(map(int, lines.values())) == pytest.approx(whole, rel=0.01)
        return
    peaks = {}
    for site in m.memory()["sites"]:
        path = ";".join(m.memory()["stacks"][site["path"]])
        peaks[path] = peaks.get(path, 0) + site["peak_bytes"]
    assert {path: int(value) for path, value in lines.items()} == {path: value for path, value in peaks.items() if value}
    assert sum(map(int, lines.values())) > 48 << 20


def test_other_stacks_of_memory_alone(tmp_path):
    recorded(tmp_path, "--memory-sample", "64K")
    for format, name in (("speedscope", "x.speedscope.json"), ("pprof", "x.pb.gz")):
        assert convert(tmp_path / "run", tmp_path / name, to=format).returncode == 0
    peaks = [site["peak_bytes"] for site in Model(str(tmp_path / "run")).memory()["sites"]]
    profiles = json.loads((tmp_path / "x.speedscope.json").read_text())["profiles"]
    assert {profile["unit"] for profile in profiles} == {"bytes"}
    assert sum(sum(profile["weights"]) for profile in profiles) == sum(peaks) > 48 << 20
    pprof = profileproto.Profile(tmp_path / "x.pb.gz")
    assert pprof.text[pprof.message.default_sample_type] == "peak_bytes"
    assert sum(values["peak_bytes"] for _, values, _ in pprof.samples) == sum(peaks)


def test_json_has_units(traced, tmp_path):
    assert convert(traced / "run", tmp_path / "x.json", to="json").returncode == 0
    found = json.loads((tmp_path / "x.json").read_text())
    units = dict(zip(found["value_columns"], found["value_units"]))
    assert units["peak_bytes"] == units["allocated"] == "B" and units["allocations"] == "#" and units["incl"] == "ns"
