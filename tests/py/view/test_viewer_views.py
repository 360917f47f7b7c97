# SPDX-License-Identifier: BSD-3-Clause
"""Bottom-up, callers, call graph, source, waits, critical path, tasks and files in a real browser: their numbers equal the
model's."""

import subprocess
import sys
from urllib.parse import quote

import pytest
from spartito.analysis import Model
from viewing import Viewer, needs_viewer, ranks_of_heat

pytestmark = needs_viewer
PROGRAM = """
import asyncio, os
def leaf(n):
    return sum(range(n))
def fib(n):
    return leaf(50) if n < 2 else fib(n - 1) + fib(n - 2)
def even(n):
    return True if n == 0 else odd(n - 1)
def odd(n):
    return False if n == 0 else even(n - 1)
def lines(n):
    total = 0
    for i in range(n):
        total += leaf(i)
    return total
async def nap():
    await asyncio.sleep(0.001)
async def naps():
    await asyncio.gather(*[asyncio.create_task(nap()) for _ in range(5)])
def write():
    with open("written", "w") as f:
        f.write("x" * 5000)
def main():
    fib(9)
    even(12)
    lines(20)
    asyncio.run(naps())
    write()
main()
"""


def measure(place, *options, program=PROGRAM):
    (place / "program.py").write_text(program)
    run = [sys.executable, "-m", "spartito", "run", "-q", "--only-mine", *options, "-o", "x"]
    command = [*run, "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=place, check=True)
    return place / "x"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("views"), "--trace", "--io", "--lines", "__main__:lines")


@pytest.fixture(scope="module")
def model(recorded):
    return Model(str(recorded))


def close(a, b):
    return a == pytest.approx(b, rel=1e-9, abs=1e-12)


def numbers(row):
    return (row["visits"], pytest.approx(row["incl"], abs=1e-12), pytest.approx(row["excl"], abs=1e-12))


def test_bottom_up_has_the_functions_of_the_flat_profile(viewer, model):
    view = viewer.open("view=bottomup")
    flat = {row["name"]: row for row in model.flat() if row["kind"] != "root"}
    shown = {row["name"]: row for row in view["rows"]}
    assert view["functions"] == len(flat)
    assert len(shown) == len(view["rows"]) == min(200, len(flat))
    for name, row in shown.items():
        assert (row["visits"], row["incl"], row["excl"]) == numbers(flat[name]), name
    own = [row["excl"] for row in view["rows"]]
    assert own == sorted(own, reverse=True)


def test_bottom_up_opens_to_callers_by_keys(viewer, model):
    viewer.open("view=bottomup&search=__main__:leaf")
    viewer.focus(".table")
    viewer.key("Home")
    rows = viewer.key("ArrowRight")["rows"]
    (found,) = model.callers("__main__:leaf")
    callers = {row["name"]: row for row in found["callers"]}
    assert [row["depth"] for row in rows] == [0] + [1] * len(callers)
    # leaf() is not recursive: its time by caller is the time of the edge
    assert {row["name"]: row["visits"] for row in rows[1:]} == {name: row["visits"] for name, row in callers.items()}
    for row in rows[1:]:
        assert close(row["excl"], callers[row["name"]]["excl"]) and close(row["incl"], callers[row["name"]]["incl"])
    assert close(sum(row["excl"] for row in rows[1:]), rows[0]["excl"])
    assert len(viewer.key("*")["rows"]) > len(rows)
    assert len(viewer.key("ArrowLeft")["rows"]) == 1


@pytest.mark.parametrize("name", ["__main__:fib", "__main__:even", "__main__:leaf", "__main__:main"])
def test_callers_and_callees_are_the_models(viewer, model, name):
    view = viewer.open(f"view=callers&region={viewer.index_of(name)}")
    (found,) = model.callers(name)
    assert view["name"] == name
    assert (view["visits"], view["incl"], view["excl"]) == numbers(found["region"])
    for side in ("callers", "callees"):
        shown = {row["name"]: (row["visits"], row["incl"], row["excl"]) for row in view[side]}
        assert shown == {row["name"]: numbers(row) for row in found[side]}, side
    assert viewer.pixels()[0] > 4


