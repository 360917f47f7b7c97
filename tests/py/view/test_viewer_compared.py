# SPDX-License-Identifier: BSD-3-Clause
"""Two compared runs in a real browser: every view's numbers of the other run equal those of the model of that run alone."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from spartito.analysis import Model
from spartito.notebook.result import Result
from test_viewer_views import PROGRAM, close, measure
from viewing import Viewer, WithoutPreemption, needs_viewer, ranks_of_heat

pytestmark = needs_viewer
RECORDED = ("--trace", "--io", "--lines", "__main__:lines")


@pytest.fixture(scope="module")
def now(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("now"), *RECORDED)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The other run: more work, one line added, one removed, and a renamed coroutine, in another directory."""
    place = tmp_path_factory.mktemp("base")
    text = PROGRAM.replace("fib(9)", "fib(11)").replace("even(12)", "even(2)").replace("nap()", "doze()")
    text = text.replace("        total += leaf(i)\n", "        i = int(i)\n        total += leaf(i)\n")
    return measure(place, *RECORDED, program=text)


@pytest.fixture(scope="module")
def there(base):
    return WithoutPreemption(base)


@pytest.fixture(scope="module")
def viewer(now, base, tmp_path_factory):
    v = Viewer(now, tmp_path_factory.mktemp("compared"), "--compare", base)
    yield v
    assert v.page.exceptions() == []
    v.close()


def shown(v, selector):
    """The text of an element, which may appear some time after the view."""
    v.page.wait_for(f"document.querySelector({selector!r}) !== null")
    return v.page.evaluate(f"document.querySelector({selector!r}).innerText")


def test_bottom_up(viewer, there):
    before = {row["name"]: row for row in there.flat()}
    view = viewer.open("view=bottomup")
    for row in view["rows"]:
        assert close(row["before"], before.get(row["name"], {"excl": 0})["excl"]), row["name"]
    assert {"__main__:nap", "__main__:doze"} <= {row["name"] for row in view["rows"]}
    viewer.open("view=bottomup&search=__main__:leaf")
    viewer.focus(".table")
    viewer.key("Home")
    rows = viewer.key("ArrowRight")["rows"]
    callers = {row["name"]: row["excl"] for row in there.callers("__main__:leaf")[0]["callers"]}
    assert len(rows) > 2
    for row in rows[1:]:
        assert close(row["before"], callers.get(row["name"], 0))


@pytest.mark.parametrize("name", ["__main__:fib", "__main__:leaf", "__main__:even"])
def test_callers(viewer, there, name):
    view = viewer.open(f"view=callers&region={viewer.index_of(name)}")
    (found,) = there.callers(name)
    for key in ("visits", "incl", "excl"):
        assert close(view["base"][key], found["region"][key])
    for side in ("callers", "callees"):
        was = {row["name"]: row["incl"] for row in found[side]}
        assert {row["name"] for row in view[side]} >= set(was)
        for row in view[side]:
            assert close(row["before"], was.get(row["name"], 0)), (side, row["name"])
    before = viewer.pixels()[1]
    viewer.page.evaluate("[...document.querySelectorAll('input[name=Colour]')][0].click()")
    viewer.ready()
    assert viewer.pixels()[1] != before


def test_graph(viewer, there):
    view = viewer.open("view=graph")
    before = {row["name"]: row["incl"] for row in there.flat()}
    assert len(view["nodes"]) == len(view["change"])
    for row, change in zip(view["nodes"], view["change"]):
        was = before.get(row["name"], 0)
        assert close(row["before"], was), row["name"]
        assert close(change, max(-1, min(1, (row["incl"] - was) / was)) if was else 1)
    assert view["edges"]
    for edge in view["edges"]:
        found = [item for item in there.callers(edge["from"]) if item["region"]["name"] == edge["from"]]
        was = {row["name"]: row["incl"] for item in found for row in item["callees"]}
        assert close(edge["before"], was.get(edge["to"], 0)), edge
    assert "of the other run alone" in viewer.page.evaluate("[...document.querySelectorAll('.note')].pop().innerText")


def test_lines(viewer, there, base):
    view = viewer.open("view=source")
    (was,) = there.lines()
    text = (base.parent / "program.py").read_text().splitlines()
    times = {text[line - 1].strip(): own + callees for line, _, own, callees in was["lines"]}
    assert view["base"]["by"] == "text" and view["base"]["file"] == str(base.parent / "program.py")
    shown = {line["line"]: line["before"] for line in view["lines"]}
    own = PROGRAM.splitlines()
    assert len(shown) >= 4
    for line, before in shown.items():
        assert close(before, times[own[line - 1].strip()]), own[line - 1]
    ((number, _, own_time, callees, gone),) = view["base"]["gone"]
    assert gone == "i = int(i)" and text[number - 1].strip() == gone and close(own_time + callees, times[gone])
    note = viewer.page.evaluate("document.querySelector('.note').innerText")
    assert gone in note and str(base.parent) in note


