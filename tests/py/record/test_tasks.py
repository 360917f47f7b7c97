# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of asyncio: their creator, running time, waits and end. Threads: their creator, joins, pools and waits for the GIL."""

import json
import os
import sys
from collections import Counter

import pytest
from commandline import run
from programs import HOOKS, WITHOUT_GIL
from rawfile import Raw
from spartito._analyse import Model
from spartito.experiments import waiting

EVENTS = {50: "thread", 51: "join", 52: "create", 53: "switch", 54: "end", 55: "awaits", 56: "gil", 57: "handover"}
NONE = 2**32 - 1


def recorded(spartito, cwd, text, *options, status=0, trace=True, env=None):
    """Runs a program; returns its model and its standard output."""
    (cwd / "program.py").write_text(text)
    words = ["run", "-q", *(["--trace"] if trace else []), *options, "-o", cwd / "x", "--", sys.executable, "program.py"]
    done = run(spartito, *words, cwd=cwd, env={**os.environ, **(env or {})})
    assert done.returncode == status, done.stderr
    assert not done.stderr or status, done.stderr
    return Model(str(cwd / "x")), done.stdout


def by_coroutine(found):
    return {str(g["name"]).rpartition(":")[2]: g for g in found["groups"]}


def of(found, coroutine):
    """Tasks of a coroutine in the order of their creation."""
    return sorted((t for t in found["tasks"] if t["region"].endswith(":" + coroutine)), key=lambda t: t["number"])


def waits(row):
    return {str(w["where"]).rpartition(":")[2].rpartition(".")[2]: w for w in row["waits"]}


def events(cwd):
    """{location: its events of threads and tasks, in the order of the trace}"""
    (path,) = (cwd / "x" / "raw").glob("*.raw")
    return {
        location: [(EVENTS[e[0]], *e[1:]) for e in stream if e[0] in EVENTS]
        for location, stream in Raw(path).events.items()
    }


KINDS = """
import asyncio
import time

def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

async def leaf():
    await asyncio.sleep(0.02)

async def worker(n):
    spin(0.002)
    await leaf()
    await asyncio.sleep(0)
    return n

async def failing():
    await asyncio.sleep(0)
    raise ValueError("as meant")

async def sleeper():
    await asyncio.sleep(100)

async def catcher():
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        return 1

async def locked(lock):
    async with lock:
        await asyncio.sleep(0.01)

async def numbers():
    for n in range(3):
        await asyncio.sleep(0)
        yield n

async def consumer():
    return [n async for n in numbers()]

async def parent():
    return await asyncio.create_task(child(), name="the child")

async def child():
    return 7

async def asks(future):
    return await future

async def at_once():
    return 1

async def main():
    workers = [asyncio.create_task(worker(n), name=f"worker-{n}") for n in range(5)]
    assert await asyncio.gather(*workers) == list(range(5))
    assert isinstance((await asyncio.gather(failing(), return_exceptions=True))[0], ValueError)
    gone = [asyncio.ensure_future(sleeper()) for _ in range(2)]
    kept = asyncio.create_task(catcher())
    unborn = asyncio.create_task(at_once())
    unborn.cancel()
    await asyncio.sleep(0)
    for task in (*gone, kept):
        task.cancel()
    await asyncio.wait({*gone, kept, unborn})
    try:
        await asyncio.wait_for(sleeper(), 0.01)
    except asyncio.TimeoutError:
        pass
    lock = asyncio.Lock()
    await asyncio.gather(*(locked(lock) for _ in range(3)))
    assert await asyncio.create_task(consumer()) == [0, 1, 2]
    assert await parent() == 7
    assert await asyncio.create_task(parent()) == 7
    future = asyncio.get_running_loop().create_future()
    asked = asyncio.create_task(asks(future))
    await asyncio.sleep(0)
    future.set_result(3)
    assert await asked == 3

asyncio.run(main())
loop = asyncio.new_event_loop()
lost = loop.create_task(at_once())
lost._log_destroy_pending = False
lost.get_coro().close()
loop.close()
"""


@pytest.fixture(scope="module", params=HOOKS)
def kinds(request, tmp_path_factory):
    cwd = tmp_path_factory.mktemp(request.param)
    model, _ = recorded([sys.executable, "-m", "spartito"], cwd, KINDS, "--hook", request.param)
    return model.tasks(), cwd


