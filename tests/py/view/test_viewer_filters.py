# SPDX-License-Identifier: BSD-3-Clause
"""The filters of the selection in a real browser: they apply to all views of functions and call paths, with exact times."""

import collections
import subprocess
import sys

import pytest
from spartito.analysis import Model
from spartito.view import payload
from viewing import Viewer, needs_viewer, run_of

pytestmark = needs_viewer
PROGRAM = """
import json, mine
def walk(n):
    return 1 + sum([walk(k) for k in range(n)])
def main():
    json.dumps([list(range(20))] * 200)
    walk(9)
    mine.twice()
main()
"""
MINE = """
import fractions
def twice():
    return sorted(range(10), key=lambda n: -n)
twice()
"""
FILTERED = ("summary", "table", "icicle", "sunburst", "bottomup", "callers", "graph")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run_of(tmp_path_factory, program=PROGRAM, mine=MINE)


class Rows:
    """The rows of the answer `tree`: (index, index of the caller, name, visits, exclusive time, imported)."""

    def __init__(self, recorded):
        model = Model(str(recorded))
        names = payload.unpack(model.view("regions"))[0]["names"]
        columns = payload.unpack(model.view("tree"))[1]
        self.own = set(name for name, own in zip(names, payload.unpack(model.view("regions"))[1]["own"]) if own)
        wanted = ("parent", "region", "visits", "excl", "imported")
        self.all = [(i, up, names[region], *numbers) for i, (up, region, *numbers) in enumerate(zip(*(columns[c] for c in wanted)))]


@pytest.fixture(scope="module")
def rows(recorded):
    return Rows(recorded)


def close(a, b):
    return a == pytest.approx(b, rel=1e-9, abs=1e-9)


def functions(viewer, hash):
    """The time of each function in the bottom-up tree, which has them all."""
    return {row["name"]: (row["visits"], row["excl"]) for row in viewer.open(f"view=bottomup&{hash}")["rows"]}


def sums(found):
    by = collections.defaultdict(lambda: [0, 0.0])
    for name, visits, excl in found:
        by[name][0] += visits
        by[name][1] += excl
    return by


def test_imports_are_hidden(viewer, rows):
    shown = functions(viewer, "hide=imports")
    expected = sums((name, visits, excl) for _, _, name, visits, excl, imported in rows.all if not imported)
    assert set(shown) == set(expected) and "mine:<module>" in shown and "fractions:<module>" not in shown
    assert "fractions:<module>" in functions(viewer, "theme=light")
    for name, (visits, excl) in shown.items():
        assert visits == expected[name][0] and close(excl, expected[name][1]), name


def test_other_code_counts_for_what_own_code_called(viewer, rows):
    of, expected = {}, collections.defaultdict(float)
    for i, up, name, _, excl, _ in rows.all:
        above = of.get(up)
        of[i] = above if above and name not in rows.own and above not in rows.own else name
        expected[of[i]] += excl
    shown = functions(viewer, "code=entries")
    assert {name: excl for name, (_, excl) in shown.items()} == pytest.approx(dict(expected), abs=1e-9)
    assert any(name.startswith("json:dumps") for name in shown) and "json.encoder:JSONEncoder.encode" not in shown


def test_recursion_is_folded(viewer):
    path = ["__main__:<module>", "__main__:main", "__main__:walk"]
    regions = ".".join(str(viewer.index_of(name)) for name in path)
    deep = viewer.open(f"view=icicle&centre={regions}")["top"]
    folded = viewer.open(f"view=icicle&fold=recursion&centre={regions}")["top"]
    # from 3.12 on, comprehensions are no functions
    assert all(row["name"] not in path for row in folded) and {row["name"].split(".")[0] for row in deep} == {"__main__:walk"}
    calls = functions(viewer, "fold=recursion")["__main__:walk"]
    assert calls[0] == functions(viewer, "theme=light")["__main__:walk"][0] == 2**9


def test_only_call_paths_with_what_is_found(viewer, rows):
    below = set()
    for i, up, name, *_ in rows.all:
        if name.startswith("__main__:walk") or up in below:
            below.add(i)
    expected = sum(excl for i, _, _, _, excl, _ in rows.all if i in below)
    view = viewer.open("view=icicle&only=found&search=__main__:walk")
    assert close(view["total"], expected) and [row["name"] for row in view["top"]] == ["__main__:<module>"]
    assert viewer.open("view=icicle&only=found")["total"] > expected  # without a search it has no effect


def test_small_paths_are_combined(viewer):
    every, few = (viewer.open(f"view=icicle&{hash}") for hash in ("theme=light", "least=0.05"))
    assert few["paths"] == every["paths"] and close(few["total"], every["total"]) and few["rows"] < every["rows"]


def test_every_view_of_functions_is_filtered(viewer, rows):
    kept = sum(excl for *_, excl, imported in rows.all if not imported)
    totals = {view: viewer.open(f"view={view}&hide=imports").get("total") for view in FILTERED}
    assert {view for view, total in totals.items() if total is not None} >= {"summary", "table", "icicle", "sunburst", "bottomup"}
    for view, total in totals.items():
        assert total is None or close(total, kept), view
    viewer.open("view=table&hide=imports")
    assert viewer.page.evaluate("document.querySelector('.chip.off')") is None
    assert "mean" not in viewer.view()["columns"] and "excl" in viewer.view()["columns"]
    viewer.show("imports")
    assert viewer.page.evaluate("document.querySelector('.chip.off').title").startswith("Not in this view")


