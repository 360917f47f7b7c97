# SPDX-License-Identifier: BSD-3-Clause
"""Runs with hundreds of threads in the viewer, in a real browser: threads with equal roles share a row, and one of them is found by
its name."""

import pytest
from spartito.analysis import Model
from spartito.view import payload
from viewing import needs_viewer, run_of

pytestmark = needs_viewer
THREADS = 600
PROGRAM = f"""
import threading
def work(n):
    return sum(range(n))
def job(n):
    work(n)
def other():
    work(1000)
for n in range({THREADS}):
    thread = threading.Thread(target=job, args=(n,), name=f"ThreadPoolExecutor-0_{{n}}")
    thread.start()
    thread.join()
thread = threading.Thread(target=other, name="reader")
thread.start()
thread.join()
"""
POOL = f"ThreadPoolExecutor worker × {THREADS}"
FIELD = "[...document.querySelectorAll('.menu input')].find((one) => one.parentElement.textContent.startsWith('Thread'))"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run_of(tmp_path_factory, options=["--trace"], program=PROGRAM)


def labels(view):
    return [row["label"] for row in view["rows"]]


def test_threads_with_one_role_share_a_row(viewer, recorded):
    view = viewer.open("view=timeline")
    assert view["count"] == 3 and labels(view) == ["MainThread", POOL, "reader"]
    assert [(row["kind"], row["open"]) for row in view["rows"]] == [("thread", False), ("crowd", False), ("thread", False)]
    # how many of them ran and waited is what the answers about each add up to
    (tiles,) = view["crowds"].values()
    found = {what: sum(sum(tile[what]) / 1024 / 2 ** tile["level"] for tile in tiles) for what in ("running", "waiting")}
    model = Model(str(recorded))
    members = {i for i, loc in enumerate(model.info()["locations"]) if loc["role"] == "ThreadPoolExecutor worker"}
    assert len(members) == THREADS
    _, columns = payload.unpack(model.view("overview", pixels=2048))
    waited = sum(waiting / 2048 for at, waiting in zip(columns["location"], columns["waiting"]) if at in members)
    ran = sum(share / 2048 for at, share in zip(columns["location"], columns["share"]) if at in members)
    assert found["waiting"] == pytest.approx(waited, rel=1e-3, abs=1e-4)
    assert found["running"] + found["waiting"] >= ran * (1 - 1e-3)


def test_a_group_is_opened_by_keys(viewer):
    viewer.open("view=timeline")
    viewer.focus(".sheet canvas")
    viewer.key("ArrowDown", "ArrowDown")
    assert POOL in viewer.page.evaluate("document.querySelector('.sheet canvas').getAttribute('aria-description')")
    view = viewer.key("Enter")
    assert view["count"] == 3 + THREADS and view["rows"][1]["open"]
    assert labels(view)[2:4] == ["ThreadPoolExecutor-0_0", "ThreadPoolExecutor-0_1"]
    assert [row["level"] for row in view["rows"][:3]] == [0, 1, 2]
    # only what is seen is asked for
    assert len(view["dominance"]) < THREADS / 2
    assert viewer.key("Enter")["count"] == 3


def test_a_group_is_opened_by_a_click_and_by_the_button(viewer):
    view = viewer.open("view=timeline")
    x, y = viewer.box(".sheet canvas")
    row = view["rows"][1]["y"] + 8
    assert viewer.click(x + 60, y + row)["count"] == 3 + THREADS
    assert viewer.click(x + 60, y + row)["count"] == 3
    button = "[...document.querySelectorAll('.toolbar button')].find((one) => one.textContent === 'Fold groups')"
    assert viewer.page.evaluate(f"{button}.ariaPressed") == "true"
    viewer.page.evaluate(f"{button}.click()")
    assert viewer.ready()["count"] == 3 + THREADS and viewer.page.evaluate(f"{button}.ariaPressed") == "false"


def test_the_order_of_rows_is_part_of_the_address(viewer, recorded):
    assert labels(viewer.open("view=timeline&part=begin"))[-1] == "reader"
    assert labels(viewer.open("view=timeline&part=time"))[1] == POOL
    viewer.open("view=timeline&part=time")
    viewer.focus(".sheet canvas")
    viewer.key("ArrowDown", "ArrowDown")
    first = labels(viewer.key("Enter"))[2]
    locations = Model(str(recorded)).info()["locations"]
    running = {loc["name"]: loc["running"] for loc in locations if loc["role"] == "ThreadPoolExecutor worker"}
    assert running[first] == max(running.values())


def test_one_of_many_threads_is_found_by_its_name(viewer):
    viewer.open("view=table")
    viewer.page.evaluate("document.querySelector('[aria-controls=filters]').click()")
    viewer.ready()
    viewer.page.evaluate(f"{FIELD}.focus()")
    viewer.page.call("Input.insertText", text="0_599")
    offered = viewer.page.evaluate(f"[...{FIELD}.list.options].map((one) => one.value)")
    assert offered == ["ThreadPoolExecutor worker (ThreadPoolExecutor-0_599)"]
    viewer.page.evaluate(f"{FIELD}.blur()")
    viewer.ready()
    at = viewer.selection()["location"]
    shown = viewer.show("flame")
    assert [row["location"] for row in shown["rows"]] == [at], "also of a thread whose row is folded elsewhere"
    assert viewer.page.evaluate(f"{FIELD}.value").startswith(offered[0])
    assert viewer.page.exceptions() == []


def test_bars_of_one_role_are_in_the_order_of_their_begin(viewer):
    viewer.open("view=balance")
    choices = "[...document.querySelectorAll('.choice input')]"
    viewer.page.evaluate(f"{choices}.find((one) => one.parentElement.textContent === 'By begin').click()")
    order = viewer.ready()["order"]
    assert order == [f"ThreadPoolExecutor worker (ThreadPoolExecutor-0_{n})" for n in range(THREADS)]
