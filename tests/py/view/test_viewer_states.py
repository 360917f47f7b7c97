# SPDX-License-Identifier: BSD-3-Clause
"""Sampled experiments in the viewer: thread states over time, ranges of time, timelines made of samples, and the script loaded on
demand."""

import collections
import subprocess
import sys

import chrometrace
import pytest
from commandline import run
from spartito._analyse import Error
from spartito._sample import check
from spartito.analysis import Model
from spartito.view import payload
from viewing import Viewer, needs_viewer

pytestmark = [
    *needs_viewer,
    pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}"),
]
# the last two are of a Python without the GIL
STATES = ("running", "gil", "syscall", "idle", "object_lock", "stopped")
PROGRAM = """
import threading, time
def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: inner()
def inner():
    return sum(range(100_000))  # long: the system may take its time to tell the thread's
def sleeper():
    time.sleep(1)
def work():
    busy(0.4)
threads = [threading.Thread(target=sleeper), threading.Thread(target=work)]
for t in threads: t.start()
busy(0.4)
for t in threads: t.join()
"""


def measure(place, name, program, *options):
    (place / "program.py").write_text(program)
    command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", name, "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=place, check=True)
    return place / name


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("states")


@pytest.fixture(scope="module")
def recorded(place):
    return measure(place, "x", PROGRAM, "--sample", "--sample-rate", "500")


@pytest.fixture(scope="module")
def model(recorded):
    return Model(str(recorded))


@pytest.fixture(scope="module")
def viewer(recorded, tmp_path_factory):
    v = Viewer(recorded, tmp_path_factory.mktemp("browser"))
    yield v
    assert v.page.exceptions() == []
    v.close()


def location(model, function):
    """The thread in which this was the outermost function of the program."""
    found = range(len(model.info()["locations"]))
    return next(i for i in found if any(row["name"] == f"__main__:{function}" for row in model.flat(location=i)))


def label(model, function):
    return model.info()["locations"][location(model, function)]["name"]


def ask(model, kind, **parameters):
    return payload.unpack(model.view(kind, **parameters))


def test_states_of_several_threads_together(model):
    n = len(model.info()["locations"])
    _, each = ask(model, "states", pixels=50)
    meta, columns = ask(model, "states", pixels=50, rows=f"0-0,2-{n - 1}", limit=1)
    assert meta["rows"] == n and set(columns["location"]) == {0} and set(columns["path"]) == {payload.NONE}
    for state in STATES:
        sums = collections.Counter()
        for location, bucket, share in zip(each["location"], each["bucket"], each[state]):
            if location != 1:
                sums[bucket] += share / (n - 1)
        for bucket, share in zip(columns["bucket"], columns[state]):
            assert share == pytest.approx(sums[bucket], abs=1e-5)
    assert sum(columns["samples"]) == sum(s for location, s in zip(each["location"], each["samples"]) if location != 1)


def states(model, at, **parameters):
    """Seconds of a location in each state."""
    meta, columns = ask(model, "states", location=at, **parameters)
    width = (meta["end"] - meta["begin"]) / meta["pixels"]
    return {state: sum(columns[state]) * width for state in STATES}


def late(model, least=0.1):
    """Seconds by which two sums may differ if one counts the time before a sample and the other the time after it: the longest time
    without a sample of any thread, which is long on a busy machine."""
    meta, columns = ask(model, "states", pixels=16384)
    begun = sorted({bucket for bucket, looks in zip(columns["bucket"], columns["samples"]) if looks})
    gaps = (b - a for a, b in zip([0, *begun], [*begun, meta["pixels"]]))
    return max(least, (max(gaps) + 1) * (meta["end"] - meta["begin"]) / meta["pixels"])


def names_of_paths(model):
    _, tree = ask(model, "tree")
    regions = ask(model, "regions")[0]["names"]
    return {path: regions[region] for path, region in zip(tree["path"], tree["region"])}


# ---- answers ----