def test_tasks_and_files(viewer, there, base):
    view = viewer.open("view=tasks")
    before = {group["name"]: group for group in there.tasks()["groups"]}
    assert {row[0] for row in view["before"]} == set(before)
    for name, running, waiting in view["before"]:
        assert close(running, before[name]["running"]) and close(waiting, before[name]["waiting"])
    view = viewer.open("view=io")
    files = {file["path"]: sum(file[f"{k}_time"] for k in ("read", "write", "flush")) for file in there.io()}
    assert {path: pytest.approx(time) for path, time in view["before"]} == files
    assert str(base.parent / "written") in files


def test_views_over_time_say_what_they_show(viewer, base):
    for view in ("timeline", "flame"):
        viewer.open(f"view={view}")
        text = viewer.page.evaluate("document.querySelector('.onerun').innerText")
        assert f"spartito view {base}" in text


def test_a_range_of_time_has_no_counterpart(viewer, now):
    info = Model(str(now)).info()
    for view in ("table", "bottomup", "callers", "graph", "tasks", "icicle", "sunburst"):
        viewer.open(f"view={view}&begin=0&end={info['end'] - info['begin']}")
        assert "no counterpart" in viewer.page.evaluate("document.querySelector('.note').innerText"), view
        assert viewer.page.evaluate("document.querySelectorAll('input[name=Colour]').length") == 0


def test_the_head_names_the_other_run(viewer, there, base):
    for view in ("summary", "table", "timeline"):
        viewer.open(f"view={view}")
        text = shown(viewer, ".against")
        when = viewer.page.evaluate(f"new Date({there.info()['begin']} * 1000).toLocaleString()")
        # both runs were recorded with the same options: no warning follows
        assert text == f"Against program.py of {when} in {base}"


def test_another_command_is_recorded_alike(now, base, tmp_path):
    other = shutil.copytree(base, tmp_path / "other")
    known = json.loads((other / "experiment.json").read_text())
    known["command"].append("--fast")
    (other / "experiment.json").write_text(json.dumps(known))
    v = Viewer(now, tmp_path, "--compare", other)
    try:
        v.open("view=table")
        assert shown(v, ".against button") == "other command"
        assert "program.py --fast" in shown(v, ".against")
    finally:
        v.close()


def test_other_differences_are_shown_above_all_views(now, tmp_path):
    other = measure(tmp_path, "--c-calls")
    v = Viewer(now, tmp_path, "--compare", other, "--compensate")
    try:
        v.open("view=table")
        text = shown(v, ".against")
        assert "The other run was recorded with --c-calls" in text and "not recorded alike" in text
        v.page.evaluate("document.querySelector('.against button').click()")
        v.ready()
        assert "--c-calls" not in shown(v, ".against")
        v.open("view=summary")
        words = v.page.evaluate("document.querySelector('.summary').innerText")
        assert "Measuring took about " in words and "taken out of the times" in words
        times = {row["name"]: row["excl"] for row in WithoutPreemption(now, compensate=True).flat()}
        assert all(close(row["excl"], times.get(row["name"], 0)) for row in v.open("view=table")["top"])
        for view, there in (("timeline", True), ("source", True), ("table", False), ("icicle", False)):
            v.open(f"view={view}")
            assert v.page.evaluate("document.querySelector('.measured') !== null") is there, view
        assert v.page.exceptions() == []
    finally:
        v.close()


def test_a_notebooks_frame_shows_all_of_its_words_and_numbers(base, viewer, tmp_path):
    """Changes of several seconds have a sign and seven digits: no number and no sentence is truncated."""
    slow = measure(tmp_path, program=PROGRAM + "import time\ntime.sleep(3)\n")
    shown = Result(slow).diff(base)._repr_mimebundle_()["text/html"]
    target = tmp_path / "notebook.html"
    target.write_text(f'<body style="width:900px">{shown.replace("sandbox=", "data-was=", 1)}', encoding="utf-8")
    viewer.page.call("Page.navigate", url=target.as_uri())
    frame = "document.querySelector('iframe')"
    inside = f"{frame}.contentDocument"
    viewer.page.wait_for(f"Boolean({frame}?.contentWindow.spartito?.state().view)")
    viewer.page.evaluate(f"{frame}.contentWindow.spartito.store.select({{view: 'table'}})")
    viewer.page.wait_for(f"{inside}.querySelectorAll('.table .row').length > 5")
    page_text = viewer.page.evaluate(f"{inside}.body.innerText")
    assert "Against program.py of " in page_text and f" in {base}" in page_text and "Measuring took about " in page_text
    cut = "[...{}.querySelectorAll('{}')].filter(e => e.scroll{} > e.client{}).map(e => e.innerText)"
    assert viewer.page.evaluate(cut.format(inside, ".where, .against", "Height", "Height")) == []
    assert viewer.page.evaluate(cut.format(inside, ".table .cell:not(.left), .table .head button", "Width", "Width")) == []
    cells = f"[...{inside}.querySelectorAll('.table .row:not(.head) .cell')].map(e => e.innerText)"
    assert any(re.fullmatch(r"\+\d{1,2},\d{3}\.\d{3}", text) for text in viewer.page.evaluate(cells))


