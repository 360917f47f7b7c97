# SPDX-License-Identifier: BSD-3-Clause
"""Detects that threads wait, from /proc. Copied beside the programs of waiting.py, so that they need no guess of how long a thread
takes on a busy machine until it waits."""

import threading
import time

FIELDS = ("State:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:")


def status_of(thread):
    place = f"self/task/{thread.native_id}" if isinstance(thread, threading.Thread) else f"{thread}/task/{thread}"
    with open(f"/proc/{place}/status") as f:
        return [line for line in f if line.startswith(FIELDS)]


def until_asleep(*those):
    """Returns when all of these wait at the same time: threads of this process, or the main threads of processes given by their
    ids. A thread that waits for the GIL wakes up every 5 ms to ask for it, and so does not count as waiting."""
    before = None
    while True:
        now = [status_of(one) for one in those]
        if now == before and all("S (sleeping)" in found[0] for found in now):
            return
        before = now
        time.sleep(0.02)


def when_asleep(function, *arguments, thread=None, name=None):
    """Starts a thread that calls the function once `thread` (default: the main thread) waits; returns the new thread."""

    def wait_and_call():
        until_asleep(thread or threading.main_thread())
        function(*arguments)

    t = threading.Thread(target=wait_and_call, name=name, daemon=True)
    t.start()
    return t
