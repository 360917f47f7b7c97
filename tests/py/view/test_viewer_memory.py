# SPDX-License-Identifier: BSD-3-Clause
"""Memory in the viewer: the answer equals Model.memory(), and the view in a real browser shows it."""

import os
import subprocess
import sys

import pytest
from commandline import run
from spartito._analyse import Error
from spartito.analysis import Model
from spartito.report import memorytable
from spartito.view import kinds, memory, payload
from test_viewer_metrics import tree
from viewing import Viewer, assert_says_how_to_record, needs_viewer

pytestmark = needs_viewer
PROGRAM = """
import os, sys
kept, cache = [], {}
def grow():
    kept.append(bytearray(200_000))
def temporary():
    return len(bytes(3_000_000))
def fill():
    for i in range(50): cache[i] = bytes(20_000)
fill()
for i in range(40):
    grow(); temporary()
big = bytearray(30_000_000)
del big
if len(sys.argv) < 2:
    import subprocess
    subprocess.run([sys.executable, __file__, "child"], check=True)
else:
    much = bytearray(50_000_000)
"""
# a line of the first process that allocates in libraries
IMPORTS = 1 + PROGRAM[: PROGRAM.index("    import subprocess")].count("\n")
FACTS = "window.spartito.store.source.get('facts').then((columns) => columns.meta)"
QUANTITIES = {"peak": "peak_bytes", "left": "left_bytes", "all": "bytes", "temporary": "temporary_bytes"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    place = tmp_path_factory.mktemp("memory")
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--memory-profile", "--limit-rss", "20M", "-o", "x"]
    subprocess.run([*command, "--", sys.executable, "program.py"], cwd=place, check=True)
    return place / "x"


@pytest.fixture(scope="module")
def found(recorded):
    """The memory report, with the call sites in the program."""
    model = Model(str(recorded))
    memory = model.memory()
    return {**memory, "sites": memorytable.with_own(model, memory)}


def answer(directory, **parameters):
    return payload.unpack(kinds.open_experiment(str(directory)).get("memory", {k: str(v) for k, v in parameters.items()}))


def by_line(sites):
    return {tuple(row[key] for key in memorytable.LINE): row for row in memorytable.by_line(sites)}


@pytest.mark.parametrize("process", [None, 0, 1])
def test_the_answer_is_what_the_model_says(recorded, found, process, monkeypatch):
    monkeypatch.setattr(memory, "ROWS", 10**6)
    meta, columns = answer(recorded, **({} if process is None else {"process": process}))
    sites = [site for site in found["sites"] if process in (None, site["process"])]
    whole = by_line(sites)
    lines = {tuple(row[key] for key in memorytable.LINE): row["peak_bytes"] for row in meta["lines"]}
    assert lines == {key: row["peak_bytes"] for key, row in whole.items()}
    program = str(recorded.parent / "program.py")
    assert process == 1 or any(row["within"] and (row["file"], row["line"]) == (program, IMPORTS) for row in meta["lines"])
    assert meta["hidden"] == [0, 0, 0]
    for name in ("bytes", "left_bytes", "peak", "temporary"):
        total = sum(site[name] for site in sites)
        assert sum(row[name] for row in meta["paths"]) == sum(row[name] for row in meta["lines"]) == meta["totals"][name] == total
    kept = sum(site["left_bytes"] for site in sites if site["kept"] == "cache")
    assert sum(row["cache_bytes"] for row in meta["lines"]) == kept == meta["totals"]["cache_bytes"]
    assert {row["path"] for row in meta["paths"]} == set(map(int, meta["stacks"]))
    assert [p["process"] for p in meta["processes"]] == ([0, 1] if process is None else [process])
    for p in meta["processes"]:
        first, end = p["rows"]
        (known,) = (q for q in found["processes"] if q["process"] == p["process"])
        points = list(zip(*(columns[name][first:end] for name in ("at", "heap", "resident"))))
        assert points == sorted(points, key=lambda point: point[0])
        assert {(at, heap, resident) for at, heap, _, resident in known["series"]} <= set(points)
        # the peak may lie between two points of the series
        assert (p["peak_time"], p["peak_bytes"]) in {(at, heap) for at, heap, _ in points}
        assert max(heap for _, heap, _ in points) == p["peak_bytes"]
        assert max(resident for _, _, resident in points) == p["resident_peak"]
    assert any("limit of 20.0 MiB resident was passed" in note for note in meta["notes"])


def test_of_very_many_lines_the_top(recorded, found, monkeypatch):
    monkeypatch.setattr(memory, "ROWS", 2)
    meta, _ = answer(recorded)
    assert meta["hidden"][0] > 0 and 2 <= len(meta["lines"]) <= 8
    everything = by_line(found["sites"]).values()
    for quantity in QUANTITIES.values():
        assert max(row[quantity] for row in meta["lines"]) == max(row[quantity] for row in everything)


def test_questions_that_cannot_be(recorded):
    with pytest.raises(kinds.BadQuery, match="memory takes no location"):
        answer(recorded, location=1)


def test_raw_files_that_are_gone(recorded, tmp_path):
    """In a merged experiment memory is in the raw files: without them the view reports an error."""
    import shutil

    copy = shutil.copytree(recorded, tmp_path / "x")
    subprocess.run([sys.executable, "-m", "spartito", "finalize", "--force", "-q", copy], check=True)
    merged, _ = answer(copy)
    direct, _ = answer(recorded)
    assert merged["totals"] == direct["totals"]
    experiment = kinds.open_experiment(str(copy))
    for name in os.listdir(copy / "raw"):
        os.unlink(copy / "raw" / name)
    with pytest.raises(Error):
        experiment.get("memory", {})


def test_the_view(viewer, found):
    view = viewer.open("view=memory")
    top = max(found["processes"], key=lambda p: p["peak_bytes"])
    assert view["heap"]["process"] == top["process"] and view["heap"]["peak"] == top["peak_bytes"]
    assert view["heap"]["limit"] == 20 << 20 and viewer.pixels()[0] > 4
    assert [row[2] for row in view["rows"]] == sorted((row[2] for row in view["rows"]), reverse=True)
    names = [(name, line) for name, line, _, _ in view["rows"]]
    assert ("__main__:grow", 5) in names and ("__main__:fill", 9) in names
    # one curve for each process; for a single process also its resident size
    spoken = "document.querySelector('canvas').getAttribute('aria-description')"
    names = [p["name"] for p in viewer.page.evaluate(FACTS)["processes"]]
    assert len(names) == 2 and all(f"{name} " in viewer.page.evaluate(spoken) for name in names)
    viewer.page.evaluate("document.querySelector('.legend button').click()")
    assert viewer.ready()["heap"]["process"] == 0 and viewer.selection()["process"] == 0
    assert "heap" in viewer.page.evaluate(spoken) and "resident" in viewer.page.evaluate(spoken)


def choose(viewer, *titles):
    for title in titles:
        found = "[...document.querySelectorAll('.choice label')].find((l) => l.textContent === %r).querySelector('input').click()"
        viewer.page.evaluate(found % title)
    return viewer.ready()


def test_threads_have_what_theirs_is(viewer, found):
    viewer.open("view=memory")
    view = choose(viewer, "Threads")
    sums = memorytable.largest(memorytable.summed(found["sites"], ("location",)), "peak_bytes", 20)
    assert [row[2] for row in view["rows"]] == [row["peak_bytes"] for row in sums] and len(sums) == 2
    viewer.page.evaluate("document.querySelectorAll('[role=row]')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    viewer.ready()
    assert viewer.selection()["location"] == sums[0]["location"]


def test_a_flame_graph_has_all_paths_of_a_quantity(viewer):
    viewer.open("view=memory")
    for what, metric in (("At the peak", "peak_bytes"), ("Left at the end", "left_bytes")):
        choose(viewer, what, "Flame graph")
        viewer.page.wait_for(f"[...document.querySelectorAll('canvas')].some((c) => c.ariaDescription?.includes('{metric}'))")
    assert viewer.pixels(".pane canvas")[0] > 2
    viewer.page.evaluate("document.querySelector('.pane canvas').focus()")
    viewer.key("ArrowDown", " ")
    assert viewer.selection()["path"]


@pytest.mark.parametrize("what", QUANTITIES)
@pytest.mark.parametrize("by", ["Lines", "Call paths"])
def test_each_choice_lists_its_own(viewer, found, what, by):
    viewer.open("view=memory")
    titles = {"peak": "At the peak", "left": "Left at the end", "all": "Allocated", "temporary": "Temporary"}
    view = choose(viewer, titles[what], by)
    keys = memorytable.LINE if by == "Lines" else ("path",)
    rows = memorytable.largest(memorytable.summed(found["sites"], keys), QUANTITIES[what], 20)
    assert [row[2] for row in view["rows"]] == [row[QUANTITIES[what]] for row in rows]


def test_a_process_by_itself(viewer, found):
    view = viewer.open("view=memory&process=0")
    assert view["heap"]["process"] == 0
    assert view["totals"]["bytes"] == sum(site["bytes"] for site in found["sites"] if site["process"] == 0)


def test_a_line_leads_to_its_source(viewer):
    viewer.open("view=memory")
    grow = "[...document.querySelectorAll('[role=row]')].find((row) => row.textContent.includes('__main__:grow'))"
    viewer.page.evaluate(grow + ".dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))")
    viewer.page.wait_for("window.spartito.state().selection.view === 'source'")
    assert viewer.selection()["region"] == viewer.index_of("__main__:grow")


def test_trees_are_as_wide_as_what_was_live_at_the_peak(viewer, recorded):
    """Bytes live at the peak are a metric of call paths: trees and tables show them."""
    view = viewer.open("view=icicle&metric=peak_bytes")
    assert view["weight"] == "peak_bytes"
    outer = tree(Model(str(recorded)), "peak_bytes")
    assert view["total"] == sum(outer) > 80_000_000


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """An experiment with memory and without calls or samples."""
    place = tmp_path_factory.mktemp("alone")
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--memory-sample", "64K", "-o", "x"]
    subprocess.run([*command, "--", sys.executable, "program.py", "child"], cwd=place, check=True)
    v = Viewer(place / "x", tmp_path_factory.mktemp("browser"))
    yield v, Model(str(place / "x"))
    assert v.page.exceptions() == []
    v.close()


@pytest.mark.parametrize("view", ["summary", "table", "icicle", "sunburst", "bottomup", "callers", "graph", "memory"])
def test_memory_alone_is_in_every_view(alone, view):
    v, model = alone
    peak = sum(tree(model, "peak_bytes"))
    assert peak > 50_000_000 and not any(row["visits"] for row in model.flat())
    shown = v.open(f"view={view}")
    if view in ("icicle", "sunburst", "bottomup"):
        assert (shown["weight"], shown["total"]) == ("peak_bytes", peak)
    if view == "callers":
        assert shown["name"] == "__main__:<module>" and shown["weight"] == "peak_bytes" and shown["excl"] > 50_000_000
    if view == "graph":
        assert shown["weight"] == "peak_bytes" and max(node["incl"] for node in shown["nodes"]) > 50_000_000
    if view == "table":
        assert {"excl", "incl", "visits", "mean"}.isdisjoint(shown["columns"]) and "peak_bytes:excl" in shown["columns"]
        assert shown["sorting"] == {"id": "peak_bytes:excl", "down": True} and shown["top"][0]["name"] == "__main__:<module>"
    if view == "summary":
        assert shown["sentences"][0].startswith("Memory alone was recorded, and no calls: ")
        assert shown["sentences"][0].endswith(" allocated in __main__:<module>.")
        assert shown["functions"][0][0] == "__main__:<module>" and "self peak_bytes" in v.page.evaluate("document.body.innerText")
    # other weights in the menu, but no time
    menu = v.page.evaluate("[...(document.querySelector('label.menu select')?.options ?? [])].map((o) => o.value)")
    if view in ("icicle", "sunburst", "bottomup", "callers", "graph"):
        assert "" not in menu and {"peak_bytes", "left_bytes", "allocated"} <= set(menu)
        assert v.open(f"view={view}&metric=allocated")["weight"] == "allocated"


def test_without_memory_it_says_how_to_record_it(tmp_path):
    assert_says_how_to_record(tmp_path, "memory", "spartito run --memory-profile records it")


def test_a_file_holds_it(recorded, tmp_path):
    done = run([sys.executable, "-m", "spartito"], "html", recorded, "-o", tmp_path / "x.html")
    assert done.returncode == 0, done.stderr
    assert 'data-query="memory"' in (tmp_path / "x.html").read_text()