def test_gather(kinds):
    found, _ = kinds
    group = by_coroutine(found)["worker"]
    assert (group["tasks"], group["unlisted"], group["states"], group["steps"]) == (5, 0, {"returned": 5}, 15)
    (main,) = of(found, "main")
    for n, task in enumerate(of(found, "worker")):
        assert (task["name"], task["creator"], task["steps"]) == (f"worker-{n}", main["id"], 3)
        assert task["seen_created"] and task["created"] < task["begin"] < task["end"]
        # time in which the task had no processor between its clock read and its suspension counts as running, not as waiting
        assert task["running"] >= 0.002 and task["waiting"] > 0 and task["running"] + task["waiting"] >= 0.022 - 1e-4
        assert task["running"] + task["waiting"] == pytest.approx(task["end"] - task["begin"], abs=1e-6)
        assert {where: w["count"] for where, w in waits(task).items()} == {"sleep": 1, "__sleep0": 1}
    assert waits(group)["sleep"]["count"] == 5 and waits(group)["sleep"]["time"] > 0.02
    assert waits(group)["sleep"]["what"].endswith("Future")


def test_ends(kinds):
    found, cwd = kinds
    states = {name: g["states"] for name, g in by_coroutine(found).items()}
    # setprofile does not report which exception ended the coroutine
    cancelled = "raised" if cwd.name.startswith("setprofile") else "cancelled"
    assert states["main"] == {"returned": 1}
    assert states["failing"] == {"raised": 1}
    assert states["catcher"] == {"returned": 1}
    assert states["child"] == {"returned": 2}
    # with wait_for() a third task: until Python 3.11 wait_for() creates one
    assert states["sleeper"] == {cancelled: 3 if sys.version_info < (3, 12) else 2}
    # A task cancelled before its first step: Python enters its coroutine with the exception, or not at all. The second one belongs
    # to a loop that never ran.
    assert found["never"] + sum(states.get("at_once", {}).values()) == 2 and found["never"] >= 1


def test_nested(kinds):
    found, _ = kinds
    first, second = of(found, "child")
    (main,), (parent,) = of(found, "main"), of(found, "parent")
    assert first["name"] == second["name"] == "the child"
    assert (first["creator"], second["creator"], parent["creator"]) == (main["id"], parent["id"], main["id"])
    assert waits(parent)["parent"]["what"].endswith("Task")


def test_coroutines_within(kinds):
    """Waits in a lock, an asynchronous generator and a bare future name the innermost coroutine. Steps count for the task."""
    found, _ = kinds
    groups = by_coroutine(found)
    assert groups["consumer"]["steps"] == 4
    assert {w: waits(groups["consumer"])[w]["count"] for w in waits(groups["consumer"])} == {"__sleep0": 3}
    assert waits(groups["asks"])["asks"]["count"] == 1
    lock = {w: x["count"] for w, x in waits(groups["locked"]).items()}
    assert (lock["acquire"], lock["sleep"]) == (2, 3)
    assert groups["locked"]["running"] + groups["locked"]["waiting"] > 0.03  # see above: running plus waiting


def test_trace(kinds):
    """Each step is a switch to the task and a switch away from it. The event after a step is the task's end or its wait."""
    found, cwd = kinds
    numbers = {t["number"]: t for t in found["tasks"]}
    (stream,) = (s for s in events(cwd).values() if any(e[0] == "switch" for e in s))
    running, created, steps = 0, set(), Counter()
    for what, first, *_ in stream:
        task = (first or 0) & NONE
        if what == "create":
            created.add(task)
        elif what == "switch":
            running = task
            steps[task] += 1
        elif what in ("end", "awaits"):
            assert running == task
            running = (first or 0) >> 32
            assert running == 0
    assert running == 0
    assert {n: steps[n] for n in numbers} == {n: t["steps"] for n, t in numbers.items()}
    assert {n for n, t in numbers.items() if t["seen_created"]} <= created


def test_report(spartito, kinds):
    _, cwd = kinds
    text = run(spartito, "report", "tasks", "--limit", "0", cwd / "x", env={**os.environ, "COLUMNS": "200"})
    assert text.returncode == 0, text.stderr
    assert "worker-3" in text.stdout and "the child" in text.stdout and "raised" in text.stdout
    done = run(spartito, "report", "tasks", "--json", "--limit", "2", cwd / "x")
    found = json.loads(done.stdout)
    assert found["report"] == "tasks" and len(found["tasks"]) == len(found["groups"]) == 2


