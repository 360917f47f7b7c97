# SPDX-License-Identifier: BSD-3-Clause
"""Threads that queue for a lock (run --waits): the holder is known as soon as it has the lock, while it waits for the GIL."""

import pytest
from waiting import Waits, line_of, recorded

QUEUED = """
import sys, threading

lock = threading.KIND()

def work(n):
    return sum(i for i in range(n))

def take():
    for _ in range(200):
        with lock:  # wait
            work(20000)

sys.setswitchinterval(1e-4)
threads = [threading.Thread(target=take) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_the_next_holder_is_known(spartito, tmp_path, kind):
    text = QUEUED.replace("KIND", kind)
    model, _ = recorded(spartito, tmp_path, text)
    found = Waits(model).at(line_of(text, "wait"))
    number = sum(w["count"] for w in found)
    assert number >= 5
    # a thread may lose the processor between acquiring the lock and noting that
    assert sum(w["count"] for w in found if w["holder"] is None) <= max(1, number // 10)
    assert {w["holder_stack"][-1] for w in found if w["holder"] is not None} == {"__main__:take"}
    assert all(w["holder"] != w["location"] for w in found)
    assert len({w["holder"] for w in found} - {None}) >= 2
    assert not model.locks()["deadlocks"]
