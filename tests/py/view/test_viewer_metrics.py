# SPDX-License-Identifier: BSD-3-Clause
"""Metrics in the viewer, in a real browser: trees by metric, columns of a range and curves; each number equals the model's."""

import bisect
import re
import subprocess
import sys

import browser
import pytest
from spartito.analysis import Model
from spartito.view import kinds, onefile, payload
from spartito.view.packing import Packing
from test_view_metrics import PROGRAM
from viewing import READY, needs_viewer

pytestmark = needs_viewer
COUNTERS = """
import spartito, time
for value in (3, 8, 5):
    spartito.counter("queue", value)
    work(5)
    time.sleep(0.03)  # else both are in one pixel, where the run has to wait for a processor
"""


def measure(place):
    (place / "program.py").write_text(PROGRAM + COUNTERS)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "--io", "-o", "x"]
    metrics = ["--metric", "rusage:ru_utime,rusage:ru_maxrss,rusage:ru_minflt,rusage:ru_nswap"]
    subprocess.run([*command, *metrics, "--", sys.executable, "program.py"], cwd=place, check=True)
    return place / "x"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("metrics"))


@pytest.fixture(scope="module")
def model(recorded):
    return Model(recorded)


def asked(model, kind, **parameters):
    return payload.unpack(model.view(kind, **parameters))


def length(model):
    return model.info()["end"] - model.info()["begin"]


def tree(model, metric, **selection):
    """The metric's inclusive values of the outermost calls."""
    columns = asked(model, "tree", metric=metric, **selection)[1]
    incl = columns[f"metric:{metric}:incl"]
    return [incl[i] for i, above in enumerate(columns["parent"]) if above == payload.NONE]


RANGES = ((), (0.1, 0.55))


def span_of(model, metric, part):
    """Times at which the metric of the first thread reached these shares of its final value. On a busy machine most of it is
    counted in little time."""
    curve = points(model, metric, 0)
    return {edge: moment(curve, share * curve["value"][-1]) for edge, share in zip(("begin", "end"), part)}


def moment(curve, value):
    i = bisect.bisect_left(curve["value"], value)
    (a, b), (v, w) = curve["at"][i - 1 : i + 1], curve["value"][i - 1 : i + 1]
    return a + (b - a) * (value - v) / (w - v)


@pytest.mark.parametrize("part", RANGES, ids=str)
@pytest.mark.parametrize(("metric", "scale"), [("ru_minflt", 1), ("ru_utime", 1e-6)])
@pytest.mark.parametrize("kind", ["icicle", "sunburst"])
def test_the_tree_is_as_wide_as_the_metric(viewer, model, kind, metric, scale, part):
    span = span_of(model, metric, part)
    view = viewer.open(f"view={kind}&metric={metric}" + "".join(f"&{name}={value!r}" for name, value in span.items()))
    outer = tree(model, metric, **span)
    assert view["weight"] == metric
    assert view["total"] == pytest.approx(sum(outer) * scale)
    assert [row["incl"] for row in view["top"]] == pytest.approx([value * scale for value in outer[:8]])
    assert metric in viewer.page.evaluate("document.querySelector('canvas').getAttribute('aria-description')")
    assert viewer.pixels()[0] > 4
    assert viewer.page.exceptions() == []


@pytest.mark.parametrize("part", RANGES, ids=str)
def test_bottom_up_and_call_graph_weigh_functions(viewer, model, part):
    span = span_of(model, "ru_minflt", part)
    _, flat = asked(model, "flat", **span)
    names = asked(model, "regions")[0]["names"]
    sides = [[pytest.approx(value, abs=1e-6) for value in flat[f"metric:ru_minflt:{which}"]] for which in ("incl", "excl")]
    counted = {names[region]: both for region, both in zip(flat["region"], zip(*sides))}
    end = "".join(f"&{name}={value!r}" for name, value in span.items())
    view = viewer.open(f"view=bottomup&metric=ru_minflt{end}")
    assert view["weight"] == "ru_minflt" and view["functions"] == len(counted)
    for row in view["rows"]:
        assert (row["incl"], row["excl"]) == counted[row["name"]]
    own = [row["excl"] for row in view["rows"]]
    assert own == sorted(own, reverse=True) and own[0] > 0
    assert "self ru_minflt" in viewer.page.evaluate("document.querySelector('.table').innerText")
    view = viewer.open(f"view=graph&metric=ru_minflt{end}")
    assert view["weight"] == "ru_minflt" and view["nodes"]
    for node in view["nodes"]:
        assert (node["incl"], node["excl"]) == counted[node["name"]]