def test_json(spartito, kinds):
    found, cwd = kinds
    assert run(spartito, "convert", cwd / "x", "--to", "json", "-o", cwd / "x.json").returncode == 0
    written = json.loads((cwd / "x.json").read_text())
    regions, strings = [r["name"] for r in written["regions"]], written["strings"]

    def shown(wait):
        where, what = wait["where"], wait["what"]
        return None if where is None else regions[where], None if what is None else strings[what], wait["count"]

    assert len(written["tasks"]) == len(found["tasks"]) > 20
    for task in found["tasks"]:
        row = written["tasks"][task["id"]]
        assert None if row["region"] is None else regions[row["region"]] == task["region"]
        for key in ("name", "process", "number", "location", "creator", "by", "state", "seen_created", "steps"):
            assert row[key] == task[key], key
        for key in ("created", "begin", "end", "running", "waiting"):
            assert row[key] == pytest.approx(task[key] * 1e9, abs=1), key
        assert [shown(w) for w in row["waits"]] == [(w["where"], w["what"], w["count"]) for w in task["waits"]]
    assert found["never"] == sum(r["tasks"] for r in written["unlisted_tasks"])
    waits_of = Counter()
    for w in written["task_waits"]:
        waits_of[regions[w["region"]]] += w["wait"]["count"]
    assert waits_of == {g["name"]: sum(w["count"] for w in g["waits"]) for g in found["groups"] if g["waits"]}
    assert written["handed"]["given"] == found["handed"]["given"]


def test_more_tasks_than_listed(spartito, tmp_path):
    model, _ = recorded(
        spartito,
        tmp_path,
        """
import asyncio
async def one(n):
    await asyncio.sleep(0)
    if n % 10 == 0:
        raise KeyError(n)
async def main():
    await asyncio.gather(*(one(n) for n in range(100)), return_exceptions=True)
asyncio.run(main())
""",
        "--task-limit",
        "20",
    )
    found = model.tasks()
    group = by_coroutine(found)["one"]
    listed = of(found, "one")
    assert len(found["tasks"]) == 20 and max(t["number"] for t in found["tasks"]) == 20
    assert (group["tasks"], group["unlisted"], group["steps"]) == (100, 100 - len(listed), 200)
    assert group["states"] == {"returned": 90, "raised": 10}
    assert waits(group)["__sleep0"]["count"] == 100
    assert found["unlisted"] == found["count"] - 20
    text = run(spartito, "report", "tasks", tmp_path / "x").stdout
    assert "in the sums alone" in text
    assert run(spartito, "convert", tmp_path / "x", "--to", "json", "-o", tmp_path / "x.json").returncode == 0


def test_alive_when_killed(spartito, tmp_path):
    """A killed process writes no profile: the report of running and waiting tasks comes from the trace."""
    model, _ = recorded(
        spartito,
        tmp_path,
        """
import asyncio, os, signal
async def waits():
    await asyncio.get_running_loop().create_future()
async def kills():
    await asyncio.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)
async def main():
    await asyncio.gather(waits(), kills())
asyncio.run(main())
""",
        status=-9,
        trace=False,
    )
    found = model.tasks()
    states = {name: g["states"] for name, g in by_coroutine(found).items()}
    assert states == {"main": {"waiting": 1}, "waits": {"waiting": 1}, "kills": {"running": 1}}
    (waiting,) = of(found, "waits")
    assert waiting["waiting"] > 0 and waiting["steps"] == 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="TaskGroup came with 3.11")
def test_task_group(spartito, tmp_path):
    model, _ = recorded(
        spartito,
        tmp_path,
        """
import asyncio
async def good():
    await asyncio.sleep(10)
async def bad():
    await asyncio.sleep(0)
    raise OSError
async def main():
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(good())
            group.create_task(bad())
    except* OSError:
        pass
asyncio.run(main())
""",
    )
    found = model.tasks()
    groups = by_coroutine(found)
    (main,) = of(found, "main")
    assert groups["good"]["states"] == {"cancelled": 3} and groups["bad"]["states"] == {"raised": 1}
    assert {t["creator"] for t in of(found, "good")} == {main["id"]}
    # later releases of 3.13 wait in a separate function
    found = waits(groups["main"])
    assert found.get("__aexit__", found.get("_aexit"))["count"] == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with 3.12")
