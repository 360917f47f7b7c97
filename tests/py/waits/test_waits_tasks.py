# SPDX-License-Identifier: BSD-3-Clause
"""Waits of asyncio tasks in `report waits`: by kind and call path, separate from the waits of threads."""

import json
import os
import sys

import pytest
from commandline import run
from programs import HOOKS
from spartito.report.waittables import awaits
from waiting import recorded

PROGRAM = """
import asyncio, threading

async def hold(lock):
    async with lock:
        await asyncio.sleep(0.05)

async def want(lock):
    async with lock:
        pass

async def outer(lock):
    await want(lock)

async def get(q):
    return await q.get()

async def wait(event):
    await event.wait()

async def notified(condition):
    async with condition:
        await condition.wait()

async def limited(semaphore):
    async with semaphore:
        await asyncio.sleep(0.02)

async def together():
    await asyncio.gather(child(), child())

async def child():
    await asyncio.sleep(0.02)

async def in_thread(goes_on):  # from 3.14 on a future that is done is not waited for
    await asyncio.get_running_loop().run_in_executor(None, goes_on.wait)

async def main():
    loop = asyncio.get_running_loop()
    later = loop.call_later  # the time of a sleep begins when its task waits, however late it comes to that
    loop.call_later = lambda *what: loop.call_soon(later, *what)
    lock, q, event = asyncio.Lock(), asyncio.Queue(), asyncio.Event()
    condition, semaphore, goes_on = asyncio.Condition(), asyncio.Semaphore(1), threading.Event()
    coroutines = [hold(lock), outer(lock), get(q), wait(event), notified(condition), together(), in_thread(goes_on)]
    tasks = [asyncio.create_task(c) for c in [*coroutines, limited(semaphore), limited(semaphore)]]
    await asyncio.sleep(0.04)
    q.put_nowait(1)
    event.set()
    goes_on.set()
    async with condition:
        condition.notify()
    await asyncio.wait(tasks)
    await tasks[0]

asyncio.run(main())
"""
# kind, call path in the program, count, minimum in seconds: for a sleep, whose time begins within the wait
EXPECTED = [
    ("lock", ["__main__:outer", "__main__:want"], 1, 0),
    ("sleep", ["__main__:hold"], 1, 0.049),
    ("queue", ["__main__:get"], 1, 0),
    ("event", ["__main__:wait"], 1, 0),
    ("condition", ["__main__:notified"], 1, 0),
    ("semaphore", ["__main__:limited"], 1, 0),
    ("sleep", ["__main__:limited"], 2, 0.039),
    ("task", ["__main__:together"], 1, 0.019),
    ("sleep", ["__main__:child"], 2, 0.039),
    ("future", ["__main__:in_thread"], 1, 0),
    ("sleep", ["__main__:main"], 1, 0.039),
    ("task", ["__main__:main"], 1, 0),
]


@pytest.mark.parametrize("hook", HOOKS)
def test_kinds_and_paths(spartito, tmp_path, hook):
    model, _ = recorded(spartito, tmp_path, PROGRAM, "--hook", hook)
    rows = awaits.rows(model.locks())
    for kind, path, count, least in EXPECTED:
        found = [w for w in rows if (w["kind"], w["path"]) == (kind, path)]
        assert sum(w["count"] for w in found) == count, (kind, path, rows)
        assert sum(w["time"] for w in found) > least
        assert {w["library"] for w in found} == {"asyncio"}
    # all waits, with the time that the tasks report
    groups = model.tasks()["groups"]
    assert sum(w["count"] for w in rows) == sum(w["count"] for g in groups for w in g["waits"])
    assert abs(sum(w["time"] for w in rows) - sum(w["time"] for g in groups for w in g["waits"])) < 1e-6
    # threads do not wait for these objects
    assert not {"condition", "event"} & {w["kind"] for w in model.locks()["waits"] if w["stack"][-1:] == ["__main__:main"]}


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("awaits")
    recorded([sys.executable, "-m", "spartito"], cwd, PROGRAM)
    return cwd