def test_one_file_has_it_all(now, base, there, viewer, tmp_path):
    target = tmp_path / "page.html"
    subprocess.run([sys.executable, "-m", "spartito", "html", "--compare", base, "-o", target, now], check=True)
    served, viewer.url = viewer.url, target.as_uri()
    try:
        before = {row["name"]: row["excl"] for row in there.flat()}
        assert all(close(row["before"], before.get(row["name"], 0)) for row in viewer.open("view=bottomup")["rows"])
        assert viewer.open("view=source")["base"]["gone"]
        assert viewer.open("view=tasks")["before"]
        assert viewer.open("view=io")["before"]
    finally:
        viewer.url = served


@pytest.fixture(scope="module")
def heat(tmp_path_factory):
    """Models of runs with four and with three ranks."""
    yield from ranks_of_heat(tmp_path_factory, against=3)


def ranks(model):
    return [p["rank"] for p in model.info()["processes"]]


def test_matrix(heat):
    _, other, viewer = heat
    view = viewer.open("view=matrix")
    rank = ranks(other)
    pairs = {(rank[row["from"]], rank[row["to"]]): row["bytes"] for row in other.messages(by=("pair",))["rows"]["pair"]}
    assert sum(map(sum, view["before"])) == sum(pairs.values()) > 0
    for sender in range(4):
        for receiver in range(4):
            assert view["before"][sender][receiver] == pairs.get((sender, receiver), 0)
    before = viewer.pixels()[1]
    viewer.page.evaluate("[...document.querySelectorAll('input[name=Colour]')].pop().click()")
    viewer.ready()
    assert viewer.pixels()[1] != before


def test_waits_and_critical_path(heat):
    model, other, viewer = heat
    view = viewer.open("view=waits")
    found, here = other.waits(), model.waits()
    was = {m["name"]: m["time"] for m in found["metrics"]}
    assert view["before"]["metrics"] == [[m["name"], pytest.approx(was[m["name"]])] for m in here["metrics"]]
    process = {rank: i for i, rank in enumerate(ranks(other))}
    for at, waited, caused in view["before"]["who"]:
        there = process.get(ranks(model)[at])
        assert close(waited, sum(row["time"] for row in found["rows"] if row["process"] == there))
        assert close(caused, sum(row["time"] for row in found["rows"] if there is not None and row["on"] == there))
    matched = sum(row[3] for row in view["before"]["rows"])
    assert 0 < matched <= sum(row["time"] for row in found["rows"]) * (1 + 1e-9)
    view = viewer.open("view=critical")
    found = other.critical_path()
    assert close(view["before"]["length"], found["length"])
    times = {}
    for row in found["regions"]:
        times[row["name"]] = times.get(row["name"], 0) + row["time"]
    assert {name: pytest.approx(time) for name, time in view["before"]["regions"]} == {n: t for n, t in times.items() if t > 0}


def test_balance(heat):
    _, other, viewer = heat
    view = viewer.open("view=balance")
    locations = other.info()["locations"]
    rank = {r: i for i, r in enumerate(ranks(other))}
    for label, bar in zip(view["units"], view["barsBefore"]):
        there = rank.get(int(label.split()[-1]))
        if there is None:
            assert bar is None
        else:
            ran = sum(row["excl"] if row["kind"] == "mpi" else row["running"] for row in other.flat(process=there))
            assert bar == pytest.approx(ran, rel=1e-6)
            assert bar <= sum(x["busy"] for x in locations if x["process"] == there) * (1 + 1e-6)
    means = {row["name"]: row["running"]["mean"] for row in other.balance(over="ranks", time="running")["rows"]}
    before = dict(map(tuple, view["before"]))
    for name in ("__main__:step", "MPI_Waitall"):
        assert before[name] == pytest.approx(means[name])
    assert viewer.page.exceptions() == []