@pytest.mark.parametrize("hook", HOOKS)
def test_eager_tasks(spartito, tmp_path, hook):
    """An eager task runs within the step of its creator, which does not run meanwhile."""
    model, _ = recorded(
        spartito,
        tmp_path,
        """
import asyncio, time
def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
async def at_once():
    spin(0.05)
async def later():
    await asyncio.sleep(0.01)
async def main():
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    await asyncio.gather(at_once(), later(), at_once())
asyncio.run(main())
""",
        "--hook",
        hook,
    )
    found = model.tasks()
    groups = by_coroutine(found)
    (main,) = of(found, "main")
    assert (groups["at_once"]["steps"], groups["later"]["steps"]) == (2, 2)
    assert groups["at_once"]["states"] == {"returned": 2} and groups["later"]["states"] == {"returned": 1}
    assert groups["at_once"]["running"] >= 0.1
    assert main["running"] + main["waiting"] + 0.1 <= main["end"] - main["begin"] + 1e-6
    assert {t["creator"] for t in (*of(found, "at_once"), *of(found, "later"))} == {main["id"]}


def test_loops_in_threads(spartito, tmp_path):
    model, _ = recorded(
        spartito,
        tmp_path,
        """
import asyncio, threading
async def one(n):
    await asyncio.sleep(0.001 * n)
async def main(k):
    await asyncio.gather(*(one(n) for n in range(k)))
threads = [threading.Thread(target=asyncio.run, args=(main(k),), name=f"loop-{k}") for k in (3, 4, 5)]
for t in threads:
    t.start()
for t in threads:
    t.join()
""",
    )
    found = model.tasks()
    names = [location["name"] for location in model.info()["locations"]]
    per = Counter(names[t["location"]] for t in of(found, "one"))
    assert per == {"loop-3": 3, "loop-4": 4, "loop-5": 5}
    mains = {t["id"]: names[t["location"]] for t in of(found, "main")}
    assert sorted(mains.values()) == ["loop-3", "loop-4", "loop-5"]
    for t in of(found, "one"):
        assert mains[t["creator"]] == names[t["location"]] == names[t["by"]]


def test_threads_joins_and_pools(spartito, tmp_path):
    """Threads are created and joined, and pools hand work to them. Each hand-over has two ends, in different threads."""
    recorded(
        spartito,
        tmp_path,
        """
import asyncio, threading, time
from concurrent.futures import ThreadPoolExecutor
def work(n):
    time.sleep(0.001)
    return n
async def main():
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(2) as pool:
        assert await asyncio.gather(*(loop.run_in_executor(pool, work, n) for n in range(6))) == list(range(6))
        assert list(pool.map(work, range(4))) == list(range(4))
asyncio.run(main())
slow = threading.Thread(target=time.sleep, args=(0.05,))
slow.start()
slow.join()
""",
    )
    streams = events(tmp_path)
    given, taken = {}, {}
    for location, stream in streams.items():
        for what, *payload in stream:
            if what == "handover":
                (taken if payload[1] else given)[payload[0]] = location
    assert len(given) == 10 and given.keys() == taken.keys()
    assert set(given.values()) == {0} and 0 not in taken.values()
    created = [e for s in streams.values() for e in s if e[0] == "thread"]
    assert [e[1] for e in created] == list(range(1, len(created) + 1)) and len(created) == len(streams) - 1
    joins = [e for e in streams[0] if e[0] == "join"]
    assert len(joins) == len(created)


# each thread spins until the other one has made as much progress, so that both want the GIL at the same time
SPINNING = """
import threading
barrier = threading.Barrier(2)
done = [0, 0]
def spin(k):
    barrier.wait()
    while min(done) < 2_000_000:
        done[k] += 1
threads = [threading.Thread(target=spin, args=(k,), name=f"spin-{k}") for k in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
"""


@pytest.mark.skipif(WITHOUT_GIL, reason="this Python has no GIL")
def test_waits_for_the_gil(spartito, tmp_path):
    """Two computing threads wait for the GIL: each wait is an event of the trace, and their sum is a metric of the profile."""
    model, _ = recorded(spartito, tmp_path, SPINNING, "--gil", env={"SPARTITO_CLOCK": "monotonic"})
    info = model.info()
    (metric,) = [m for m in info["metrics"] if m["name"] == "gil_wait"]
    assert (metric["source"], metric["unit"]) == ("wait", "s")
    (row,) = (r for r in model.flat() if r["name"] == "__main__:spin")
    waited = row["metrics"]["gil_wait"]["excl"]
    assert 0 < waited < row["incl"] * 1e9
    kinds = {r["kind"]: r["waiting"] for r in waiting.rows(model) if r["name"] == "__main__:spin"}
    assert kinds["GIL"] == pytest.approx(min(waited * 1e-9, row["waiting"]), rel=0.01)
    streams = events(tmp_path)
    names = {location["name"]: i for i, location in enumerate(info["locations"])}
    spinning = [streams[names[f"spin-{k}"]] for k in range(2)]
    pieces = [e[1] for stream in spinning for e in stream if e[0] == "gil"]
    assert all([e for e in stream if e[0] == "gil"] for stream in spinning) or len(pieces) > 1
    assert waited <= sum(pieces) * 1.001 + 1e5 * len(pieces)
    assert "time waited for the GIL" not in str(info)  # not in the list of missing data