def test_the_panel_and_its_chips(viewer):
    viewer.open("view=table")
    labels = "[...document.querySelectorAll('#filters label')]"
    button = "document.querySelector('[aria-controls=filters]')"
    assert viewer.page.evaluate("document.querySelector('#filters')") is None
    viewer.page.evaluate(f"{button}.click()")
    viewer.ready()
    assert viewer.page.evaluate(f"{button}.getAttribute('aria-expanded')") == "true"
    assert viewer.page.evaluate(f"{labels}.find((l) => l.textContent === 'Only what is found').querySelector('input').disabled")
    for label in ("Hide imports", "Fold recursion", "Own code"):
        viewer.page.evaluate(f"{labels}.find((l) => l.textContent === {label!r}).querySelector('input').click()")
        viewer.ready()
    assert {"hide": "imports", "fold": "recursion", "code": "own"}.items() <= viewer.selection().items()
    assert viewer.page.evaluate(f"{button}.textContent") == "Filter (3)"
    chips = "[...document.querySelectorAll('.chip')]"
    texts = ["code own code only×", "without imports×", "recursion folded×"]
    assert viewer.page.evaluate(f"{chips}.map((c) => c.textContent)") == texts
    assert not [text for text, missing in viewer.cut_texts() if missing]
    viewer.page.evaluate(f"{chips}[1].querySelector('button').click()")
    viewer.ready()
    assert "hide" not in viewer.selection() and viewer.selection()["code"] == "own"
    viewer.page.evaluate("[...document.querySelectorAll('.chips button')].find((b) => b.textContent === 'Clear all').click()")
    viewer.ready()
    assert not {"hide", "fold", "code"} & set(viewer.selection())


@pytest.fixture(scope="module")
def traced(recorded):
    """A trace of the same program."""
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "traced", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=recorded.parent, check=True)
    return recorded.parent / "traced"


@pytest.fixture(scope="module")
def timeline(traced, tmp_path_factory):
    v = Viewer(traced, tmp_path_factory.mktemp("timeline"))
    yield v
    v.close()


def boxes(view):
    """The names of the functions with boxes in a timeline, each with its smallest depth. A run that was slow may have few: calls
    that are narrower than a pixel share a box."""
    found = {}
    for box in view["blocks"]:
        found[box["region"]] = min(box["depth"], found.get(box["region"], box["depth"]))
    assert found["__main__:<module>"] == 0
    return found


def test_a_timeline_shows_own_calls_alone(timeline, rows):
    view = timeline.open("view=timeline&code=own")
    found = boxes(view)
    assert set(found) <= rows.own
    assert found.get("__main__:main", 1) == found.get("mine:<module>", 1) == 1
    assert set(view["dominance"]["0"]) <= rows.own | {"<root>"}
    assert timeline.page.evaluate("document.querySelectorAll('.chip').length") == 1
    assert timeline.page.evaluate("document.querySelector('.chip.off')") is None
    assert timeline.page.exceptions() == []


def test_a_timeline_without_imports(timeline):
    view = timeline.open("view=timeline&hide=imports")
    hidden = ("_frozen_importlib", "fractions:<module>")
    assert not any(name.startswith(hidden) for name in [*boxes(view), *view["dominance"]["0"]])


def test_a_timeline_of_what_is_found(timeline):
    view = timeline.open("view=timeline&only=found&search=__main__:walk")
    others = {name for name in boxes(view) if not name.startswith("__main__:walk")}
    assert others <= {"__main__:<module>", "__main__:main"}
    # the callers have no time
    assert all(name.startswith("__main__:walk") for name in view["dominance"]["0"])
    folded = timeline.open("view=timeline&only=found&search=__main__:walk&fold=recursion")
    assert max(boxes(folded).values()) <= 3  # a comprehension is a function until 3.11


def test_the_flame_chart_is_filtered_too(timeline, rows):
    assert set(boxes(timeline.open("view=flame&code=own"))) <= rows.own


def test_two_ranges_of_time_are_compared(traced, tmp_path):
    model = Model(str(traced))
    names = payload.unpack(model.view("regions"))[0]["names"]
    duration = model.info()["end"] - model.info()["begin"]
    ranges = {"before": (0.0, duration / 2), "now": (duration / 2, duration)}
    times = {}
    for which, (begin, end) in ranges.items():
        columns = payload.unpack(model.view("flat", begin=begin, end=end))[1]
        times[which] = {names[region]: excl for region, excl in zip(columns["region"], columns["excl"])}
    viewer = Viewer(traced, tmp_path)
    try:
        viewer.open(f"view=table&begin=0&end={ranges['before'][1]}")
        viewer.page.evaluate("[...document.querySelectorAll('.chip button')].find((b) => b.textContent === 'compare').click()")
        begin, end = ranges["now"]
        viewer.page.evaluate(f"window.spartito.store.select({{ begin: {begin}, end: {end} }})")
        view = viewer.ready()
        assert view["rows"] == len(times["before"].keys() | times["now"].keys()) > 10
        for row in view["top"]:
            now, before = (times[which].get(row["name"], 0.0) for which in ("now", "before"))
            assert (row["excl"], row["base"]) == (pytest.approx(now, abs=1e-9), pytest.approx(before, abs=1e-9)), row["name"]
            assert row["change"] == pytest.approx(now - before, abs=1e-9)
        chips = viewer.page.evaluate("[...document.querySelectorAll('.chip small')].map((c) => c.textContent)")
        assert chips == ["time", "against"]
        icicle = viewer.show("icicle")
        assert icicle["compared"] and close(icicle["total"], sum(times["now"].values()))
        viewer.page.evaluate("window.spartito.store.select({ against: undefined })")
        assert not viewer.ready()["compared"]
    finally:
        viewer.close()