@pytest.mark.parametrize("pixels", [7, 1000, 16384])
def test_states_are_those_of_the_profile(model, pixels):
    for name, most in (("sleeper", "idle"), ("work", "running"), ("<module>", "running")):
        at = location(model, name)
        found = states(model, at, pixels=pixels)
        assert found == pytest.approx(states(model, at, pixels=1), rel=1e-3, abs=1e-4)
        whole = {row["name"]: row["metrics"] for row in model.flat(location=at)}
        there = [s for s in STATES if f"sampled_{s}" in next(iter(whole.values()))]
        profile = {s: sum(metrics[f"sampled_{s}"]["excl"] for metrics in whole.values()) / 1e9 for s in there}
        # The profile assigns the time before a sample to its state, the timeline the time after it. Late samples move time from one
        # state to another, or to none.
        (process,) = model.info()["processes"]
        # nothing is drawn for missed samples
        missed = 2 * int(process["meta"]["sample_late"]) / int(process["meta"]["sample_rate"])
        assert sum(found.values()) == pytest.approx(sum(profile.values()), abs=late(model) + missed)
        if name != "<module>":
            assert (found["idle"] > found["running"]) == (most == "idle")


def test_a_part_has_its_shares_and_its_path(model):
    at = location(model, "work")
    meta, columns = ask(model, "states", location=at, pixels=50)
    names = names_of_paths(model)
    assert meta["pixels"] == 50 and set(columns["location"]) == {at} and list(columns["bucket"]) == sorted(set(columns["bucket"]))
    for row in range(len(columns["bucket"])):
        assert 0 < sum(columns[s][row] for s in STATES) <= 1 + 1e-5
    found = {names[path] for path in columns["path"] if path != payload.NONE}
    assert "__main__:inner" in found and "__main__:sleeper" not in found
    # equal successive samples are merged
    assert 1 < sum(columns["samples"]) <= sum(row["metrics"]["samples"]["excl"] for row in model.flat(location=at))


HELPERS = """
import os, time
os.environ["OPENBLAS_NUM_THREADS"] = "2"
import numpy
a = numpy.ones((400, 400))
for i in range(4):
    for k in range(5): a @ a
    time.sleep(0.3)
"""


def test_a_sample_stands_for_two_periods_at_most(place):
    pytest.importorskip("numpy")
    model = Model(str(measure(place, "helpers", HELPERS, "--sample", "--sample-native", "--sample-rate", "200")))
    info = model.info()
    period = 1 / int(info["processes"][0]["meta"]["sample_rate"])
    for at in range(len(info["locations"])):
        looks = sum(row["metrics"]["samples"]["excl"] for row in model.flat(location=at))
        assert sum(states(model, at).values()) <= 2 * period * (looks + 1) + 1e-3
        _, drawn = ask(model, "timeline", location=at)
        top = sum(b - a for a, b, depth in zip(drawn["begin"], drawn["end"], drawn["depth"]) if depth == 0)
        assert top <= 2 * period * (looks + 1) + 1e-3


def test_rows_choose_locations(model):
    n = len(model.info()["locations"])
    one = ask(model, "states", rows="1-1", pixels=10)[1]["location"]
    assert set(one) == {1} and set(ask(model, "states", rows=f"0-{n - 1}")[1]["location"]) == set(range(n))


def sums(model, **selected):
    _, columns = ask(model, "tree", **selected)
    meta, flat = ask(model, "flat", **selected)
    idle = flat["metric:sampled_idle:excl"]
    return sum(columns["excl"]), sum(idle) / 1e9, meta