def test_no_waits_unless_asked_for(spartito, tmp_path):
    model, _ = recorded(spartito, tmp_path, SPINNING)
    assert not [m for m in model.info()["metrics"] if m["name"] == "gil_wait"]
    assert not [e for stream in events(tmp_path).values() for e in stream if e[0] == "gil"]


def test_threads_that_python_code_does_not_see(spartito, tmp_path):
    """_thread.start_new_thread() is a C function, and a thread may run no Python function at all: its creator is known even so."""
    model, _ = recorded(
        spartito,
        tmp_path,
        """
import _thread, threading
done, begun = threading.Semaphore(0), threading.Semaphore(0)
def work():
    begun.release()
def first():
    _thread.start_new_thread(work, ())
    begun.acquire()
    done.release()
_thread.start_new_thread(first, ())
done.acquire()
""",
    )
    creators = {i: location["creator"] for i, location in enumerate(model.info()["locations"])}
    assert sorted(creators) == [0, 1, 2]
    assert (creators[1], creators[2]) == (0, 1)
    assert [[e for e in events(tmp_path)[i] if e[0] == "thread"] for i in range(2)] == [[("thread", 1)], [("thread", 2)]]


def test_depth_does_not_count_marks(spartito, tmp_path):
    """The events that mark tasks do not count as levels: with a depth limit, coroutines of tasks are as deep as functions."""
    text = """
import asyncio
async def main():
    outer()
def outer():
    inner()
def inner():
    pass
asyncio.run(main())
"""
    model, _ = recorded(spartito, tmp_path, text, "--exclude", "*", "--include", "__main__:*", "--depth", "4")
    assert {r["name"]: r["visits"] for r in model.flat() if r["name"].startswith("__main__:")} == {
        "__main__:<module>": 1,
        "__main__:main": 1,
        "__main__:outer": 1,
        "__main__:inner": 1,
    }
    found = model.tasks()
    assert by_coroutine(found)["main"]["states"] == {"returned": 1}
    assert found["never"] == 0  # asyncio's cleanup tasks at the end are filtered out


def test_paused_within_a_step(spartito, tmp_path):
    model, printed = recorded(
        spartito,
        tmp_path,
        """
import asyncio, time
import spartito
outside = 0.0
def off(seconds):
    global outside
    spartito.pause()
    begin = time.monotonic()
    time.sleep(seconds)
    outside += time.monotonic() - begin
    spartito.resume()
async def one():
    off(0.2)
    await asyncio.sleep(0)
async def two():
    await asyncio.sleep(0)
    off(0.1)
async def main():
    await asyncio.gather(one(), two())
begin = time.monotonic()
asyncio.run(main())
print(time.monotonic() - begin - outside)
""",
    )
    groups, most = by_coroutine(model.tasks()), float(printed) + 0.001
    assert [groups[n]["states"] for n in ("main", "one", "two")] == [{"returned": 1}] * 3
    assert (groups["one"]["steps"], groups["two"]["steps"]) == (2, 2)
    assert groups["one"]["running"] <= most and groups["two"]["running"] <= most


def test_fork_within_a_task(spartito, tmp_path):
    """The child continues with the frames of the task, and records new tasks when it runs a loop."""
    (tmp_path / "program.py").write_text(
        """
import asyncio, os
async def grandchild():
    await asyncio.sleep(0.001)
async def forks():
    pid = os.fork()
    if pid == 0:
        asyncio.events._set_running_loop(None)
        asyncio.new_event_loop().run_until_complete(grandchild())
        os._exit(0)
    await asyncio.sleep(0.001)
    assert os.waitpid(pid, 0)[1] == 0
asyncio.run(forks())
"""
    )
    done = run(spartito, "run", "-q", "--trace", "-o", tmp_path / "x", "--", sys.executable, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = Model(str(tmp_path / "x")).tasks()
    own = [t for t in found["tasks"] if t["region"].startswith("__main__:")]
    assert sorted((t["region"], t["process"], t["state"]) for t in own) == [
        ("__main__:forks", 0, "returned"),
        ("__main__:grandchild", 1, "returned"),
    ]
