# SPDX-License-Identifier: BSD-3-Clause
"""Threads that queue for a lock (run --waits): the holder is also known while it has the lock but waits for the GIL."""

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
    assert sum(w["count"] for w in found) >= 5
    # also of waits that began while the lock was handed over
    assert {w["holder_stack"][-1] for w in found} == {"__main__:take"}
    assert all(w["holder"] not in (None, w["location"]) for w in found)
    assert not model.locks()["deadlocks"]
