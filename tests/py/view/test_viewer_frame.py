# SPDX-License-Identifier: BSD-3-Clause
"""Summary, table, icicle and sunburst in a real browser: their numbers equal the model's, and they share one selection."""

import base64
import csv
import io
import subprocess
import sys

import pytest
from spartito.analysis import Model
from viewing import CUT, Viewer, needs_viewer

pytestmark = needs_viewer
LONG = "takes_longest_and_has_a_name_for_which_no_column_of_a_narrow_window_has_room"
PROGRAM = f"""
import json, threading
def leaf(n):
    return json.dumps(list(range(n)))
def branch(n):
    for i in range(n): leaf(i)
def deep(n):
    return branch(3) if n == 0 else deep(n - 1)
def odd():
    return leaf(7)
def {LONG}():
    return sum(range(3 * 10**6))
t = threading.Thread(target=branch, args=(40,))
t.start(); t.join()
branch(80); deep(60); odd(); {LONG}()
"""


def measure(place, name, program):
    (place / "program.py").write_text(program)
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", name, "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=place, check=True)
    return place / name


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("frame"), "x", PROGRAM)


@pytest.fixture(scope="module")
def model(recorded):
    return Model(str(recorded))


@pytest.fixture(scope="module")
def viewer(recorded, tmp_path_factory):
    v = Viewer(recorded, tmp_path_factory.mktemp("browser"))
    v.page.call("Network.enable")
    yield v
    asked = {e["params"]["request"]["url"] for e in v.page.events if e["method"] == "Network.requestWillBeSent"}
    assert asked and all(url.startswith((v.url, "data:", "about:")) for url in asked), asked
    assert not v.page.exceptions()
    v.close()


def functions(model, **selection):
    return [row for row in model.flat(**selection) if row["kind"] != "root"]


def children(model, path):
    """Rows of the tree below the path of that name (None: the outermost rows), the longest first."""
    rows = [row for row in model.tree() if row["kind"] != "root"]
    top = min((row["depth"] for row in rows), default=0)
    if path is None:
        found = [row for row in rows if row["depth"] == top]
    else:
        above = max((row for row in rows if row["name"] == path), key=lambda row: row["incl"])
        found = [row for row in rows if row["parent"] == above["path"]]
    return sorted(found, key=lambda row: -row["incl"])


def test_the_first_screen_says_where_the_time_goes(viewer, model):
    view = viewer.open("")
    assert viewer.selection()["view"] == "summary"
    rows = functions(model, sort="running", imports=False)
    assert view["sentences"] and any(rows[0]["name"] in sentence for sentence in view["sentences"])
    assert view["total"] == pytest.approx(sum(row["excl"] for row in functions(model)))
    for (name, running), row in zip(view["functions"], rows):
        assert (name, running) == (row["name"], pytest.approx(row["running"], abs=1e-6))
    text = viewer.page.evaluate("document.body.innerText")
    assert view["sentences"][0] in text and "Measuring" in text and "What was lost" in text
    # a click on the first function of the list selects its row in the table
    viewer.page.evaluate("document.querySelector('.bars button').click()")
    assert viewer.ready()["top"][0]["name"] == rows[0]["name"]
    assert viewer.selection() == {"view": "table", "region": viewer.index_of(rows[0]["name"])}


def test_the_table_begins_with_the_longest_running_time(viewer, model):
    view = viewer.open("view=table")
    assert view["columns"][:3] == ["name", "running", "waiting"] and view["sorting"] == {"id": "running", "down": True}
    running = [row["metrics"]["running"]["excl"] for row in functions(model, sort="running")]
    assert [row["metrics"]["running"][1] for row in view["top"]] == running[:10] and running[0] > 0


@pytest.mark.parametrize("column", ["excl", "incl", "visits", "mean", "max"])
def test_the_table_sorts_as_the_model_does(viewer, model, column):
    view = viewer.open("view=table")
    at = view["columns"].index(column)
    viewer.page.evaluate(f"document.querySelectorAll('.head button')[{at}].click()")
    view = viewer.ready()
    rows = functions(model)
    by_name = {}
    for row in rows:
        by_name.setdefault(row["name"], []).append(row)
    assert view["sorting"] == {"id": column, "down": True} and view["rows"] == len(rows)
    assert [row[column] for row in view["top"]] == pytest.approx(sorted((row[column] for row in rows), reverse=True)[:10])
    for shown in view["top"]:
        known = [
            tuple(row[key] for key in ("visits", "incl", "excl", "mean", "min", "max", "std")) for row in by_name[shown["name"]]
        ]
        own = tuple(shown[key] for key in ("visits", "incl", "excl", "mean", "min", "max", "std"))
        assert any(own == pytest.approx(one) for one in known), shown


