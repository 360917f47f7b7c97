# SPDX-License-Identifier: BSD-3-Clause
"""When threads have come to wait, as the system tells it. Lies beside the programs of waiting.py, which so need not guess how long
that takes on a busy machine."""

import threading
import time

TOLD = ("State:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:")


def look(who):
    place = f"self/task/{who.native_id}" if isinstance(who, threading.Thread) else f"{who}/task/{who}"
    with open(f"/proc/{place}/status") as f:
        return [line for line in f if line.startswith(TOLD)]


def until_asleep(*those):
    """Returns when all of these threads wait at once: of this process, or the first ones of processes by their numbers. Who only
    waits for the GIL asks for it each 5 ms, and so does not stay asleep."""
    before = None
    while True:
        now = [look(who) for who in those]
        if now == before and all("S (sleeping)" in found[0] for found in now):
            return
        before = now
        time.sleep(0.02)


def when_asleep(function, *arguments, who=None, name=None):
    """A thread that has begun, and calls the function when the main thread, or who it is, waits."""

    def wait_and_call():
        until_asleep(who or threading.main_thread())
        function(*arguments)

    t = threading.Thread(target=wait_and_call, name=name, daemon=True)
    t.start()
    return t
