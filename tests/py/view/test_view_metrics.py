# SPDX-License-Identifier: BSD-3-Clause
"""Metrics within a range of time, and as curves: Model.view() agrees with the reports of the whole run, and its parts with each
other."""

import bisect
import math
import sys

import pytest
from commandline import run
from spartito.analysis import Error, Model
from spartito.view import kinds, payload

NONE = payload.NONE
METRICS = ("ru_utime", "ru_maxrss", "ru_minflt")
PROGRAM = """
import os, resource, threading
def touch(n):
    return sum(bytearray(n * 4096)[::4096])
def spin(n):
    return sum(i * i for i in range(n))
def work(n):
    for i in range(n):
        touch(i % 50)
        spin(200)
def helper():
    work(40)
    os.read(fd, 100)
def used():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_utime
fd = os.open(__file__, os.O_RDONLY)
work(60)
before = used()
while used() == before:  # the system may count in ticks
    spin(200)
thread = threading.Thread(target=helper, name="helper")
thread.start()
thread.join()
work(60)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    place = tmp_path_factory.mktemp("metrics")
    (place / "program.py").write_text(PROGRAM)
    wanted = ",".join(f"rusage:{name}" for name in METRICS)
    command = [sys.executable, "-m", "spartito", "run", "--trace", "--io", "--metric", wanted, "-o", place / "x"]
    done = run(command, "--", sys.executable, place / "program.py")
    assert done.returncode == 0, done.stderr
    return place / "x"


@pytest.fixture(scope="module")
def model(recorded):
    return Model(recorded)


def view(model, kind, **parameters):
    return payload.unpack(model.view(kind, **parameters))


def length(model):
    """Length of the run, exact to 1 ns. The difference of two dates is not as exact."""
    return view(model, "timeline", location=0)[0]["end"]


def of_regions(model, name, **selection):
    columns = view(model, "flat", **selection)[1]
    return {
        region: (columns[f"metric:{name}:incl"][i], columns[f"metric:{name}:excl"][i]) for i, region in enumerate(columns["region"])
    }


def of_paths(model, name, **selection):
    columns = view(model, "tree", metric=name, **selection)[1]
    incl, excl = columns[f"metric:{name}:incl"], columns[f"metric:{name}:excl"]
    return {path: (incl[i], excl[i]) for i, path in enumerate(columns["path"])}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("selection", ({}, {"location": 1}), ids=str)
def test_a_range_over_all_has_the_numbers_of_the_run(model, name, selection):
    for of in (of_regions, of_paths):
        assert of(model, name, begin=0.0, end=length(model), **selection) == of(model, name, **selection)


@pytest.mark.parametrize("name", METRICS)
def test_parts_add_up_to_the_whole(model, name):
    whole = of_paths(model, name)
    edges = [length(model) * part for part in (0, 0.1, 0.37, 0.371, 0.8, 1)]
    sums = {path: [0.0, 0.0] for path in whole}
    for begin, end in zip(edges, edges[1:]):
        part = of_paths(model, name, begin=begin, end=end)
        assert part.keys() <= whole.keys()
        for path, numbers in part.items():
            for k in (0, 1):
                assert -1e-6 <= numbers[k] <= whole[path][k] + 1e-6
                sums[path][k] += numbers[k]
    assert any(incl > 0 for incl, _ in whole.values())
    for path, numbers in whole.items():
        assert sums[path] == pytest.approx(numbers, abs=1e-6)


def test_functions_have_what_their_paths_have(model):
    span = {"begin": 0.2 * length(model), "end": 0.7 * length(model)}
    paths, tree = of_paths(model, "ru_minflt", **span), view(model, "tree", **span)[1]
    regions = dict(zip(tree["path"], tree["region"]))
    for region, (_, excl) in of_regions(model, "ru_minflt", **span).items():
        assert sum(own for path, (_, own) in paths.items() if regions[path] == region) == pytest.approx(excl, abs=1e-6)


def test_data_missing_in_the_trace_is_reported(model):
    meta, columns = view(model, "flat", begin=0.0)
    assert set(meta["unranged"]) == {"io_bytes_read", "io_bytes_written"}
    assert not any("io_bytes" in name for name in columns) and {"metric:ru_minflt:excl", "metric:waiting:excl"} <= set(columns)
    whole_meta, whole = view(model, "flat")
    assert "unranged" not in whole_meta and "metric:io_bytes_read:excl" in whole
    with pytest.raises(Error, match="io_bytes_read is not known within a range of time"):
        model.view("tree", metric="io_bytes_read", begin=0.0)
    with pytest.raises(Error, match="io_bytes_read is not known over time"):
        model.view("metrics", name="io_bytes_read")
    with pytest.raises(Error, match="no metric speed was counted"):
        model.view("metrics", name="speed")
    with pytest.raises(Error, match="over cannot be ranks: sum, or nothing"):
        model.view("metrics", over="ranks")


def curves(model, **asked):
    """{(location, index of the metric): rows}"""
    columns = view(model, "metrics", **asked)[1]
    found = {}
    for location, metric, *row in zip(*(columns[name] for name in ("location", "metric", "at", "value", "low", "high", "mean"))):
        found.setdefault((location, metric), []).append(row)
    return found


def test_curves_go_on_and_end_at_what_was_counted(model):
    names = [m["name"] for m in model.info()["metrics"]]
    found = curves(model, pixels=50)
    assert found.keys() == {(location, names.index(name)) for location in (0, 1) for name in METRICS}
    for (location, metric), rows in found.items():
        where = model.info()["locations"][location]
        assert len(rows) <= 52
        for i, (at, value, low, high, mean) in enumerate(rows):
            assert where["begin"] <= at <= where["end"]
            if i == 0:
                assert all(map(math.isnan, (low, high, mean))) and (value == 0 or names[metric] == "ru_maxrss")
                continue
            before, was = rows[i - 1][:2]
            assert at > before and value >= was and mean == pytest.approx((value - was) / (at - before))
            assert low <= mean * (1 + 1e-9) and mean <= high * (1 + 1e-9)
    # growth within functions happened between the first and the last reading
    for location in (0, 1):
        grown = sum(excl for _, excl in of_regions(model, "ru_minflt", location=location).values())
        assert grown <= found[location, names.index("ru_minflt")][-1][1]


def test_a_part_of_a_curve_is_as_the_whole(model):
    metric = [m["name"] for m in model.info()["metrics"]].index("ru_utime")
    fine = curves(model, pixels=16384, name="ru_utime", location=0)[0, metric]
    # a hundredth of the run may have no point if another program had the processor then
    first = len(fine) // 3
    begin, end = ((fine[i][0] + fine[i + 1][0]) / 2 for i in (first, first + len(fine) // 100 + 2))
    part = curves(model, pixels=164, name="ru_utime", location=0, begin=begin, end=end)[0, metric]
    half = 0.51e-9  # times are whole nanoseconds, and the middle between two is rounded
    assert part[0][0] - half <= begin < part[1][0] + half and part[-2][0] - half < end <= part[-1][0] + half
    for at, value, *_ in part:
        i = bisect.bisect_right([row[0] for row in fine], at)
        assert fine[i - 1][1] <= value <= fine[min(i, len(fine) - 1)][1]
        assert fine[i - 1][0] < at or fine[i - 1][1] == value


def value_at(rows, moment, level):
    before = [row for row in rows if row[0] <= moment]
    after = [row for row in rows if row[0] > moment]
    if not before:
        return 0.0
    if not after:
        return before[-1][1]
    (a, v, *_), (b, w, *_) = before[-1], after[0]
    return v + (w - v) * (moment - a) / (b - a)


@pytest.mark.parametrize("name", METRICS)
def test_the_sum_is_that_of_all_threads(model, name):
    info = model.info()["metrics"]
    metric = [m["name"] for m in info].index(name)
    asked = {"name": name, "begin": 0.1 * length(model), "end": 0.9 * length(model)}
    alone = [curves(model, pixels=16384, **asked)[location, metric] for location in (0, 1)]
    assert {key: len(rows) for key, rows in curves(model, over="sum", pixels=8, **asked).items()} == {(NONE, metric): 9}
    rows = curves(model, over="sum", pixels=8, **asked)[NONE, metric]
    edges = [asked["begin"] + (asked["end"] - asked["begin"]) * i / 8 for i in range(9)]
    # the sum over locations has one reading for each pixel only
    slack = 2 * max(row[4] for one in alone for row in one[1:]) * (edges[1] - edges[0]) + 1
    for (at, value, *_), edge in zip(rows, edges):
        assert at == pytest.approx(edge)
        values = [value_at(one, edge, info[metric]["level"]) for one in alone]
        assert value == pytest.approx(max(values) if info[metric]["level"] else sum(values), abs=slack)
    only = curves(model, over="sum", pixels=8, location=1, **asked)[NONE, metric]
    assert all(row[1] <= whole[1] + slack for row, whole in zip(only, rows))


def test_rows_are_those_that_are_selected(model):
    assert {location for location, _ in curves(model, rows="1-1")} == {1}
    assert view(model, "metrics", rows="1-1")[0]["rows"] == 2
    assert {location for location, _ in curves(model, location=0, rows="0-5")} == {0}
    facts = kinds.Experiment(model, "x").facts()
    levels = [m["name"] for m in facts["metrics"] if m["level"]]
    assert facts["has"]["metrics"] and levels == ["ru_maxrss"]


@pytest.mark.parametrize("selection", ({}, {"location": 1}), ids=str)
def test_the_cost_of_measuring_is_taken_out_of_ranges_too(recorded, selection):
    model, plain = Model(recorded, compensate=True), Model(recorded)
    for kind, numbers in (("tree", ("incl", "excl")), ("flat", ("incl", "excl", "mean", "min", "max", "std"))):
        key = "path" if kind == "tree" else "region"
        whole, part = (view(model, kind, **span, **selection)[1] for span in ({}, {"begin": 0.0, "end": length(model)}))
        where = {one: i for i, one in enumerate(part[key])}
        # A row whose compensated time is zero is missing in a range. Trace times are whole nanoseconds, for each visit and its
        # callees: the rounding errors add up like a random walk.
        walk = 6e-9 * math.sqrt(sum(whole["visits"]) + sum(whole.get("resumed", [0])))
        for i, one in enumerate(whole[key]):
            slack = 2e-8 + 1e-9 * whole["visits"][i]
            for name in numbers:
                found = part[name][where[one]] if one in where else 0.0
                # the standard deviation is the root of a difference of two squares
                near = slack + (walk if name in ("incl", "excl") else 1e-7 * whole["max"][i] if name == "std" else 0)
                assert found == pytest.approx(whole[name][i], rel=1e-3, abs=near), (kind, name)
    # on a busy machine most of the time may pass without a call
    calls = sorted(view(model, "timeline", location=selection.get("location", 0))[1]["begin"])
    span = {"begin": calls[len(calls) // 5], "end": calls[len(calls) * 4 // 5]}
    (less, a), (more, b) = (view(one, "flat", **span, **selection) for one in (model, plain))
    assert 0 < less["total"] < more["total"]
    visits = sum(b["visits"]) + sum(b.get("resumed", [0]))
    costs = [p["cost_in"] + p["cost_out"] for p in model.info()["processes"]]
    assert more["total"] - less["total"] <= visits * max(costs) * 1.001
    spread = view(model, "balance", over="threads", **span)[1]
    everything = view(model, "flat", **span)[1]
    assert sum(spread["excl"]) == pytest.approx(sum(everything["excl"]))