def test_the_table_has_few_rows_in_the_page_and_obeys_the_keyboard(viewer):
    view = viewer.open("view=table")
    viewer.focus(".table")
    viewer.key("ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown")
    assert viewer.selection()["region"] == viewer.index_of(view["top"][2]["name"])
    rows = viewer.page.evaluate("document.querySelectorAll('.table [role=row]').length")
    assert rows < 80
    viewer.key("End")
    last = viewer.page.evaluate("document.querySelector('.table [aria-selected=true]').getAttribute('aria-rowindex')")
    assert int(last) == view["rows"] + 1
    active = viewer.page.evaluate(
        "document.getElementById(document.querySelector('.table').getAttribute('aria-activedescendant')).className"
    )
    assert "selected" in active


def test_search_counts_what_it_hits(viewer, model):
    view = viewer.open("view=icicle&search=json")
    rows = [row for row in model.tree() if "json" in row["name"].lower()]
    assert view["hits"]["paths"] == len(rows)
    assert view["hits"]["regions"] == len({(row["name"], row["file"], row["line"]) for row in rows})
    assert 0 < view["hits"]["time"] < view["total"]
    text = viewer.page.evaluate("document.querySelector('.hits').textContent")
    assert f"{len(rows)} paths" in text
    view = viewer.open("view=table&search=nothing+has+this+name")
    assert view["rows"] == 0 and "Clear the search" in viewer.page.evaluate("document.body.innerText")


@pytest.mark.parametrize("name", ["icicle", "sunburst"])
def test_the_tree_is_the_models(viewer, model, name):
    view = viewer.open(f"view={name}")
    top = children(model, None)
    assert view["total"] == pytest.approx(sum(row["incl"] for row in top))
    assert [row["name"] for row in view["top"]] == [row["name"] for row in top][:8]
    assert [row["incl"] for row in view["top"]] == pytest.approx([row["incl"] for row in top][:8])
    colours, before = viewer.pixels()
    assert colours > 5 and view["boxes"] > 10
    viewer.focus("canvas")
    view = viewer.key("ArrowDown", "Enter")  # into the outermost call with the most time
    assert view["centre"] == view["focus"] == view["selected"] == top[0]["name"]
    below = children(model, top[0]["name"])
    assert [row["incl"] for row in view["top"]] == pytest.approx([row["incl"] for row in below][:8])
    assert viewer.pixels()[1] != before
    described = viewer.page.evaluate("document.querySelector('canvas').getAttribute('aria-description')")
    assert described.startswith(top[0]["name"] + ": ") and "% of all" in described
    view = viewer.key("Escape")
    assert view["centre"].startswith("whole run")


def test_a_click_selects_for_all_views_and_back_undoes_it(viewer):
    first = viewer.open("view=icicle")
    x, y = viewer.box("canvas")
    view = viewer.click(x + 30, y + 9)  # the outermost call with the most time is the first box
    assert view["centre"] == view["selected"] == first["top"][0]["name"]
    selection = viewer.selection()
    assert selection["path"] == selection["centre"] == [selection["region"]]
    chips = viewer.page.evaluate("document.querySelector('.chips').textContent")
    assert first["top"][0]["name"] in chips and "whole run" in chips
    viewer.page.evaluate("document.getElementById('tab-sunburst').click()")
    assert viewer.ready()["centre"] == view["centre"]
    viewer.page.evaluate("document.getElementById('tab-table').click()")
    viewer.page.wait_for("document.querySelector('.table [aria-selected=true]')?.innerText")
    shown = viewer.page.evaluate("document.querySelector('.table [aria-selected=true] [role=gridcell]').title")
    assert shown.startswith(view["centre"])
    for _ in range(3):
        viewer.go(-1)
    assert viewer.selection() == {"view": "icicle"}
    viewer.go(1)
    assert "path" in viewer.selection()
    viewer.page.evaluate("document.querySelector('.chip button').click()")
    viewer.ready()
    assert "region" not in viewer.selection() and "path" not in viewer.selection()


