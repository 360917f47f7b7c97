# SPDX-License-Identifier: BSD-3-Clause
"""Roles in the viewer, in a real browser: the balance view compares processes and threads with equal roles, as `spartito report
balance` does, and threads are titled by their roles."""

import collections
import subprocess
import sys

import pytest
from spartito.analysis import Model
from spartito.view import kinds
from viewing import Viewer, needs_viewer, reported, run_of

pytestmark = needs_viewer
PROGRAM = """
import multiprocessing, threading
from concurrent.futures import ThreadPoolExecutor
def work(n): return sum(range(n))
def work_of_both(n):  # otherwise one worker may do all, and the other one may be ended before it begins
    both_workers.wait()
    return work(n)
if __name__ == "__main__":
    both_workers = multiprocessing.get_context("fork").Barrier(2)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(work_of_both, [100_000] * 8, chunksize=1)
    with ThreadPoolExecutor(2) as threads:
        both = threading.Barrier(2)
        list(threads.map(lambda n: (both.wait(), work(n)), [100_000, 300_000]))
"""
MENU = "[...document.querySelectorAll('.menu select')].find((s) => s.parentElement.textContent.startsWith('Role'))"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return run_of(tmp_path_factory, program=PROGRAM)


def choose(viewer, value):
    viewer.page.evaluate(f"{MENU}.value = {value!r}; {MENU}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    return viewer.ready()


def test_processes_with_one_role_are_compared(viewer, recorded):
    found = reported(recorded, "balance", "--limit", "0", "--processes")
    (group,) = found["groups"]
    view = viewer.open("view=balance")
    assert view["over"] == "processes" and view["role"] == group["role"] == "Pool worker"
    assert len(view["units"]) == len(group["units"]) == 2 and all("Pool worker ForkPoolWorker" in unit for unit in view["units"])
    assert view["note"].startswith("Not compared, the only one with its role: program.py")
    model = Model(str(recorded)).balance(over="processes", units=group["units"], limit=0, time="running")
    assert view["time"] == "running"
    names = collections.Counter(row["name"] for row in model["rows"])  # the functions of a property have one name
    means = {row["name"]: row["running"]["mean"] for row in model["rows"] if names[row["name"]] == 1}
    shown = {row["name"]: row["mean"] for row in view["rows"] if row["name"] in means}
    assert "__main__:work" in shown and shown == {name: pytest.approx(means[name]) for name in shown}
    view = choose(viewer, "all")
    assert view["role"] == "all" and len(view["units"]) == len(found["info"]["processes"]) and view["note"] is None
    assert viewer.selection()["part"] == "processes/all"
    assert viewer.page.exceptions() == []


def test_threads_have_the_titles_of_their_roles(viewer, recorded):
    found = reported(recorded, "balance", "--limit", "0", "--threads")
    view = viewer.open("view=balance&part=threads")
    groups = sorted(found["groups"], key=lambda group: -len(group["units"]))
    assert view["roles"] == [f"{group['role']} ×{len(group['units'])}" for group in groups] + ["All"]
    (pool,) = (group for group in groups if group["role"].startswith("ThreadPoolExecutor worker"))
    view = choose(viewer, pool["role"])
    assert view["role"] == pool["role"] and len(view["units"]) == 2
    assert all("ThreadPoolExecutor worker (ThreadPoolExecutor-0_" in unit for unit in view["units"])
    # the address keeps it
    assert viewer.open(viewer.page.evaluate("location.hash.slice(1)"))["role"] == pool["role"]
    assert viewer.page.exceptions() == []


FILTER = "[...document.querySelectorAll('#filters .menu select')].find((s) => s.parentElement.textContent.startsWith('Role'))"


def test_one_role_alone(viewer, recorded):
    model = Model(str(recorded))
    info = model.info()
    workers = [i for i, process in enumerate(info["processes"]) if process["role"].startswith("Pool worker")]
    assert len(workers) == 2

    def total(**selection):
        return sum(row["excl"] for row in model.tree(**selection))

    whole = viewer.open("view=icicle")["total"]
    viewer.page.evaluate("document.querySelector('[aria-controls=filters]').click()")
    viewer.ready()
    titles, values = (viewer.page.evaluate(f"[...{FILTER}.options].map((o) => o.{what})") for what in ("text", "value"))
    assert titles[0] == "all" and "Pool worker ×2 (processes)" in titles
    assert any(title.startswith("ThreadPoolExecutor worker") and title.endswith("×2 (threads)") for title in titles)
    viewer.page.evaluate(f"{FILTER}.value = 'process:Pool worker'")
    viewer.page.evaluate(f"{FILTER}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    viewer.ready()
    assert viewer.selection()["role"] == "process:Pool worker"
    view = viewer.open(viewer.page.evaluate("location.hash.slice(1)"))
    assert view["total"] == pytest.approx(sum(total(process=i) for i in workers)) and 0 < view["total"] < whole
    assert viewer.page.evaluate("document.querySelector('.chip').textContent") == "role Pool worker×"
    # the table is summed up from the same tree
    assert viewer.open("view=table&role=process:Pool worker")["total"] == pytest.approx(view["total"])
    alone = viewer.open(f"view=icicle&role=process:Pool worker&process={workers[0]}")
    assert alone["total"] == pytest.approx(total(process=workers[0]))
    threads = [i for i, loc in enumerate(info["locations"]) if loc["role"].startswith("ThreadPoolExecutor worker")]
    role = next(value for value in values if value.startswith("thread:ThreadPoolExecutor worker"))
    view = viewer.open(f"view=table&role={role}")
    assert view["total"] == pytest.approx(sum(total(location=i) for i in threads))
    viewer.open("view=icicle&role=process:nobody")
    assert "Role nobody is not in this experiment" in viewer.page.evaluate("document.body.innerText")
    assert "role" not in viewer.selection()
    assert viewer.page.exceptions() == []


def test_the_timeline_has_the_rows_of_one_role(recorded, tmp_path_factory):
    place = tmp_path_factory.mktemp("traced")
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "x", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=place, check=True)
    viewer = Viewer(place / "x", tmp_path_factory.mktemp("browser"))
    try:
        every = viewer.open("view=timeline")["rows"]
        rows = viewer.open("view=timeline&role=process:Pool worker")["rows"]
        assert [row["label"] for row in rows] == [row["label"] for row in every if row["label"].startswith("Pool worker")]
        assert len(rows) == 2
        assert viewer.page.evaluate("document.querySelector('.chip.off')") is None
        assert viewer.page.exceptions() == []
    finally:
        viewer.close()


def test_the_names_of_threads_without_a_known_role_stay(recorded):
    facts = kinds.open_experiment(str(recorded)).facts()
    info = Model(str(recorded)).info()
    for shown, loc in zip(facts["locations"], info["locations"]):
        assert shown["name"] == (f"{loc['role']} ({loc['name']})" if loc["role"] not in ("", "main thread") else loc["name"])
        assert shown.get("helper", False) == loc["helper"]
        assert shown.get("role", "") != shown["name"]  # without one it is the name
    assert "MainThread" in {loc["name"] for loc in facts["locations"]}
