# SPDX-License-Identifier: BSD-3-Clause
"""Locks and waits in the viewer: the answer equals Model.locks(), and the view in a real browser shows it."""

import subprocess
import sys

import pytest
import waiting
from commandline import run
from spartito.analysis import Model
from spartito.view import kinds, locks, payload
from viewing import Viewer, assert_says_how_to_record, needs_viewer

pytestmark = needs_viewer
ROWS = "[...document.querySelectorAll('[role=row]')]"
PROGRAM = """
import queue, threading, time
from asleep import until_asleep
lock, q = threading.Lock(), queue.Queue()  # made
has_it = threading.Event()
def holder():
    with lock:
        has_it.set()
        until_asleep(threads[1])
        time.sleep(0.1)
def contender():
    has_it.wait()
    with lock:
        pass
def consumer():
    for _ in range(3): q.get()
def producer():
    for i in range(3):
        until_asleep(threads[2])
        time.sleep(0.03)
        q.put(i)
threads = [threading.Thread(target=f, name=f.__name__) for f in (holder, contender, consumer, producer)]
for t in threads[1:]: t.start()
until_asleep(threads[1])
threads[0].start()
for t in threads: t.join()
"""
DEADLOCK = """
import threading, os
from asleep import until_asleep
a, b = threading.Lock(), threading.Lock()
both = threading.Barrier(3)
def first():
    with a:
        both.wait()
        with b: pass
def second():
    with b:
        both.wait()
        with a: pass
threads = [threading.Thread(target=f, name=f.__name__, daemon=True) for f in (first, second)]
for t in threads: t.start()
both.wait()
until_asleep(*threads)
os.kill(os.getpid(), 9)
"""


def measure(place, program):
    subprocess.run([sys.executable, "-m", "spartito", *map(str, waiting.command(place, program))], cwd=place)
    return place / "x"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return measure(tmp_path_factory.mktemp("locks"), PROGRAM)


@pytest.fixture(scope="module")
def found(recorded):
    return Model(str(recorded)).locks()


def answer(directory):
    return payload.unpack(kinds.open_experiment(str(directory)).get("locks", {}))[0]


def test_the_answer_is_what_the_model_says(recorded, found):
    meta = answer(recorded)
    assert meta["hidden"] == 0 and meta["deadlocks"] == []

    def plain(wait, stack, holder_stack):
        return (wait["location"], wait["holder"], wait["count"], wait["time"], tuple(stack), tuple(holder_stack))

    stacks = meta["stacks"]
    shown = [plain(w, stacks[w["stack"]], stacks[w["holder_stack"]]) for w in meta["waits"]]
    assert sorted(shown, key=str) == sorted((plain(w, w["stack"], w["holder_stack"]) for w in found["waits"]), key=str)
    assert [w["time"] for w in meta["waits"]] == sorted((w["time"] for w in found["waits"]), reverse=True)
    names = [o["name"] for o in meta["objects"]]
    assert sum("Lock made at" in name for name in names) >= 1 and any("Queue made at" in name for name in names)
    assert "sleep" in names and len({w["object"] for w in meta["waits"]}) == len(names)


def test_of_very_many_the_longest(recorded, found, monkeypatch):
    monkeypatch.setattr(locks, "ROWS", 2)
    meta = answer(recorded)
    assert meta["hidden"] == len(found["waits"]) - 2 and len(meta["waits"]) == 2
    assert meta["waits"][0]["time"] == max(w["time"] for w in found["waits"])


def test_the_view(viewer, found):
    view = viewer.open("view=locks")
    assert view["total"] == pytest.approx(sum(w["time"] for w in found["waits"]))
    assert [row[1] for row in view["objects"]] == sorted((row[1] for row in view["objects"]), reverse=True)
    made = f"program.py:{waiting.line_of(PROGRAM, 'made')}"  # threads may wait for locks of the standard library, too
    (wait,) = (w for w in view["waits"] if w[0].startswith("Lock made at") and w[0].endswith(made) and w[1] == "contender")
    assert wait[2] == "holder" and wait[3] > 0.02 and wait[4] == 1
    drawn = viewer.page.evaluate("[...document.querySelectorAll('.flow text')].map((t) => t.textContent)")
    assert {"contender", "consumer", "holder"} <= set(drawn)
    titles = viewer.page.evaluate("[...document.querySelectorAll('.flow path title')].map((t) => t.textContent)")
    assert any(title.startswith("contender waited for Lock made at") for title in titles)
    assert any("was held by holder: " in title for title in titles)
    assert viewer.page.exceptions() == []


