# SPDX-License-Identifier: BSD-3-Clause
"""The timeline and the flame chart over time in a real browser: what they show equals the model."""

import re
import subprocess
import sys
import time

import browser
import pytest
from spartito.analysis import Model
from spartito.view import payload
from viewing import Viewer, needs_viewer

pytestmark = needs_viewer
PROGRAM = """
import threading, time, spartito
def leaf():
    time.sleep(0.02)
def work(n):
    for _ in range(n):
        leaf()
def helper():
    work(4)
thread = threading.Thread(target=helper, name="helper")
thread.start()
for value in (3, 8, 5):
    spartito.counter("queue", value)
    work(2)
    spartito.marker(f"reached {value}")
thread.join()
"""


def measure(place):
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "x", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=place, check=True)
    return place / "x"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("timeline"))


def times_of(model, location):
    return {row["name"]: row for row in model.flat(location=location) if row["kind"] != "root"}


def is_dominant_where_it_ran(view, model, location):
    """The colours of a row cover the time of each function with long calls, which no other function hides."""
    column = (view["whole"]["end"] - view["whole"]["begin"]) / 1024
    found = view["dominance"][str(location)]
    rows = [row for row in times_of(model, location).values() if row["excl"] > 0.05 * model.info()["locations"][location]["busy"]]
    rows = [row for row in rows if row["mean"] > 4 * column and row["min"] > column]
    for row in rows:
        # both ends of a call may be in columns coloured for other functions, and a share has 255 steps
        near = 2 * column * row["visits"] + row["excl"] / 200
        assert found.get(row["name"], 0) == pytest.approx(row["excl"], abs=near), row["name"]
    return rows


def test_rows_are_threads_and_show_what_ran(viewer, recorded):
    view = viewer.open("view=timeline")
    model = Model(str(recorded))
    locations = model.info()["locations"]
    assert [row["label"] for row in view["rows"]] == [location["name"] for location in locations]
    assert view["whole"]["end"] == pytest.approx(model.info()["end"] - model.info()["begin"])
    assert [row["name"] for row in is_dominant_where_it_ran(view, model, 1)] != []
    assert view["problem"] == ""
    assert viewer.page.exceptions() == []


def test_a_row_tells_when_its_thread_waited(viewer, recorded):
    view = viewer.open("view=timeline")
    model = Model(str(recorded))
    for i in range(len(model.info()["locations"])):
        whole = sum(row["metrics"]["waiting"]["excl"] for row in model.flat(location=i)) * 1e-9
        assert view["waiting"][str(i)] == pytest.approx(whole, rel=0.03, abs=0.003)
    # the pointer, in the middle of what waited longest
    meta, columns = payload.unpack(model.view("overview", location=1, pixels=100))
    bucket = max((waiting, bucket) for waiting, bucket in zip(columns["waiting"], columns["bucket"]))[1]
    helper = next(row for row in view["rows"] if row["label"] == "helper")
    x, y = viewer.box("canvas")
    x += view["left"] + (view["width"] - view["left"]) * (bucket + 0.5) / 100
    viewer.mouse("Moved", x, y + helper["y"] + 8)
    viewer.ready()
    assert re.search(r"waited\s+\d+(\.\d+)? % of the", viewer.page.evaluate("document.querySelector('.tooltip').innerText"))


def test_an_open_row_is_its_call_stack(viewer, recorded):
    view = viewer.open("view=timeline")
    x, y = viewer.box("canvas")
    helper = next(row for row in view["rows"] if row["label"] == "helper")
    view = viewer.click(x + 10, y + helper["y"] + 8)
    assert next(row for row in view["rows"] if row["label"] == "helper")["open"]
    rows = times_of(Model(str(recorded)), helper["location"])
    for name in ("__main__:leaf", "__main__:work", "__main__:helper"):
        calls = [b for b in view["blocks"] if b["region"] == name and b["calls"] == 1]
        assert len({b["begin"] for b in calls}) == rows[name]["visits"]
        whole = {b["begin"]: b["end"] - b["begin"] for b in calls}
        assert sum(whole.values()) == pytest.approx(rows[name]["incl"], abs=1e-6)
        assert {b["depth"] for b in calls} == {calls[0]["depth"]}


def test_the_flame_shows_one_thread_in_time_order(viewer, recorded):
    model = Model(str(recorded))
    busiest = max(range(2), key=lambda i: model.info()["locations"][i]["running"])
    assert {b["location"] for b in viewer.open("view=flame")["blocks"]} == {busiest}
    view = viewer.open("view=flame&location=1")
    assert {b["location"] for b in view["blocks"]} == {1}
    leaves = {b["begin"]: b for b in view["blocks"] if b["region"] == "__main__:leaf" and b["calls"] == 1}
    assert len(leaves) == 4
    # a call lies within its caller's call
    work = next(b for b in view["blocks"] if b["region"] == "__main__:work")
    assert all(work["begin"] <= b["begin"] <= b["end"] <= work["end"] and b["depth"] == work["depth"] + 1 for b in leaves.values())