def test_a_range_of_time_has_what_was_found_in_it(model):
    end = model.info()["end"] - model.info()["begin"]
    at = location(model, "sleeper")
    whole = sums(model, location=at)[0]
    for cut in (end / 3, end / 2):
        first, first_idle, meta = sums(model, location=at, begin=0, end=cut)
        second, second_idle, _ = sums(model, location=at, begin=cut, end=end)
        assert first + second == pytest.approx(whole, abs=late(model))
        assert first_idle + second_idle == pytest.approx(states(model, at)["idle"], abs=1e-3)
        assert meta["unranged"] == ["samples"]
        assert first_idle == pytest.approx(states(model, at, begin=0, end=cut)["idle"], abs=1e-3)
    cpu = [
        ask(model, "tree", metric="sampled_cpu", location=location(model, "work"), **part)[1]
        for part in ({}, {"begin": 0, "end": end})
    ]
    before, behind = (sum(one["metric:sampled_cpu:excl"]) / 1e9 for one in cpu)
    assert before == pytest.approx(behind, abs=late(model, 0.05))
    balance = ask(model, "balance", over="threads", begin=0, end=end)[1]
    assert sum(balance["excl"]) == pytest.approx(sums(model, begin=0, end=end)[0])


def test_functions_are_ordered_by_the_time_in_which_they_ran(viewer, model):
    """sleeper() has the longest self time of its thread, but it only waited."""
    end = model.info()["end"] - model.info()["begin"]
    sleeper = payload.unpack(model.view("regions"))[0]["names"].index("__main__:sleeper")
    for part in ({}, {"begin": 0, "end": end}):
        shown = viewer.open("&".join(["view=table", *(f"{name}={value!r}" for name, value in part.items())]))
        assert shown["columns"][:3] == ["name", "running", "waiting"] and shown["sorting"] == {"id": "running", "down": True}
        assert shown["top"][0]["name"] == "__main__:inner" and shown["top"][0]["running"] > 0.4
        columns = ask(model, "flat", **part)[1]
        row = list(columns["region"]).index(sleeper)
        assert columns["waiting"][row] > 0.8 * columns["excl"][row] > 0.5 and columns["running"][row] < 0.2
    assert viewer.open("view=summary")["functions"][0][0] == "__main__:inner"
    _, columns = ask(model, "flat")
    reported = {row["index"]: row["running"] for row in model.flat()}
    assert dict(zip(columns["region"], columns["running"])) == pytest.approx(reported)
    assert list(columns["running"]) == sorted(columns["running"], reverse=True)
    balance = ask(model, "balance", over="threads")[1]
    assert sum(balance["running"]) == pytest.approx(sum(columns["running"]))


def slices(place, model):
    """{location: [(function, begin, end)]} read from the Chrome trace of the model."""
    tids = [loc["tid"] for loc in model.info()["locations"]]
    found = {i: [] for i in range(len(tids))}
    for tid, names, begin, end in chrometrace.slices(model, place / "x.json"):
        found[tids.index(tid)].append((names[-1], begin, end))
    return {at: sorted(rows, key=lambda row: row[1:]) for at, rows in found.items()}


def test_the_time_line_has_functions_as_other_formats_do(place, model):
    regions = ask(model, "regions")[0]["qualnames"]
    expected = slices(place, model)
    for at in range(len(model.info()["locations"])):
        meta, rows = ask(model, "timeline", location=at, pixels=16384)
        assert meta["exact"] or sum(rows["calls"]) >= len(expected[at])
        assert min(rows["begin"]) == pytest.approx(min(b for _, b, _ in expected[at]), abs=1e-5)
        assert max(rows["end"]) == pytest.approx(max(e for _, _, e in expected[at]), abs=1e-5)
        if meta["exact"]:
            mine = sorted((b, e, regions[r]) for b, e, r in zip(rows["begin"], rows["end"], rows["region"]))
            assert len(mine) == len([row for row in expected[at] if row[2] > row[1]])
        # a range shows the same calls with their own begin and end
        middle = sum(ask(model, "states")[0][edge] for edge in ("begin", "end")) / 2
        part = ask(model, "timeline", location=at, begin=middle - 0.05, end=middle + 0.05, pixels=16384)[1]
        outer = [(b, e) for b, e, d in zip(rows["begin"], rows["end"], rows["depth"]) if d == 0 and b < middle < e]
        assert [(b, e) for b, e, d in zip(part["begin"], part["end"], part["depth"]) if d == 0 and b < middle < e] == outer
    overview = ask(model, "overview", pixels=100)[1]
    sleeping = {regions[r] for loc, r in zip(overview["location"], overview["region"]) if loc == location(model, "sleeper")}
    assert "sleeper" in sleeping


