# SPDX-License-Identifier: BSD-3-Clause
"""Colours by state, thread and numbers in the viewer, in a real browser."""

import pytest
from spartito.analysis import Model
from spartito.view import payload
from viewing import needs_viewer, run_of

pytestmark = needs_viewer
PROGRAM = """
import threading, time
def work():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        few()
def few():
    return sum(range(20_000))
def rest():
    time.sleep(1.5)
threads = [threading.Thread(target=work, name="worker"), threading.Thread(target=rest, name="sleeper")]
for t in threads: t.start()
for t in threads: t.join()
"""
LEGEND = "[...document.querySelectorAll('.colours li button')]"
MENU = "document.querySelector('.colours select')"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run_of(tmp_path_factory, options=["--trace", "--c-calls", "--metric", "rusage:ru_minflt"], program=PROGRAM)


def legend(viewer, entry):
    """Waits until the legend has an entry that begins like this; returns {text: colour} of all."""
    viewer.page.wait_for(f"{LEGEND}.some((one) => one.textContent.startsWith({entry!r}))")
    viewer.ready()
    return dict(viewer.page.evaluate(f"{LEGEND}.map((one) => [one.textContent, one.firstElementChild.style.background])"))


def colours_of_rows(viewer):
    """{function: colour} of the visible rows of the table."""
    viewer.show("table")
    rows = "[...document.querySelectorAll('.table .row:not(.head)')]"
    viewer.page.wait_for(f"{rows}.length > 3 && {rows}.every((e) => e.querySelector('.swatch'))")
    both = "[e.querySelector('.name').textContent, e.querySelector('.swatch').style.background]"
    return dict(viewer.page.evaluate(f"{rows}.map((e) => {both})"))


def colour_of_sleep(viewer):
    """The colour of time.sleep in the table, which has little running time and may be far down."""
    viewer.page.evaluate("window.spartito.store.select({ search: 'built-in method time.sleep' })")
    row = "document.querySelector('.table .row:not(.head)')"
    viewer.page.wait_for(f"document.querySelectorAll('.table .row').length === 2 && {row}.textContent.includes('time.sleep')")
    colour = viewer.page.evaluate(f"{row}.querySelector('.swatch').style.background")
    viewer.page.evaluate("window.spartito.store.select({ search: undefined })")
    viewer.ready()
    return colour


def press(viewer, text):
    viewer.page.evaluate(f"{LEGEND}.find((one) => one.textContent === {text!r}).click()")
    viewer.ready()
    return viewer.page.evaluate(f"{LEGEND}.find((one) => one.textContent === {text!r}).ariaPressed")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_functions_have_the_colour_of_their_state_in_every_view(viewer, recorded, theme):
    viewer.open(f"view=icicle&colour=state&theme={theme}")
    entries = legend(viewer, "sleeps")
    assert len(set(entries.values())) == len(entries) >= 2
    found = colours_of_rows(viewer)
    model = Model(str(recorded))
    names = payload.unpack(model.view("regions"))[0]["names"]
    _, flat = payload.unpack(model.view("flat"))
    checked = 0  # functions
    for region, excl, ran, waited in zip(*(flat[column] for column in ("region", "excl", "running", "waiting"))):
        name, ready = names[region], excl - ran - waited  # the system may have preempted any function
        if found.get(name) is None or names.count(name) > 1:
            continue
        state = "preempted" if ready > max(ran, waited) else "runs" if ran >= waited else None
        assert found[name] == entries[state] if state else found[name] not in (entries.get("runs"), entries.get("preempted")), name
        checked += 1
    assert checked > 3
    assert colour_of_sleep(viewer) == entries["sleeps"]
    assert viewer.page.exceptions() == []


def test_a_click_on_an_entry_highlights_its_functions(viewer):
    viewer.open("view=icicle&colour=state&theme=light")
    entries = legend(viewer, "sleeps")
    before = viewer.pixels()
    assert press(viewer, "sleeps") == "true" and viewer.selection()["tone"] == "sleep"
    assert viewer.pixels() != before
    assert viewer.page.evaluate("document.querySelector('.chips').textContent").startswith("colour sleeps")
    found = colours_of_rows(viewer)
    assert {colour for colour in found.values() if colour in entries.values()} <= {entries["sleeps"]}
    assert colour_of_sleep(viewer) == entries["sleeps"]
    viewer.show("icicle")
    legend(viewer, "sleeps")
    assert press(viewer, "sleeps") == "false" and "tone" not in viewer.selection()
    assert viewer.pixels() == before


def test_a_timeline_shows_states_within_a_row_and_rows_by_thread(viewer):
    seen = set()
    viewer.open("view=timeline&theme=light")
    for colour, entry in (("state", "sleeps"), ("thread", "worker"), ("visits", "≥ ")):
        viewer.page.evaluate(f"window.spartito.store.select({{ colour: {colour!r} }})")
        legend(viewer, entry)
        colours, picture = viewer.pixels()
        assert colours > 3
        seen.add(picture)
    assert len(seen) == 3
    # an entry of a thread selects it
    viewer.page.evaluate("window.spartito.store.select({ colour: 'thread' })")
    legend(viewer, "worker")
    assert press(viewer, "worker") == "true"
    location = viewer.selection()["location"]
    assert viewer.view()["rows"][location]["label"] == "worker"


def test_numbers_have_a_scale(viewer):
    viewer.open("view=sunburst&colour=share&theme=light")
    entries = legend(viewer, "≥ 30 %")
    assert list(entries) == ["≥ 30 %", "10 % – 30 %", "3 % – 10 %", "1 % – 3 %", "0.3 % – 1 %", "< 0.3 %"]
    assert len(set(entries.values())) == 6
    options = viewer.page.evaluate(f"[...{MENU}.options].map((one) => one.value)")
    assert options[:2] == ["module", "function"] and {"state", "thread", "share", "visits", "m:ru_minflt"} <= set(options)
    viewer.page.evaluate(f"{MENU}.value = 'm:ru_minflt'; {MENU}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    viewer.page.wait_for(f"{LEGEND}.length > 0 && !{LEGEND}.some((one) => one.textContent.includes('%'))")
    assert viewer.selection()["colour"] == "m:ru_minflt"
    assert viewer.page.evaluate(f"{LEGEND}[0].textContent").startswith("≥ ")