def test_the_choice_says_why_not(viewer, model):
    menu = "[...document.querySelectorAll('label.menu')].find(l => l.innerText.startsWith('Weight'))"
    viewer.open(f"view=icicle&begin=0&end={length(model)!r}&metric=io_bytes_read")
    assert viewer.view()["weight"] == "time"
    options = viewer.page.evaluate(f"[...{menu}.querySelectorAll('option')].map(o => [o.value, o.disabled])")
    assert dict(options) == {
        "": False,
        "ru_utime": False,
        "ru_maxrss": False,
        "ru_minflt": False,
        "ru_nswap": True,
        "io_bytes_read": True,
        "io_bytes_written": True,
        "running": True,
        "waiting": True,
        "preempted": True,
    }
    assert "not io_bytes_read: It is not known within a range of time" in viewer.page.evaluate(f"{menu}.innerText")
    viewer.open("view=icicle&metric=io_bytes_read")
    assert viewer.view()["weight"] == "io_bytes_read" and viewer.view()["total"] == sum(tree(model, "io_bytes_read"))
    viewer.page.evaluate(
        f"(() => {{ const s = {menu}.querySelector('select'); s.value = 'ru_minflt';"
        " s.dispatchEvent(new Event('change', {bubbles: true})) })()"
    )
    viewer.page.wait_for("window.spartito.state().view?.weight === 'ru_minflt'")
    assert viewer.selection()["metric"] == "ru_minflt"
    viewer.open(f"view=callers&metric=ru_minflt&region={viewer.index_of('__main__:work')}")
    row = next(row for row in model.flat() if row["name"] == "__main__:work")["metrics"]["ru_minflt"]
    assert viewer.view()["weight"] == "ru_minflt" and (viewer.view()["incl"], viewer.view()["excl"]) == (row["incl"], row["excl"])
    # pixels; the reasons in its entries may be long
    assert viewer.page.evaluate(f"{menu}.querySelector('select').offsetWidth") < 240


def test_the_table_keeps_its_columns_in_a_range(viewer, model):
    begin, end = 0.2 * length(model), 0.6 * length(model)
    view = viewer.open(f"view=table&begin={begin!r}&end={end!r}")
    shown = {"ru_utime", "ru_maxrss", "ru_minflt", "ru_nswap", "running", "waiting", "preempted"}
    assert {column.split(":")[0] for column in view["columns"] if ":" in column} == shown
    _, flat = asked(model, "flat", begin=begin, end=end)
    names = asked(model, "regions")[0]["names"]
    for row in view["top"]:
        i = [names[region] for region in flat["region"]].index(row["name"])
        assert row["metrics"]["ru_minflt"] == [flat["metric:ru_minflt:incl"][i], flat["metric:ru_minflt:excl"][i]]
    assert "io_bytes_read" in viewer.page.evaluate("document.querySelector('.toolbar').innerText")


def points(model, metric, location, **span):
    columns = asked(model, "metrics", pixels=1024, **span)[1]
    index = [m["name"] for m in model.info()["metrics"]].index(metric)
    rows = [i for i, (m, at) in enumerate(zip(columns["metric"], columns["location"])) if (m, at) == (index, location)]
    return {name: [columns[name][i] for i in rows] for name in ("at", "value", "mean")}


def evened(line, want, length):
    """The line equals the model's at the edges of equal intervals, and its rate equals its growth in each of them."""
    assert len(line["at"]) == 1025 and line["at"][-1] - line["at"][0] == pytest.approx(length)
    for at, value in list(zip(line["at"], line["value"]))[::50]:
        i = bisect.bisect_right(want["at"], at) - 1
        if i < 0:
            assert value == 0
        elif i + 1 == len(want["at"]):
            assert value == want["value"][-1]
        else:
            slope = (want["value"][i + 1] - want["value"][i]) / (want["at"][i + 1] - want["at"][i])
            # the page and this test compute a point in time by different sums, and a metric can grow a lot in a few nanoseconds
            assert value == pytest.approx(want["value"][i] + (at - want["at"][i]) * slope, abs=1e-6 + 1e-12 * abs(slope))
    grown = [b - a for a, b in zip(line["value"], line["value"][1:])]
    assert line["rate"][1:] == pytest.approx([growth / (length / 1024) for growth in grown], rel=1e-6, abs=1e-3)


def test_curves_are_the_models(viewer, model):
    view = viewer.open("view=metrics&metric=ru_minflt")
    assert view["subject"] == "ru_minflt" and view["rates"]
    assert [line["name"] for line in view["lines"]] == [loc["name"] for loc in model.info()["locations"]]
    for line in view["lines"]:
        want = points(model, "ru_minflt", line["location"])
        evened(line, want, length(model))
        assert line["growth"] == pytest.approx(want["value"][-1])
    assert view["high"] == max(max(line["rate"][1:]) for line in view["lines"])
    assert viewer.pixels()[0] > 4
    # the rate of processor time is at most one second per second
    view = viewer.open("view=metrics&metric=ru_utime&location=0")
    (line,) = view["lines"]
    want = points(model, "ru_utime", 0)
    assert line["value"][-1] == pytest.approx(want["value"][-1] * 1e-6)
    assert viewer.page.exceptions() == []