def test_callers_walk_by_keys(viewer):
    viewer.open(f"view=callers&region={viewer.index_of('__main__:leaf')}")
    viewer.focus("canvas")
    assert "__main__:leaf" in viewer.page.evaluate("document.querySelector('canvas').getAttribute('aria-description')")
    viewer.key("ArrowUp")
    assert "caller" in viewer.page.evaluate("document.querySelector('canvas').getAttribute('aria-description')")
    assert viewer.key("Enter")["name"] in ("__main__:fib", "__main__:lines")


def test_graph_has_the_functions_and_calls_of_the_model(viewer, model):
    view = viewer.open("view=graph")
    flat = {row["name"]: row for row in model.flat() if row["kind"] != "root"}
    shown = {row["name"]: row for row in view["nodes"]}
    assert 0 < len(shown) <= 50 and "__main__:main" in shown
    assert len(shown) + view["small"] + view["beyond"] == len(flat)
    for name, row in shown.items():
        assert (row["visits"], row["incl"], row["excl"]) == numbers(flat[name]), name
    for edge in view["edges"]:
        found = [item for item in model.callers(edge["from"]) if item["region"]["name"] == edge["from"]]
        (callee,) = [row for item in found for row in item["callees"] if row["name"] == edge["to"]]
        assert edge["visits"] == callee["visits"] and close(edge["incl"], callee["incl"])
    assert viewer.pixels()[0] > 4
    # it opens whole, at a scale at which names can be read; a phone shows no more functions
    assert view["scale"] >= 0.6
    viewer.size(390, 844)
    small = viewer.open("view=graph")
    viewer.size(1280, 800)
    assert 0 < len(small["nodes"]) <= len(shown)


def test_graph_walks_and_zooms_by_keys(viewer):
    viewer.open("view=graph")
    before = viewer.pixels()[1]
    viewer.focus("canvas")
    viewer.key("+")
    assert viewer.pixels()[1] != before
    viewer.key("ArrowDown")
    first = viewer.selection()["region"]
    viewer.key("ArrowDown")
    assert viewer.selection()["region"] != first
    viewer.key("Enter")
    assert viewer.selection()["view"] == "callers"


def test_graph_around_one_function(viewer):
    viewer.open(f"view=graph&region={viewer.index_of('__main__:fib')}")
    viewer.page.evaluate("[...document.querySelectorAll('input[name=Extent]')].pop().click()")
    names = {row["name"] for row in viewer.ready()["nodes"]}
    assert {"__main__:fib", "__main__:main", "__main__:leaf"} <= names
    assert not names & {"__main__:even", "__main__:odd", "__main__:lines"}


def test_source_has_the_lines_of_the_model(viewer, model, recorded):
    view = viewer.open("view=source")
    (function,) = model.lines()
    assert view["function"] == function["name"] == "__main__:lines"
    assert view["file"] == str(recorded.parent / "program.py")
    assert view["text"] and view["line"] == function["line"]
    time = function["excl"] + function["callees"]
    assert [(row["line"], row["hits"]) for row in view["lines"]] == [(line, hits) for line, hits, _, _ in function["lines"]]
    for row, (_, _, own, callees) in zip(view["lines"], function["lines"]):
        assert close(row["excl"], own) and close(row["callees"], callees) and close(row["share"], (own + callees) / time)
    assert "total += leaf(i)" in viewer.page.evaluate("document.querySelector('.source').innerText")


def test_source_of_a_function_without_lines(viewer):
    view = viewer.open(f"view=source&region={viewer.index_of('__main__:fib')}")
    assert view["function"] == "__main__:fib" and view["text"]
    assert "--lines" in viewer.page.evaluate("document.querySelector('.note').innerText")
    assert viewer.page.evaluate("document.querySelector('.source .row.own').innerText").split() == ["5", "def", "fib(n):"]
    # tokens have colours
    coloured = "[...document.querySelectorAll('.source .row.own .keyword')].map((token) => token.innerText)"
    assert viewer.page.evaluate(coloured)[0] == "def"