def test_what_needs_a_trace_says_so(model):
    for kind, parameters in (("markers", {}), ("counters", {}), ("metrics", {}), ("steps", {})):
        with pytest.raises(Error, match="needs a trace, and this experiment has none"):
            model.view(kind, **parameters)


def test_samples_beside_a_trace_have_states_too(tmp_path):
    both = Model(str(measure(tmp_path, "x", PROGRAM, "--sample", "--trace")))
    found = states(both, location(both, "sleeper"))
    assert found["idle"] > 0.1
    end = both.info()["end"] - both.info()["begin"]
    # functions come from the trace, also within a range of time
    visits = ask(both, "tree", begin=0, end=end)[1]["visits"]
    assert sum(visits) > 0 and min(ask(both, "timeline", location=0)[1]["calls"]) > 0


# ---- the page ----


def test_the_rows_show_states(viewer, model):
    view = viewer.open("view=states")
    assert {row["label"] for row in view["rows"]} >= {"MainThread", label(model, "sleeper"), label(model, "work")}
    for name in ("sleeper", "work"):
        at = location(model, name)
        assert view["bands"][str(at)] == pytest.approx(list(states(model, at, pixels=1024).values()), abs=0.02)
    colours, drawn = viewer.pixels()
    assert colours > 4
    dark = viewer.open("view=states&theme=dark")
    assert dark["bands"] == view["bands"] and viewer.pixels()[1] != drawn
    key = viewer.page.evaluate("[...document.querySelectorAll('.key li')].map((li) => li.textContent)")
    assert key == ["running", "waiting for the GIL", "in a system call", "idle"]


def at_row(viewer, view, name, share=0.5):
    row = next(row for row in view["rows"] if row["label"] == name)
    x, y = viewer.box("canvas")
    return x + view["left"] + (view["width"] - view["left"]) * share, y + row["y"] + 8


def tooltip(viewer):
    return viewer.page.evaluate("document.querySelector('.tooltip').innerText")


def test_the_pointer_tells_state_and_stack_and_a_click_selects_it(viewer, model):
    view = viewer.open("view=states")
    _, columns = ask(model, "states", location=location(model, "sleeper"), pixels=100)
    names = names_of_paths(model)
    asleep = (names.get(path) == "__main__:sleeper" for path in columns["path"])
    row = max(i for i, (idle, there) in enumerate(zip(columns["idle"], asleep)) if idle > 0.9 and there)
    x, y = at_row(viewer, view, label(model, "sleeper"), (columns["bucket"][row] + 0.5) / 100)
    viewer.mouse("Moved", x, y)
    stack = viewer.ready()["tip"]["stack"]
    text = tooltip(viewer)
    assert "idle" in text and text.splitlines()[0].endswith(": __main__:sleeper") and "samples that began" in text
    assert stack[-1] == "__main__:sleeper" and all(caller in text for caller in stack)
    pinned = viewer.click(x, y)["pinned"]
    assert pinned["stack"] == stack
    regions = viewer.index_of("__main__:sleeper")
    assert viewer.selection()["path"][-1] == regions and viewer.selection()["region"] == regions