def test_a_range_of_curves(viewer, model):
    # times that every conversion to nanoseconds rounds to the same one: the metric may grow by much within one
    begin, end = ((int(share * length(model) * 1e9) + 0.25) * 1e-9 for share in (0.25, 0.5))
    view = viewer.open(f"view=metrics&metric=ru_minflt&begin={begin!r}&end={end!r}")
    assert view["span"] == {"begin": begin, "end": end}
    for line in view["lines"]:
        want = points(model, "ru_minflt", line["location"], begin=begin, end=end)
        evened(line, want, end - begin)
    # Their growth equals the metric in the tree of the range, except growth outside of any call. A curve has one reading for each
    # pixel and the tree has all, so they interpolate differently at both ends of the range.
    _, flat = asked(model, "flat", begin=begin, end=end)
    grown = sum(line["growth"] for line in view["lines"])
    assert sum(flat["metric:ru_minflt:excl"]) <= grown * 1.01 + 1e-3


CHOOSE = """(text => {
    const input = [...document.querySelectorAll('.choice label')].find(l => l.innerText.trim() === text).querySelector('input');
    input.click();
})"""


def test_numbers_in_all_and_sums(viewer, model):
    viewer.open("view=metrics&metric=ru_minflt")
    viewer.page.evaluate(f"{CHOOSE}('Sum')")
    viewer.page.wait_for("window.spartito.state().view.rates === false")
    view = viewer.view()
    assert view["high"] == max(line["value"][-1] for line in view["lines"])
    viewer.page.evaluate(f"{CHOOSE}('Their sum')")
    viewer.page.wait_for("window.spartito.state().view.lines.length === 1")
    (line,) = viewer.view()["lines"]
    assert line["name"] == "all together" and line["location"] is None
    columns = asked(model, "metrics", name="ru_minflt", over="sum", pixels=1024)[1]
    assert line["at"] == pytest.approx(columns["at"], abs=1e-6)  # the page computes the length as a difference of dates
    # both interpolate between readings, but a curve has only one reading for each pixel
    step = max(b - a for a, b in zip(columns["value"], columns["value"][1:]))
    assert line["value"] == pytest.approx(columns["value"], abs=2 * step + 1e-6)
    assert line["value"][-1] == pytest.approx(columns["value"][-1])


def test_a_counter_is_a_curve_too(viewer, model):
    viewer.open("view=metrics")
    options = "[...document.querySelectorAll('select option')].map(o => o.value)"
    assert viewer.page.evaluate(options) == ["m:ru_utime", "m:ru_maxrss", "m:ru_minflt", "m:ru_nswap", "c:queue"]
    viewer.page.evaluate(
        "(() => { const s = document.querySelector('select'); s.value = 'c:queue';"
        " s.dispatchEvent(new Event('change', {bubbles: true})) })()"
    )
    viewer.page.wait_for("window.spartito.state().view.subject === 'queue'")
    (line,) = viewer.view()["lines"]
    assert line["value"] == [3, 8, 5] and line["at"] == list(asked(model, "counters")[1]["at"])


def test_the_keyboard_reads_values(viewer, model):
    viewer.open("view=metrics&metric=ru_maxrss")
    viewer.focus("canvas")
    viewer.key("End")
    spoken = viewer.page.evaluate("document.querySelector('canvas').getAttribute('aria-description')")
    highest = max(points(model, "ru_maxrss", location)["value"][-1] for location in (0, 1))
    assert spoken.startswith("ru_maxrss, MainThread, at ") and f"{int(highest):,} kB" in spoken
    viewer.key("ArrowDown", "ArrowDown", "Enter")
    assert viewer.selection()["location"] == 1
    x, y = viewer.box("canvas")
    viewer.drag(x + 300, y + 100, x + 500, y + 100)
    chosen = viewer.selection()
    assert 0 < chosen["begin"] < chosen["end"] < length(model)
    viewer.focus("canvas")
    viewer.key("Escape")
    assert {"begin", "end", "location"}.isdisjoint(viewer.selection())