def test_source_opens_with_the_function_of_most_own_time(heat):
    model, viewer = heat
    top = max((row for row in model.flat() if row["file"] and not row["file"].startswith("<")), key=lambda row: row["excl"])
    view = viewer.open("view=source")
    assert (view["function"], view["file"]) == (top["name"], top["file"])
    assert view["text"]


def test_no_source_says_what_to_do(recorded, model, tmp_path_factory):
    place = tmp_path_factory.mktemp("nosource")
    target = place / "page.html"
    subprocess.run([sys.executable, "-m", "spartito", "html", "--no-source", "-o", target, recorded], check=True)
    v = Viewer(recorded, place)
    try:
        v.url = target.as_uri()
        view = v.open("view=source")
        assert not view["text"] and view["missing"]
        assert [row["hits"] for row in view["lines"]]
        assert "--no-source" in v.page.evaluate("document.querySelector('.note').innerText")
        assert v.open("view=callers")["visits"] > 0
        assert v.open("view=graph")["nodes"]
        assert v.open("view=tasks")["count"] == model.tasks()["count"]
    finally:
        v.close()


def test_tasks_are_the_models(viewer, model):
    view = viewer.open("view=tasks")
    found = model.tasks()
    assert view["count"] == found["count"] >= 6
    assert view["tasks"] == len(found["tasks"])
    shown = {row[0]: row[1:] for row in view["groups"]}
    assert set(shown) == {group["name"] for group in found["groups"]}
    for group in found["groups"]:
        tasks, running, waiting = shown[group["name"]]
        assert tasks == group["tasks"] and close(running, group["running"]) and close(waiting, group["waiting"])


def test_a_text_that_is_cut_is_its_tooltip(viewer):
    cut = []
    for view in ("tasks", "io", "source", "bottomup"):
        viewer.open(f"view={view}")
        cut += [(view, text, untold) for text, untold in viewer.cut_texts()]
    assert {"tasks", "source"} <= {view for view, _, _ in cut}
    assert not [(view, text, untold) for view, text, untold in cut if untold]


def test_steps_of_tasks_are_in_their_bars(viewer, model):
    viewer.open("view=timeline")
    viewer.focus("canvas")
    view = viewer.key("ArrowDown", "k")
    tasks = {task["name"]: task for task in model.tasks()["tasks"]}
    assert len(tasks) >= 6 and set(view["steps"]) == set(tasks)
    for name, steps in view["steps"].items():
        task = tasks[name]
        assert sum(n for _, _, n, _ in steps) == task["steps"] >= 1
        assert sum((end - begin) * busy for begin, end, _, busy in steps) == pytest.approx(task["running"], rel=1e-3, abs=1e-7)
        assert close(steps[0][0], task["begin"]) and close(steps[-1][1], task["end"])


def test_files_are_the_models(viewer, model, recorded):
    view = viewer.open("view=io")
    found = {file["path"]: file for file in model.io()}
    assert {row[0] for row in view["files"]} == set(found)
    written = next(row for row in view["files"] if row[0] == str(recorded.parent / "written"))
    assert written[1:3] == [0, 5000] and close(written[3], sum(found[written[0]][f"{k}_time"] for k in ("read", "write", "flush")))
    flat = {row["name"]: row for row in model.flat() if row["kind"] == "io"}
    assert {row[0]: row[1] for row in view["functions"]} == {name: row["visits"] for name, row in flat.items()}


def test_what_was_not_recorded_says_what_to_do(viewer):
    viewer.page.call("Page.navigate", url="about:blank")
    viewer.page.call("Page.navigate", url=f"{viewer.url}#view=critical")
    viewer.page.wait_for("document.querySelector('main .empty')?.innerText.includes('--trace')")