def test_the_wheel_zooms_and_the_rest_stays_in_the_picture(viewer):
    whole = viewer.open("view=icicle")
    x, y = viewer.box("canvas")
    before = viewer.pixels()[1]
    view = viewer.wheel(x + 400, y + 60, -900)
    assert viewer.pixels()[1] != before and view["boxes"] > 0
    viewer.wheel(x + 400, y + 60, 5000)
    assert viewer.view()["boxes"] == whole["boxes"] and viewer.pixels()[1] == before


def test_the_inverted_icicle_has_callers_below(viewer, model):
    times = {}
    for row in model.tree():
        times[row["name"]] = times.get(row["name"], 0) + row["excl"]
    plain = viewer.open("view=icicle")
    viewer.page.evaluate("[...document.querySelectorAll('.toolbar button')].find((b) => b.textContent === 'Invert').click()")
    view = viewer.ready()
    assert viewer.selection()["invert"] == "callers" and view["inverted"] and not plain["inverted"]
    assert view["total"] == pytest.approx(plain["total"])
    assert all(row["incl"] == pytest.approx(times[row["name"]], abs=1e-9) for row in view["top"])
    # a click selects the function, and leads to its callers
    x, y = viewer.box("canvas")
    view = viewer.click(x + 20, y + 9)
    first = view["centre"]
    assert first in times
    assert viewer.selection()["region"] == viewer.index_of(first) and "path" not in viewer.selection()
    # the address keeps it, and Escape leads out
    assert viewer.open(viewer.page.evaluate("location.hash.slice(1)"))["centre"] == first
    viewer.focus("canvas")
    assert viewer.key("Escape")["centre"].startswith("whole run")
    viewer.page.evaluate("[...document.querySelectorAll('.toolbar button')].find((b) => b.textContent === 'Invert').click()")
    assert not viewer.ready()["inverted"] and not {"invert", "inverse"} & set(viewer.selection())
    assert viewer.page.exceptions() == []


PINNED = "document.querySelector('.beside.pin')"
SEEN = f"Boolean({PINNED} && {PINNED}.getClientRects().length)"


def test_the_selection_is_beside_a_picture_on_a_wide_page(viewer):
    path = ["__main__:<module>", "__main__:branch", "__main__:leaf"]
    regions = ".".join(str(viewer.index_of(name)) for name in path)
    try:
        viewer.size(1440, 900)
        viewer.open("view=icicle")
        assert not viewer.page.evaluate(SEEN)
        viewer.open(f"view=icicle&path={regions}")
        assert viewer.page.evaluate(SEEN)
        assert viewer.page.evaluate(f"{PINNED}.querySelector('b').textContent") == path[-1]
        assert viewer.page.evaluate(f"[...{PINNED}.querySelectorAll('.stack button')].map((b) => b.title)") == path[-2::-1]
        boxes = f"[document.querySelector('#view canvas'), {PINNED}].map((e) => e.getBoundingClientRect())"
        assert viewer.page.evaluate(f"(([a, b]) => a.right <= b.left && a.top <= b.bottom)({boxes})")
        for title, view in (("Callers", "callers"), ("Table", "table")):
            viewer.open(f"view=icicle&path={regions}")
            viewer.page.evaluate(f"[...{PINNED}.querySelectorAll('.link')].find((b) => b.textContent === {title!r}).click()")
            viewer.ready()
            assert viewer.selection()["view"] == view and len(viewer.selection()["path"]) == len(path)
        viewer.open(f"view=graph&region={viewer.index_of(path[-1])}")
        assert viewer.page.evaluate(SEEN) and path[-1] in viewer.page.evaluate(f"{PINNED}.innerText")
        viewer.page.evaluate(f"{PINNED}.querySelector('.unpin').click()")
        viewer.ready()
        assert "region" not in viewer.selection()
        viewer.open(f"view=sunburst&centre={regions}&path={regions}")
        assert viewer.page.evaluate("[...document.querySelectorAll('.beside .link')].map((b) => b.textContent)")[0] == "Callers"
        viewer.size(1279, 800)
        viewer.open(f"view=icicle&path={regions}")
        assert not viewer.page.evaluate(SEEN)
    finally:
        viewer.size(1280, 800)
    assert viewer.page.exceptions() == []


def test_one_thread_alone(viewer, model):
    location = max(range(len(model.info()["locations"])), key=lambda i: -model.info()["locations"][i]["busy"])
    view = viewer.open(f"view=table&location={location}")
    rows = functions(model, location=location)
    assert view["rows"] == len(rows)
    assert view["total"] == pytest.approx(sum(row["excl"] for row in rows))
    assert model.info()["locations"][location]["name"] in viewer.page.evaluate("document.querySelector('.chips').textContent")