def test_wheel_and_keys_zoom_and_move(viewer):
    whole = viewer.open("view=timeline")["span"]
    x, y = viewer.box("canvas")
    view = viewer.wheel(x + 700, y + 80, -300)
    at = (700 - view["left"]) / (view["width"] - view["left"])
    moment = whole["begin"] + at * (whole["end"] - whole["begin"])
    span = view["span"]
    assert span["end"] - span["begin"] < 0.7 * (whole["end"] - whole["begin"])
    assert span["begin"] + at * (span["end"] - span["begin"]) == pytest.approx(moment, rel=0.02)
    viewer.focus("canvas")
    closer = viewer.key("w")["span"]
    assert closer["end"] - closer["begin"] == pytest.approx((span["end"] - span["begin"]) / 1.5)
    assert viewer.key("d")["span"]["begin"] > closer["begin"]
    assert viewer.key("a", "s")["span"]["begin"] == pytest.approx(span["begin"], abs=1e-9)
    dragged = viewer.drag(x + 700, y + 80, x + 600, y + 80)["span"]
    assert dragged["begin"] > span["begin"]
    assert dragged["end"] - dragged["begin"] == pytest.approx(span["end"] - span["begin"])
    assert viewer.key("0")["span"] == whole


def test_the_keyboard_reaches_calls(viewer):
    view = viewer.open("view=flame&location=1")
    call = max((b for b in view["blocks"] if b["depth"] == 1), key=lambda b: b["end"] - b["begin"])
    # keyboard navigation begins in the middle of the call
    viewer.open(f"view=flame&location=1&begin={call['begin']!r}&end={call['end']!r}")
    viewer.focus("canvas")
    view = viewer.key("ArrowDown", "ArrowDown", "ArrowDown")
    assert view["focus"]["lane"] == 1
    spoken = viewer.page.evaluate("document.querySelector('canvas').getAttribute('aria-description')")
    assert spoken.startswith("helper: ")
    name = spoken.removeprefix("helper: ").split(",")[0]
    viewer.key("Enter")
    chosen = viewer.selection()
    region = viewer.page.evaluate(f"window.spartito.store.source.get('regions').then(c => c.meta.names[{chosen['region']}])")
    assert region == name
    assert len(chosen["path"]) == 2


def units_of(text):
    """Seconds of the first time in a text."""
    number, unit = re.search(r"([\d.]+) (ns|µs|ms|s)\b", text).groups()
    return float(number) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]


def test_a_range_is_selected_for_all_views(viewer, recorded):
    view = viewer.open("view=timeline")
    x, y = viewer.box("canvas")
    whole, left, width = view["whole"]["end"], view["left"], view["width"]
    per_pixel = whole / (width - left)
    view = viewer.drag(x + left + 200, y + 100, x + left + 500, y + 100, shift=True)
    assert view["range"] == pytest.approx([200 * per_pixel, 500 * per_pixel], rel=0.02)
    assert viewer.selection()["begin"] == view["range"][0]
    begin, end = view["range"]
    _, columns = payload.unpack(Model(str(recorded)).view("flat", begin=begin, end=end, limit=1))
    until, right = time.monotonic() + browser.PATIENCE, pytest.approx(columns["running"][0], rel=0.01)
    # until the answer arrives, the list shows the previous range
    while (text := viewer.page.evaluate("document.querySelector('.inrange li')?.innerText")) is None or units_of(text) != right:
        assert time.monotonic() < until, (text, right)
        time.sleep(0.05)
    assert view["span"]["end"] == whole  # the timeline keeps its span
    x, y = viewer.box("canvas")  # the selection is shown above it
    view = viewer.drag(x + left + 600, y + view["ruler"], x + left + 400, y + 100)  # a drag from the ruler
    assert view["range"] == pytest.approx([400 * per_pixel, 600 * per_pixel], rel=0.02)
    viewer.focus("canvas")
    assert viewer.key("Escape")["range"] is None
    assert viewer.key("r")["range"] == [0, whole]


TIP = "document.querySelector('.tooltip')?.innerText ?? ''"
DETAILS = "document.querySelector('.details').innerText"


def opened(viewer):
    """The timeline with the open row of the helper."""
    view = viewer.open("view=timeline")
    x, y = viewer.box("canvas")
    helper = next(row for row in view["rows"] if row["label"] == "helper")
    viewer.click(x + 10, y + helper["y"] + 8)
    return viewer.key("Escape")  # the click has pinned the row