def test_report(spartito, experiment):
    done = run(spartito, "report", "waits", "x", cwd=experiment, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    threads, tasks = done.stdout.split("\ntasks waited ")
    assert "asyncio lock" not in threads
    by_kind, by_path, off_cpu = tasks.split("\n\n", 2)
    assert "waits shorter than about 40 µs" in off_cpu
    kinds = {line.split("  ")[-1].strip() for line in by_kind.splitlines()[2:]}
    assert {"asyncio lock", "asyncio queue", "asyncio event", "asyncio condition", "asyncio semaphore"} <= kinds
    (lock,) = [line for line in by_path.splitlines() if "asyncio lock" in line]
    assert lock.rstrip().endswith("__main__:outer > __main__:want")


def test_json_and_merged(spartito, experiment):
    def gather():
        done = run(spartito, "report", "waits", "--json", "x", cwd=experiment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    found = gather()
    (lock,) = [w for w in found["awaits"] if w["kind"] == "lock"]
    assert (lock["library"], lock["count"], lock["path"]) == ("asyncio", 1, ["__main__:outer", "__main__:want"])
    assert lock["stack"][-1] == "asyncio.locks:Lock.acquire" and lock["task"] == "__main__:outer"
    done = run(spartito, "finalize", "--force", "x", cwd=experiment)
    assert done.returncode == 0, done.stderr
    assert gather() == found


TRIO = """
import trio

async def want(lock):
    async with lock:
        pass

async def hold(lock, task_status):
    async with lock:
        task_status.started()
        while not lock.statistics().tasks_waiting:
            await trio.sleep(0.01)

async def main():
    lock = trio.Lock()
    async with trio.open_nursery() as nursery:
        await nursery.start(hold, lock)
        nursery.start_soon(want, lock)

trio.run(main)
"""


def classified(*stack, task="__main__:main", what=None):
    return awaits.classify({"stack": list(stack), "task": task, "where": stack[-1] if stack else None, "what": what})


def test_what_stacks_say():
    loop = ("asyncio.runners:run", "asyncio.events:Handle._run")
    main = ["__main__:main"]
    assert classified(*loop, *main, "asyncio.tasks:wait_for", "asyncio.queues:Queue.get") == ("queue", "asyncio", main)
    assert classified(*loop, *main, "asyncio.tasks:wait_for", what="_asyncio.Future") == ("task", "asyncio", main)
    assert classified(*loop, *main, what="_asyncio.Task") == ("task", "asyncio", main)
    assert classified(*loop, *main, what="Thing") == ("other", "asyncio", main)
    inner = ("asyncio.locks:_ContextManagerMixin.__aenter__", "asyncio.locks:Lock.acquire")
    assert classified(*loop, *main, *inner) == ("lock", "asyncio", main)
    inner = ("trio._sync:Lock.acquire", "trio._core._traps:wait_task_rescheduled")
    assert classified("trio._core._run:unrolled_run", *main, *inner) == ("lock", "trio", main)
    # a task of the library itself
    assert classified(*loop, "asyncio.tasks:sleep", task="asyncio.tasks:sleep") == ("sleep", "asyncio", ["asyncio.tasks:sleep"])
    # a record without a call path
    row = {"stack": [], "task": "__main__:main", "where": "asyncio.tasks:sleep", "what": "_asyncio.Future"}
    assert awaits.classify(row) == ("sleep", "asyncio", main)


def test_trio(spartito, tmp_path):
    pytest.importorskip("trio")
    model, _ = recorded(spartito, tmp_path, TRIO)
    rows = awaits.rows(model.locks())
    (lock,) = [w for w in rows if w["kind"] == "lock"]
    assert (lock["library"], lock["count"], lock["path"]) == ("trio", 1, ["__main__:want"])