def test_another_run_colours_the_tree_and_has_columns(recorded, tmp_path, tmp_path_factory):
    other = measure(tmp_path, "before", PROGRAM.replace("branch(80)", "branch(20)").replace("odd()\n", "pass\n"))
    viewer = Viewer(recorded, tmp_path_factory.mktemp("browser"), "--compare", other)
    try:
        view = viewer.open("view=icicle")
        assert view["compared"]
        changed = viewer.pixels()[1]
        chosen = "[...document.querySelectorAll('input[name=Colour]')].map(one => one.checked)"
        assert viewer.page.evaluate(chosen) == [False, True, False]
        viewer.page.evaluate("document.querySelector('input[name=Colour]').click()")
        viewer.ready()
        assert viewer.pixels()[1] != changed
        viewer.open("view=sunburst")
        assert viewer.page.evaluate(chosen) == [False, True, False]
        view = viewer.open("view=table&search=__main__:branch")
        assert {"base", "change", "ratio"} <= set(view["columns"]) and view["rows"] == 1
        before = {row["name"]: row["excl"] for row in Model(str(other)).flat()}["__main__:branch"]
        assert view["top"][0]["base"] == pytest.approx(before)
        assert view["top"][0]["change"] == pytest.approx(view["top"][0]["excl"] - before)
        assert viewer.open("")["against"]
    finally:
        viewer.close()


@pytest.mark.parametrize(("width", "height", "theme"), [(1280, 800, "light"), (1920, 1080, "dark")])
def test_pictures_are_stable_and_not_empty(viewer, width, height, theme):
    viewer.size(width, height)
    try:
        for name in ("icicle", "sunburst"):
            viewer.open(f"view={name}&theme={theme}")
            colours, first = viewer.pixels()
            assert colours > 5
            viewer.open(f"view={name}&theme={theme}")
            assert viewer.pixels()[1] == first
        for name in ("summary", "table"):
            viewer.open(f"view={name}&theme={theme}")
            assert len(viewer.screenshot()) > 20_000
            wide = viewer.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width  # the page does not scroll sideways
    finally:
        viewer.size(1280, 800)


def test_unknown_selections_are_reported_and_left_out(viewer):
    viewer.open("view=table&region=99999&process=7&module=nowhere")
    viewer.page.wait_for("document.querySelector('.unknown') !== null")
    text = viewer.page.evaluate("document.querySelector('.unknown').innerText")
    assert "Function 99999" in text and "Process 7" in text and "Module nowhere" in text
    assert not {"region", "process", "module"} & viewer.selection().keys()
    assert viewer.ready()["rows"] > 0
    viewer.open("view=icicle&path=1.1.1.1.1&centre=1.1.1.1.1")
    viewer.page.wait_for("document.querySelector('.unknown') !== null")
    assert "path" not in viewer.selection()


def test_a_wrong_regular_expression_is_reported_beside_the_search(viewer):
    viewer.open("view=table&search=/a(/")
    assert "regular expression" in viewer.page.evaluate("document.querySelector('.wrong').innerText")
    viewer.open("view=table&search=/a/")
    assert viewer.page.evaluate("document.querySelector('.wrong') === null")


@pytest.mark.parametrize("view", ["summary", "table", "sunburst", "bottomup", "callers", "source", "graph"])
def test_a_text_that_is_cut_is_its_tooltip(viewer, view):
    viewer.size(700, 600)
    # the table scrolls to the selected row
    name = LONG if view in ("summary", "table") else "branch"
    viewer.open(f"view={view}&region={viewer.index_of('__main__:' + name)}")
    if view in ("summary", "table"):
        viewer.page.wait_for(f"{CUT}.length > 0")
    found = viewer.cut_texts()
    left = viewer.page.evaluate("document.querySelectorAll('.name[title]').length")
    viewer.size(1280, 800)
    assert view not in ("summary", "table") or found
    assert left == 0  # tooltips are removed when the pointer leaves: their text may change
    assert not [(text, untold) for text, untold in found if untold]