def middle_of(viewer, view, call):
    x, y = viewer.box("canvas")
    row = next(row for row in view["rows"] if row["location"] == call["location"])
    span = view["span"]
    at = ((call["begin"] + call["end"]) / 2 - span["begin"]) / (span["end"] - span["begin"])
    return x + view["left"] + at * (view["width"] - view["left"]), y + row["y"] + view["high"] + 18 * call["depth"] + 9


def test_the_pointer_shows_a_call_and_its_callers_beside_it(viewer, recorded):
    view = opened(viewer)
    before = viewer.page.evaluate(DETAILS)
    call = next(b for b in view["blocks"] if b["region"] == "__main__:work" and b["location"] == 1)
    viewer.mouse("Moved", *middle_of(viewer, view, call))
    view = viewer.ready()
    tip = view["tip"]
    assert tip["title"] == "__main__:work" and tip["stack"][-2:] == ["__main__:helper", "__main__:work"]
    assert units_of(tip["pairs"]["takes"]) == pytest.approx(call["end"] - call["begin"], rel=0.01)
    # it sleeps in all its calls
    waited = re.fullmatch(r"([\d.]+) % of the .*", tip["pairs"]["waited"])
    assert float(waited[1]) + float(tip["pairs"]["ran"].removesuffix(" %")) == pytest.approx(100, abs=0.2)
    text = viewer.page.evaluate(TIP)
    assert text.startswith("__main__:work") and "called by" in text and "__main__:helper" in text
    # the element below the picture does not follow the pointer
    assert viewer.page.evaluate(DETAILS) == before and view["pinned"] is None
    x, y = viewer.box("canvas")
    viewer.mouse("Moved", x + 10, y + view["top"] + 10)
    viewer.ready()
    assert viewer.page.evaluate(TIP) == ""


def test_a_click_pins_a_call_with_its_stack_and_links(viewer):
    view = opened(viewer)
    call = next(b for b in view["blocks"] if b["region"] == "__main__:leaf" and b["calls"] == 1 and b["location"] == 1)
    view = viewer.click(*middle_of(viewer, view, call))
    assert view["pinned"]["title"] == "__main__:leaf"
    stack = view["pinned"]["stack"]
    assert stack[-2:] == ["__main__:work", "__main__:leaf"]
    # the pointer elsewhere changes nothing
    x, y = viewer.box("canvas")
    viewer.mouse("Moved", x + view["left"] + 5, y + view["rows"][0]["y"] + 8)
    assert viewer.ready()["pinned"]["title"] == "__main__:leaf"
    names = viewer.page.evaluate("[...document.querySelectorAll('.stack button')].map((b) => b.title)")
    assert names == stack[::-1]
    # a caller selects its path
    viewer.page.evaluate("document.querySelectorAll('.stack button')[1].click()")
    viewer.ready()
    assert viewer.selection()["region"] == viewer.index_of("__main__:work") and len(viewer.selection()["path"]) == len(stack) - 1
    assert viewer.page.evaluate("document.querySelectorAll('.stack button')[1].ariaPressed") == "true"
    assert viewer.view()["pinned"]["title"] == "__main__:leaf"
    links = viewer.page.evaluate("[...document.querySelectorAll('.pinned .link')].map((b) => b.innerText)")
    assert links == ["Callers", "Source", "Table", "Icicle"]
    for index, shown in enumerate(["callers", "source", "table", "icicle"]):
        view = opened(viewer)
        viewer.click(*middle_of(viewer, view, call))
        viewer.page.evaluate(f"document.querySelectorAll('.pinned .link')[{index}].click()")
        viewer.ready()
        assert viewer.selection()["view"] == shown
        assert viewer.selection()["region"] == viewer.index_of("__main__:leaf") and len(viewer.selection()["path"]) == len(stack)


def test_escape_or_the_cross_unpins(viewer):
    view = opened(viewer)
    call = next(b for b in view["blocks"] if b["region"] == "__main__:leaf" and b["calls"] == 1 and b["location"] == 1)
    assert viewer.click(*middle_of(viewer, view, call))["pinned"]
    viewer.page.evaluate("document.querySelector('.unpin').click()")
    assert viewer.ready()["pinned"] is None
    # the picture has the focus of the keyboard
    assert viewer.page.evaluate("document.activeElement.tagName") == "CANVAS"
    assert viewer.click(*middle_of(viewer, view, call))["pinned"]
    viewer.page.evaluate("document.querySelector('.stack button').focus()")
    assert viewer.key("Escape")["pinned"] is None
    assert viewer.click(*middle_of(viewer, view, call))["pinned"]
    viewer.focus("canvas")
    view = viewer.key("Escape")
    assert view["pinned"] is None and viewer.selection()["region"] == viewer.index_of("__main__:leaf")
    viewer.key("Escape")
    assert "region" not in viewer.selection()