@pytest.mark.parametrize("name", ["graph", "callers", "icicle", "sunburst", "timeline", "flame"])
def test_a_search_fades_the_others_in_every_picture(viewer, name):
    function = viewer.index_of("__main__:main")

    def drawn(search):
        viewer.open(f"view={name}&region={function}&search={search}" if name == "callers" else f"view={name}&search={search}")
        return viewer.pixels()

    everything = drawn("")
    assert drawn("/./") == everything  # the pattern matches everything
    some, none = drawn(":Main"), drawn("nothing is called so")
    assert some == drawn(":main") and everything not in (some, none)
    assert some != none or name in ("timeline", "flame")  # in these views the match may be too short to be visible


FADED = "[...document.querySelectorAll('main .faded')].map(e => e.textContent)"


def test_a_search_fades_the_others_in_every_table(viewer):
    longest = viewer.open("view=summary")["functions"][0][0]  # the summary shows few functions
    for view, hit in (("tasks", "naps"), ("io", "write"), ("source", "lines"), ("summary", longest)):
        viewer.open(f"view={view}&region={viewer.index_of('__main__:lines')}")
        assert viewer.page.evaluate(FADED) == [], view
        viewer.open(f"view={view}&search={quote(hit)}")
        faded = viewer.page.evaluate(FADED)
        assert not any(hit in text for text in faded), (view, faded)
        assert faded or view == "source", view  # the source view shows one function
        viewer.open(f"view={view}&search=nothing")
        assert any(hit in text for text in viewer.page.evaluate(FADED)), view


def test_views_without_ranges_are_reported(viewer, model):
    end = model.tasks()["tasks"][0]["created"]
    notes = "[...document.querySelectorAll('main .note')].map(e => e.textContent).join(' ')"
    for view in ("tasks", "io", "source"):
        viewer.open(f"view={view}&region={viewer.index_of('__main__:lines')}&begin=0&end={end}")
        assert "not known separately for the selected range of time" in viewer.page.evaluate(notes), view
        shown = viewer.open(f"view={view}&region={viewer.index_of('__main__:lines')}")
        assert "known separately" not in viewer.page.evaluate(notes), view
        assert view != "tasks" or shown["tasks"] == len(model.tasks()["tasks"])
    assert viewer.open(f"view=tasks&begin=0&end={end}")["tasks"] == 0  # before the first task


def test_the_help_of_keys(viewer):
    box = "(() => { const box = document.querySelector('dialog[aria-label=Keys]'); return box.open && box.textContent })()"
    viewer.open("view=bottomup")
    assert viewer.page.evaluate(box) is False
    viewer.key("?")
    text = viewer.page.evaluate(box)
    assert "opens the path with the most time" in text and "search" in text and "from row to row" in text
    viewer.key("?")
    assert viewer.page.evaluate(box) is False
    viewer.focus("input[type=search]")
    viewer.key("?")  # types the character
    assert viewer.page.evaluate(box) is False


def test_every_view_in_both_themes_and_sizes_draws_something(viewer):
    for theme, *size in (("light", 1280, 800), ("dark", 1920, 1080)):
        viewer.size(*size)
        for view in ("bottomup", "callers", "graph", "source", "tasks", "io"):
            viewer.open(f"view={view}&theme={theme}")
            wide = viewer.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1], (view, size)
    viewer.size(1280, 800)
    assert viewer.page.exceptions() == []


# of each table: whether it has a number beside each name, of which all can be seen
BESIDE = """[...document.querySelectorAll('.table')].map((table) => {
    const cells = [...table.querySelector('.row.head').children];
    const name = cells.findIndex((cell) => cell.classList.contains('left'));
    const [left, right] = [table.getBoundingClientRect().left, table.getBoundingClientRect().left + table.clientWidth];
    const number = cells[name + 1], box = number.getBoundingClientRect();
    return name >= 0 && !number.classList.contains('left') && box.left > left && box.right <= right + 1;
})"""