def test_charts_above_the_timeline(viewer, model):
    view = viewer.open("view=timeline")
    assert set(view["counters"]) == {"queue"} and set(view["metrics"]) == {"ru_utime", "ru_maxrss", "ru_minflt"}
    whole = view["whole"]["end"]
    for name, scale in (("ru_utime", 1e-6), ("ru_minflt", 1)):
        assert set(view["metrics"][name]) == {"0", "1"}
        for location, shown in view["metrics"][name].items():
            want = points(model, name, int(location))
            each = whole / len(shown)
            grown = sum(point["mean"] for point in shown) * each
            most = max(point["mean"] for point in shown) * each
            assert grown == pytest.approx(want["value"][-1] * scale, abs=2 * most + 1e-9)  # tiles meet within an interval
    for location, shown in view["metrics"]["ru_maxrss"].items():
        want = points(model, "ru_maxrss", int(location))
        assert (shown[0]["mean"], shown[-1]["mean"]) == (want["value"][0], want["value"][-1])
        for point in shown:  # the tiles are finer than the curve
            i = bisect.bisect_right(want["at"], point["at"])
            assert want["value"][i - 1] <= point["mean"] <= want["value"][min(i, len(want["value"]) - 1)]
    # the pointer on the first counter shows its name and unit
    x, y = viewer.box("canvas")
    viewer.mouse("Moved", x + view["left"] + 300, y + view["ruler"] + 11 + 38 + 19)
    viewer.page.wait_for("document.querySelector('.tooltip b')?.innerText === 'ru_utime, s per second'")
    assert viewer.page.exceptions() == []


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    page = browser.Browser(tmp_path_factory.mktemp("file"))
    page.call("Emulation.setDeviceMetricsOverride", width=1200, height=800, deviceScaleFactor=1, mobile=False)
    yield page
    page.close()


def opened(page, path, hash):
    page.call("Page.navigate", url="about:blank")
    page.call("Page.navigate", url=f"{path.as_uri()}#{hash}")
    page.wait_for(READY)
    return page.evaluate("window.spartito.state().view")


def test_one_file_has_curves_and_weights(page, recorded, model, tmp_path):
    text, pruned = onefile.document(kinds.open_experiment(str(recorded)), 20 << 20, True)
    assert pruned == [] or all("timeline" in sentence for sentence in pruned)
    path = tmp_path / "x.html"
    path.write_text(text, encoding="utf-8")
    view = opened(page, path, "view=metrics&metric=ru_minflt")
    for line in view["lines"]:
        evened(line, points(model, "ru_minflt", line["location"]), length(model))
    begin, end = 0.3 * length(model), 0.6 * length(model)  # cut from the answer for the whole run
    view = opened(page, path, f"view=metrics&metric=ru_minflt&begin={begin!r}&end={end!r}&location=0")
    (line,) = view["lines"]
    whole = points(model, "ru_minflt", 0)
    assert (line["at"][0], line["at"][-1]) == pytest.approx((begin, end))
    assert all(value in whole["value"] or 0 <= value <= whole["value"][-1] for value in line["value"])
    view = opened(page, path, "view=icicle&metric=ru_minflt")
    assert view["weight"] == "ru_minflt" and view["total"] == sum(tree(model, "ru_minflt"))
    view = opened(page, path, "view=timeline")
    assert set(view["counters"]) == {"queue"} and set(view["metrics"]) == {"ru_utime", "ru_maxrss", "ru_minflt"}
    assert [point["mean"] for point in view["counters"]["queue"]["0"]] == [3, 8, 5]
    assert page.exceptions() == []


def test_data_without_space_is_reported(recorded):
    """Without space in the file, curves get fewer columns and trees by metric are left out. The page has a sentence for each."""
    experiment = kinds.open_experiment(str(recorded))
    packing = Packing(experiment, 1 << 30)
    packing.weights()
    packing.curves()
    assert packing.pruned == []
    whole = {block.key: len(block.text) for block in packing.blocks}
    metrics = {f"tree?metric={m['name']}" for m in experiment.facts()["metrics"] if m["total"]}
    assert whole.keys() == metrics | {"counters?pixels=1024", "metrics?pixels=1024"}
    few = len(packing._made("metrics", {"pixels": "64"}, {"pixels": "1024"}).text)
    assert few < whole["metrics?pixels=1024"]
    small = Packing(experiment, whole["counters?pixels=1024"] + max(few, whole["metrics?pixels=1024"] // 2))
    small.curves()
    assert len(small.pruned) == 1 and re.match(r"Metrics over time are here in (256|64) columns; `spartito view`", small.pruned[0])
    (held,) = [block for block in small.blocks if block.key == "metrics?pixels=1024"]
    assert len(held.text) <= max(few, whole["metrics?pixels=1024"] // 2)
    nothing = Packing(experiment, 100)
    nothing.weights()
    nothing.curves()
    assert nothing.blocks == [] and len(nothing.pruned) == 3
    assert "ru_minflt" in nothing.pruned[0] and nothing.pruned[1].startswith("This file does not hold counters over time")