def summed(found, key):
    times = {}
    for wait in found["waits"]:
        times[key(wait)] = times.get(key(wait), 0.0) + wait["time"]
    return sorted(times.values(), reverse=True)


def test_waits_are_summed_up_by_call_path_and_by_waiter_and_holder(viewer, found):
    viewer.open("view=locks")
    choose = "[...document.querySelectorAll('.choice label')].find((l) => l.textContent === %r).querySelector('input').click()"
    viewer.page.evaluate(choose % "Call paths")
    view = viewer.ready()
    expected = summed(found, lambda w: (tuple(w["stack"]), w["file"], w["line"]))
    assert [row[3] for row in view["sums"]] == pytest.approx(expected[:20])
    viewer.page.evaluate(choose % "Waiter and holder")
    view = viewer.ready()
    assert [row[3] for row in view["sums"]] == pytest.approx(summed(found, lambda w: (w["location"], w["holder"]))[:20])
    assert any(row[:2] == ["contender", "holder"] for row in view["sums"])
    assert viewer.page.evaluate(f"{ROWS}.some((row) => row.textContent.includes('none, or not known'))")


def test_a_click_on_what_was_waited_for_shows_its_waits(viewer):
    viewer.open("view=locks")
    viewer.page.evaluate(
        "[...document.querySelectorAll('.flow g')].find((g) => g.textContent.startsWith('queue.Queue') || "
        "g.textContent.startsWith('Queue')).dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    view = viewer.ready()
    assert view["waits"] and all("Queue made at" in w[0] and w[1] == "consumer" for w in view["waits"])


def test_a_thread_by_itself(viewer, found):
    locations = {w["location"] for w in found["waits"]}
    for location in locations:
        view = viewer.open(f"view=locks&location={location}")
        mine = [w for w in found["waits"] if location in (w["location"], w["holder"])]
        assert view["total"] == pytest.approx(sum(w["time"] for w in mine))


def test_a_wait_leads_to_its_callers(viewer):
    viewer.open("view=locks")
    row = f"{ROWS}.find((row) => row.textContent.includes('contender in') || row.textContent.includes('holder in'))"
    viewer.page.evaluate(row + ".dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))")
    viewer.page.wait_for("window.spartito.state().selection.view === 'callers'")
    assert viewer.selection()["path"]


def test_deadlocks_are_reported(tmp_path, tmp_path_factory):
    directory = measure(tmp_path, DEADLOCK)
    v = Viewer(directory, tmp_path_factory.mktemp("browser"))
    try:
        view = v.open("view=locks")
        assert view["deadlocks"][0] == "deadlock at the end: 2 threads wait for each other" and len(view["deadlocks"]) == 3
        assert "first waits for Lock made at" in v.page.evaluate("document.querySelector('.note').textContent")
        cycles = view["cycles"]
        assert len(cycles) == 1 and {name for name, _ in cycles[0]} == {"first", "second"}
        ring = v.page.evaluate("document.querySelector('.ring').getAttribute('aria-label')")
        assert "first waits for Lock made at" in ring and ", which second holds" in ring and ", which first holds" in ring
        assert v.page.evaluate("[...document.querySelectorAll('.ring path[marker-end]')].length") == 2
        assert any("not ended" in text for text in v.page.evaluate(f"{ROWS}.map((r) => r.textContent)"))
    finally:
        v.close()


def test_without_waits_it_says_how_to_record_them(tmp_path):
    assert_says_how_to_record(tmp_path, "locks", "spartito run --waits records it")


def test_a_file_holds_them(recorded, tmp_path):
    done = run([sys.executable, "-m", "spartito"], "html", recorded, "-o", tmp_path / "x.html")
    assert done.returncode == 0, done.stderr
    assert 'data-query="locks"' in (tmp_path / "x.html").read_text()