def assert_fits_a_phone(viewer, views):
    viewer.size(390, 844)
    for view in views:
        viewer.open(f"view={view}")
        found = viewer.page.evaluate(BESIDE)
        assert found and all(found), view
        # a line with title and run, a line with the search
        assert viewer.page.evaluate("document.querySelector('header').getBoundingClientRect().height") < 75, view
    viewer.size(1280, 800)


def test_tables_of_a_phone_have_numbers_beside_names(viewer):
    assert_fits_a_phone(viewer, ("table", "bottomup", "callers", "source", "tasks", "io", "own"))


@pytest.fixture(scope="module")
def heat(tmp_path_factory):
    yield from ranks_of_heat(tmp_path_factory)


def test_waits_are_the_models(heat):
    model, viewer = heat
    view = viewer.open("view=waits")
    found = model.waits()
    assert [(name, count) for name, count, _ in view["metrics"]] == [(m["name"], m["count"]) for m in found["metrics"]]
    assert all(close(time, m["time"]) for (_, _, time), m in zip(view["metrics"], found["metrics"]))
    assert view["rows"] == len(found["rows"]) and close(view["time"], sum(row["time"] for row in found["rows"]))
    for process, waited, caused in view["who"]:
        assert close(waited, sum(row["time"] for row in found["rows"] if row["process"] == process))
        assert close(caused, sum(row["time"] for row in found["rows"] if row["on"] == process))
    head, first = viewer.page.evaluate(
        "['.row.head', '.rows .row:not(.head)'].map(of => "
        "[...document.querySelector('.table ' + of).children].map(cell => cell.innerText))"
    )
    busy = sum(place["busy"] for place in model.info()["locations"])
    top = next(m for m in found["metrics"] if m["count"])
    for title, of in (("Of waiting", view["time"]), ("Of all", busy)):
        at = next(i for i, text in enumerate(head) if text.startswith(title))
        assert float(first[at].rstrip(" %")) == pytest.approx(100 * top["time"] / of, abs=0.06), title
    # the upper tables are no higher than their rows
    rows = 1 + max(sum(count > 0 for _, count, _ in view["metrics"]), len(view["who"]))
    assert viewer.page.evaluate("document.querySelector('.upper').offsetHeight") <= rows * 22 + 17
    assert_fits_a_phone(viewer, ["waits"])
    one = viewer.open("view=waits&process=2")
    assert one["rows"] == sum(row["process"] == 2 or row["on"] == 2 for row in found["rows"])


def test_a_wait_selects_its_call_path(heat):
    model, viewer = heat
    viewer.open("view=waits")
    viewer.page.evaluate("[...document.querySelectorAll('.table')].pop().querySelectorAll('.row')[1].click()")
    viewer.ready()
    longest = max(model.waits()["rows"], key=lambda row: row["time"])
    names = viewer.page.evaluate("spartito.store.source.get('regions').then(c => c.meta.names)")
    wanted = [name for name in model.waits()["stacks"][longest["path"]] if name != "<root>"]
    assert [names[region] for region in viewer.selection()["path"]] == wanted


def test_critical_path_is_the_models(heat):
    model, viewer = heat
    view = viewer.open("view=critical")
    found = model.critical_path()
    assert close(view["length"], found["length"]) and view["jumps"] == found["jumps"]
    assert all(close(a, b) for a, b in zip(view["locations"], found["locations"]))
    shown = [(name, pytest.approx(time)) for name, time in view["regions"]]
    assert [(row["name"], row["time"]) for row in found["regions"] if row["time"] > 0] == shown
    # the keys lead along the picture: its first piece, then the function with the largest share
    viewer.focus("canvas")
    viewer.key("ArrowDown", "Enter")
    assert viewer.selection()["location"] == found["pieces"][0][0]
    viewer.key("ArrowUp", "Enter")
    longest = max(found["regions"], key=lambda row: row["time"])
    assert viewer.selection()["region"] == viewer.index_of(longest["name"])
