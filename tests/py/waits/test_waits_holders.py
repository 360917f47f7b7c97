# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a lock (run --waits): the holder, also while it has the lock but waits for the GIL, and its end."""

import pytest
from programs import WITHOUT_GIL
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


REUSED = """
import threading
from asleep import until_asleep
def use():
    lock = threading.Lock()  # made
    lock.acquire()
    got = threading.Thread(target=lambda: lock.acquire())
    got.start()
    until_asleep(got)
    lock.release()
    got.join()
    return id(lock)
seen = [use() for _ in range(20)]
print(len(set(seen)))
"""


@pytest.mark.skipif(WITHOUT_GIL, reason="this Python has no reuse of an address so soon")
def test_the_address_of_a_lock_is_used_again(spartito, tmp_path):
    model, out = recorded(spartito, tmp_path, REUSED)
    assert int(out) < 20  # otherwise no address was used again, and the test proves nothing
    locks = [lock for lock in Waits(model).locks if lock["kind"] == "lock" and lock["made_line"] == line_of(REUSED, "made")]
    assert int(out) < len(locks) <= 20
    assert {(lock["contended"], lock["freed"]) for lock in locks} == {(1, True)}