def test_a_narrow_window_cuts_nothing_off(viewer):
    for width in (600, 880):
        viewer.size(width, 800)
        for view in ("summary", "table", "icicle", "callers", "sunburst"):
            viewer.open(f"view={view}")
            wide, tall = viewer.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide <= tall, (view, width)
            parts = "['h1', '.lead', '.search', 'header .quiet'].map(s => document.querySelector(s).getBoundingClientRect())"
            boxes = viewer.page.evaluate(f"{parts}.map(b => [b.left, b.right, b.top, b.bottom])")
            for i, (left, right, top, bottom) in enumerate(boxes):
                assert right <= width
                for left2, right2, top2, bottom2 in boxes[:i]:
                    assert right <= left2 + 1 or right2 <= left + 1 or bottom <= top2 + 1 or bottom2 <= top + 1
    viewer.size(1280, 800)


TABS = "[...document.querySelectorAll('[role=tab]')].map((tab) => tab.id.replace('tab-', ''))"
GROUPS = """[...document.querySelectorAll('.tabs .group > button')].map(
    (b) => b.textContent + (b.parentElement.className.includes('open') ? '*' : ''))"""


def test_views_are_in_groups_and_those_without_data_behind_more(viewer):
    viewer.open("view=summary")
    assert viewer.page.evaluate(GROUPS) == ["Functions", "Parallel"] or viewer.page.evaluate(GROUPS) == ["Functions"]
    assert viewer.page.evaluate(TABS)[0] == "summary" and "table" not in viewer.page.evaluate(TABS)
    viewer.page.evaluate("document.querySelector('.tabs .group > button').click()")
    viewer.ready()
    assert viewer.selection()["view"] == "table" and "Functions*" in viewer.page.evaluate(GROUPS)
    tabs = viewer.page.evaluate(TABS)
    assert tabs[:4] == ["summary", "table", "own", "icicle"] and not {"timeline", "memory"} & set(tabs)
    # arrow keys go from tab to tab, also into another group, and keep the focus
    viewer.focus("#tab-table")
    viewer.key("ArrowRight", "ArrowRight")
    assert viewer.selection()["view"] == "icicle" and viewer.page.evaluate("document.activeElement.id") == "tab-icicle"
    viewer.key("ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert viewer.selection()["view"] == "summary" and viewer.page.evaluate("document.activeElement.id") == "tab-summary"
    # the title of a group leads to the view of it that was shown last
    viewer.show("callers")
    viewer.show("summary")
    viewer.page.evaluate("document.querySelector('.tabs .group > button').click()")
    viewer.ready()
    assert viewer.selection()["view"] == "callers"
    # what the run has no data for; the keys of the tabs do not work behind the dialog
    viewer.page.evaluate("document.querySelector('.tabs .more').click()")
    assert viewer.page.evaluate("document.querySelector('dialog[open]').ariaLabel") == "Views without data"
    text = viewer.page.evaluate("document.querySelector('dialog[open]').innerText")
    assert "Timeline" in text and "Memory was not recorded: spartito run --memory-profile records it" in text
    viewer.key("ArrowRight")
    assert viewer.selection()["view"] == "callers"
    viewer.page.evaluate("[...document.querySelectorAll('dialog[open] .link')].find((b) => b.textContent === 'Memory').click()")
    viewer.page.wait_for("document.querySelector('#view').innerText.includes('Memory was not recorded')")
    assert viewer.selection()["view"] == "memory" and "memory" in viewer.page.evaluate(TABS)
    assert viewer.page.evaluate("document.querySelector('dialog[open]')") is None


def test_a_call_path_has_its_running_time(viewer, model):
    view = viewer.open("view=icicle")
    rows = {row["name"]: row for row in children(model, None)}
    assert view["top"] and all(
        row["running"] == pytest.approx(rows[row["name"]]["running_incl"], rel=1e-6, abs=1e-6) for row in view["top"]
    )
    x, y = viewer.box("canvas")
    viewer.mouse("Moved", x + 30, y + 9)
    viewer.page.wait_for("document.querySelector('[role=tooltip]')?.innerText.includes('the threads ran')")


LEGEND = """[...document.querySelectorAll('.colours li')].map(
    (e) => [e.querySelector('.name').textContent, e.querySelector('i').style.background])"""


def legend(viewer):
    """(name, colour) of each entry. They come with the flat profile, after the picture."""
    viewer.page.wait_for("document.querySelector('.colours li') !== null")
    return viewer.page.evaluate(LEGEND)


def test_colours_are_those_of_modules_or_of_functions(viewer, model):
    view = viewer.open("view=icicle&colour=module")
    top = view["top"][0]["name"]
    by_module = legend(viewer)
    assert {"__main__", "json"} <= {name for name, _ in by_module}
    pixels = viewer.pixels()[1]
    select = "document.querySelector('.colours select')"
    viewer.page.evaluate(f"{select}.value = 'function'; {select}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    viewer.ready()
    assert viewer.selection()["colour"] == "function" and viewer.pixels()[1] != pixels
    by_function = dict(legend(viewer))
    names = [row["name"] for row in functions(model, sort="running")][: len(by_function)]
    assert list(by_function) == names
    # the same colour in the table and the summary
    at = names.index(f"__main__:{LONG}")
    for place in ("table", "summary"):
        viewer.show(place)
        found = viewer.page.evaluate(
            "[...document.querySelectorAll('.table .row:not(.head), .bars button')].map((e) => "
            "[e.textContent, (e.querySelector('.swatch') ?? e.querySelector('.track i')).style.background])"
        )
        assert [colour for text, colour in found if LONG in text][0] == by_function[names[at]], place
    # a click in the legend selects, a second one does not
    viewer.show("icicle")
    entry = f"document.querySelectorAll('.colours li button')[{at}]"
    viewer.page.evaluate(f"{entry}.click()")
    viewer.ready()
    assert viewer.selection()["region"] == viewer.index_of(names[at]) and viewer.page.evaluate(f"{entry}.ariaPressed") == "true"
    viewer.page.evaluate(f"{entry}.click()")
    viewer.ready()
    assert "region" not in viewer.selection()
    # the address keeps the choice; without one, the run's facts decide
    assert viewer.open(viewer.page.evaluate("location.hash.slice(1)"))["top"][0]["name"] == top
    assert dict(legend(viewer)) == by_function
    viewer.open("view=icicle&colour=module")
    assert legend(viewer) == by_module
    assert viewer.page.exceptions() == []


# keeps what is copied and saved: a browser without a window has neither clipboard nor downloads
KEEP = """
window.taken = {};
navigator.clipboard.writeText = async (text) => { window.taken.text = text };
URL.createObjectURL = (blob) => {
    const reader = new FileReader();
    reader.onload = () => { window.taken.data = reader.result };
    reader.readAsDataURL(blob);
    return "#";
};
HTMLAnchorElement.prototype.click = function () { window.taken.name = this.download };
"""


def take(viewer, title):
    """Chooses an entry of the dialog; returns what was taken, and what the page says."""
    viewer.page.evaluate(KEEP)
    viewer.page.evaluate("document.querySelector('header [title^=\"Copy the link\"]').click()")
    entries = "[...document.querySelectorAll('dialog.take .link')]"
    viewer.page.evaluate(f"{entries}.find((b) => b.textContent === {title!r}).click()")
    viewer.page.wait_for("document.querySelector('dialog.take [role=status]').textContent")
    if title.startswith("Save"):
        viewer.page.wait_for("window.taken.data")
    said = viewer.page.evaluate("document.querySelector('dialog.take [role=status]').textContent")
    titles = viewer.page.evaluate(f"{entries}.map((b) => b.textContent)")
    viewer.page.evaluate("document.querySelector('dialog.take .quiet').click()")
    return viewer.page.evaluate("window.taken"), said, titles


def test_link_selection_picture_and_table_can_be_taken_along(viewer, model):
    viewer.open(f"view=table&region={viewer.index_of('__main__:leaf')}")
    taken, said, titles = take(viewer, "Save the table (CSV)")
    assert said == "The table is saved." and taken["name"] == "program.py-table.csv"
    assert titles == ["Copy the link to this view", "Copy the selection as text", "Save the table (CSV)"]
    head, *rows = csv.reader(io.StringIO(base64.b64decode(taken["data"].partition(",")[2]).decode(), newline=""))
    known = {row["name"]: row for row in functions(model)}
    assert head[0] == "Function" and {row[0] for row in rows} == set(known)
    calls = head.index("calls")
    assert all(int(row[calls]) == known[row[0]]["visits"] for row in rows if known[row[0]]["file"].endswith("program.py"))
    taken, said, _ = take(viewer, "Copy the link to this view")
    assert said == "The link is copied." and taken["text"] == viewer.page.evaluate("location.href")
    taken, _, _ = take(viewer, "Copy the selection as text")
    assert taken["text"] == "function: __main__:leaf"
    viewer.open("view=icicle")
    taken, said, titles = take(viewer, "Save the picture (PNG)")
    assert said == "The picture is saved." and "Save the table (CSV)" not in titles
    assert taken["name"] == "program.py-icicle.png" and base64.b64decode(taken["data"].partition(",")[2]).startswith(b"\x89PNG")
    assert viewer.page.exceptions() == []