def test_a_bar_of_a_closed_row_is_pinned_with_its_stack(viewer, recorded):
    view = viewer.open("view=timeline")
    helper = next(row for row in view["rows"] if row["label"] == "helper")
    _, columns = payload.unpack(Model(str(recorded)).view("overview", location=1, pixels=100))
    _, bucket, region = max(zip(columns["waiting"], columns["bucket"], columns["region"]))
    name = viewer.page.evaluate(f"window.spartito.store.source.get('regions').then(c => c.meta.names[{region}])")
    x, y = viewer.box("canvas")
    view = viewer.click(x + view["left"] + (view["width"] - view["left"]) * (bucket + 0.5) / 100, y + helper["y"] + 8)
    assert view["pinned"]["title"] == name and view["pinned"]["stack"][-1] == name
    assert not next(row for row in view["rows"] if row["label"] == "helper")["open"]


def test_the_pinned_element_is_complete_on_a_narrow_page(viewer):
    view = opened(viewer)
    call = next(b for b in view["blocks"] if b["region"] == "__main__:leaf" and b["calls"] == 1 and b["location"] == 1)
    viewer.click(*middle_of(viewer, view, call))
    try:
        viewer.size(390, 844)
        viewer.ready()
        fits = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.details'))"
        assert viewer.page.evaluate(fits)
        # the last entry of the stack can be scrolled into view
        last = "[...document.querySelectorAll('.stack button')].at(-1)"
        viewer.page.evaluate(f"{last}.scrollIntoView()")
        seen = viewer.page.evaluate(f"(({{ top, bottom }}) => top >= 0 && bottom <= innerHeight)({last}.getBoundingClientRect())")
        assert seen
    finally:
        viewer.size(1280, 800)


def test_counters_and_markers(viewer, recorded):
    view = viewer.open("view=timeline")
    ((location, points),) = view["counters"]["queue"].items()
    assert [point["mean"] for point in points] == [3, 8, 5]
    assert [mark["text"] for mark in view["markers"]] == ["reached 3", "reached 8", "reached 5"]
    # the program sets each marker two calls after its value
    leaves = Model(str(recorded)).flat(location=int(location), match="leaf")
    for point, mark in zip(points, view["markers"]):
        assert mark["location"] == int(location)
        assert mark["time"] - point["at"] >= 2 * leaves[0]["min"]
    # the pointer on the counter shows its name
    x, y = viewer.box("canvas")
    at = view["left"] + (points[1]["at"] + 0.01) / view["whole"]["end"] * (view["width"] - view["left"])
    viewer.mouse("Moved", x + at, y + view["top"] - 10)
    viewer.page.wait_for("document.querySelector('.tooltip b')?.innerText === 'counter queue'")
    assert "8" in viewer.page.evaluate("document.querySelector('.tooltip dl').innerText")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_not_empty_and_the_same_again(viewer, theme):
    viewer.open(f"view=timeline&theme={theme}")
    colours, sum_of_all = viewer.pixels()
    assert colours > 20
    viewer.open(f"view=timeline&theme={theme}")
    assert viewer.pixels() == (colours, sum_of_all)


def test_the_run_in_small_has_all_threads(tmp_path, tmp_path_factory):
    (tmp_path / "program.py").write_text("""
import threading
gate = threading.Barrier(71)
def work(n):
    gate.wait()
    sum(range(n * 1000))
threads = [threading.Thread(target=work, args=(i,)) for i in range(70)]
for t in threads: t.start()
gate.wait()
for t in threads: t.join()
""")
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "x", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True)
    viewer = Viewer(tmp_path / "x", tmp_path_factory.mktemp("many"))
    try:
        viewer.open("view=timeline")
        viewer.page.wait_for("window.spartito.state().view.small.length > 0")
        shown = viewer.view()["small"]
        assert viewer.page.exceptions() == []
    finally:
        viewer.close()
    meta, columns = payload.unpack(Model(str(tmp_path / "x")).view("overview", limit=22, pixels=256))
    assert (meta["rows"], meta["groups"], len(shown)) == (71, 22, 22)
    sums = dict.fromkeys(columns["location"], 0.0)
    for location, share in zip(columns["location"], columns["share"]):
        sums[location] += share / 256
    assert len(sums) == 22 and shown == pytest.approx(list(sums.values()), abs=1 / 255)