def test_keys_open_rows_and_select_a_range_that_all_share(viewer, model):
    viewer.open("view=states")
    viewer.focus("canvas")
    view = viewer.key("ArrowDown", "ArrowDown")
    assert view["focus"]["row"] == 1
    spoken = viewer.page.evaluate("document.querySelector('canvas').getAttribute('aria-description')")
    assert view["rows"][1]["label"] in spoken
    opened = viewer.key("Enter")
    assert opened["rows"][1]["open"] and opened["blocks"]
    viewer.key("w", "w", "w", "R")
    begin, end = viewer.selection()["begin"], viewer.selection()["end"]
    assert 0 < end - begin < 0.9 * (model.info()["end"] - model.info()["begin"])
    x, y = viewer.box(".tabs .group:nth-child(2) > button")  # Functions: its first view is the table
    view = viewer.click(x + 5, y + 5)
    assert viewer.selection()["view"] == "table" and viewer.selection()["begin"] == begin
    assert view["total"] == pytest.approx(sums(model, begin=begin, end=end)[0])
    assert "excl" in view["columns"] and "visits" not in view["columns"]  # samples do not count calls


@pytest.mark.parametrize(
    "view", ["summary", "table", "icicle", "sunburst", "bottomup", "callers", "graph", "balance", "timeline", "flame"]
)
@pytest.mark.parametrize("metric", ["", "sampled_idle", "sampled_cpu"])
def test_every_page_shows_samples(viewer, view, metric):
    found = viewer.open(f"view={view}" + (f"&metric={metric}" if metric else ""))
    text = viewer.page.evaluate("document.querySelector('main').innerText")
    if view == "summary":
        assert "busy" in " ".join(found["sentences"]) or "inner" in " ".join(found["sentences"])
    assert found["ready"] and "nothing to show" not in text and "failed" not in text
    if view in ("icicle", "sunburst", "bottomup", "callers", "graph"):
        assert found["weight"] == (metric or "time")
        assert (found.get("total") or found.get("incl") or found["nodes"][0]["incl"]) > 0
    if view == "callers" and metric == "sampled_idle":
        assert found["name"].endswith(("wait", "sleeper", "join", "_wait_for_tstate_lock", "<module>")), found["name"]


def test_the_second_script_comes_when_a_page_of_it_is_opened(recorded, tmp_path_factory):
    v = Viewer(recorded, tmp_path_factory.mktemp("browser"))
    try:
        v.open("view=table")
        assert v.page.evaluate("[...document.scripts].map((s) => s.src.split('/').pop())") == ["app.js"]
        assert v.show("states")["bands"]
        assert v.page.evaluate("[...document.scripts].map((s) => s.src.split('/').pop())") == ["more.js", "app.js"]
        # when the server does not answer, the view offers to try again
        v.page.call("Page.navigate", url="about:blank")
        v.open("view=table")
        v.page.call("Network.enable")
        v.page.call("Network.setBlockedURLs", urls=["*more.js"])
        v.page.evaluate("window.spartito.store.select({ view: 'states' })")
        v.page.wait_for("document.body.innerText.includes('This view could not be loaded')")
        v.page.call("Network.setBlockedURLs", urls=[])
        v.show("table")
        assert v.show("states")["bands"]
    finally:
        v.close()


def test_a_file_has_states_and_the_second_script(recorded, place, tmp_path_factory):
    from browser import Browser

    done = run([sys.executable, "-m", "spartito"], "html", recorded, "-o", place / "x.html")
    assert done.returncode == 0, done.stderr
    b = Browser(tmp_path_factory.mktemp("browser"))
    try:
        b.call("Page.navigate", url=f"file://{place / 'x.html'}#view=states")
        b.wait_for("window.spartito?.state().view?.ready")
        assert b.evaluate("Object.values(window.spartito.state().view.bands).length") >= 3
        assert b.exceptions() == []
    finally:
        b.close()


def test_without_samples_it_says_how_to_take_them(tmp_path, tmp_path_factory):
    v = Viewer(measure(tmp_path, "x", "def f(): pass\nf()\n"), tmp_path_factory.mktemp("browser"))
    try:
        v.page.call("Page.navigate", url=f"{v.url}#view=states")
        v.page.wait_for("document.body?.innerText.includes('spartito run --sample takes them')")
    finally:
        v.close()
