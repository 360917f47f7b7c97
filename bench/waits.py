# SPDX-License-Identifier: BSD-3-Clause
"""Cost and accuracy of recording waits (run --waits): an uncontended lock, a failing attempt to acquire a lock, and a lock that two
threads hand to each other, with and without recording in turns in one process; and waits of known length. Rows as in figures.py."""

import json
import os
import shutil
import subprocess
import sys

FREE, TAKEN, OFF = 30, 150, 0.05
WORKER = """
import json, os, statistics, sys, threading, time
import spartito
place, rounds = sys.argv[1], int(sys.argv[2])
clock = time.perf_counter_ns
free, taken = threading.Lock(), threading.Lock()
taken.acquire()
def get_free(n):
    took = []
    for _ in range(n // 50):
        begin = time.thread_time_ns()
        for _ in range(50):
            free.acquire()
            free.release()
        took.append((time.thread_time_ns() - begin) / 50)
    return took
def get_taken(n):
    took, acquire = [], taken.acquire
    for _ in range(n):
        begin = clock()
        acquire(True, 1e-9)
        took.append(clock() - begin)
    return took
def hand_over(n):
    one, other, took = threading.Lock(), threading.Lock(), []
    one.acquire(), other.acquire()
    def back():
        for _ in range(n):
            one.acquire()
            other.release()
    t = threading.Thread(target=back)
    t.start()
    release, acquire = one.release, other.acquire
    for _ in range(n):
        begin = clock()
        release()
        acquire()
        took.append((clock() - begin) / 2)
    t.join()
    return took
# a wait takes thousands of ns in the system, which differ by more than what is asked for: of each round what a tenth of the
# calls are faster than, and of the rounds, each of which has both, the median of the differences
def fast(took):
    return sorted(took)[len(took) // 10]
works = {"free": (get_free, 2000), "taken": (get_taken, 150), "handed": (hand_over, 300)}
added = {name: [] for name in works}
for i in range(rounds):
    took = {}
    for on in (False, True):
        if on:
            spartito.start(os.path.join(place, str(i)), waits=True)
        for name, (work, n) in works.items():
            work(50)
            took[on, name] = fast(work(n))
        if on:
            spartito.stop()
    for name in works:
        added[name].append(took[True, name] - took[False, name])
print(json.dumps({name: statistics.median(ns) for name, ns in added.items()}))
"""
KNOWN = """
import threading, time
lock = threading.Lock()
def hold(ready):
    with lock:
        ready.release()
        time.sleep(0.02)
begin = total = 0
for _ in range(50):
    ready = threading.Semaphore(0)
    t = threading.Thread(target=hold, args=(ready,))
    t.start()
    ready.acquire()
    begin = time.perf_counter()
    lock.acquire()  # counted
    total += time.perf_counter() - begin
    lock.release()
    t.join()
print(total)
"""


def python(bench, *words):
    p = subprocess.run([bench.python, *words], capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"{' '.join(words)}\n{p.stdout}{p.stderr}")
    return p.stdout


def known(bench, place):
    """(relative error of the recorded time of waits, recorded count, real count)"""
    script, experiment = os.path.join(place, "known.py"), os.path.join(place, "x")
    with open(script, "w") as f:
        f.write(KNOWN)
    real = float(python(bench, "-m", "spartito", "run", "-q", "--waits", "-o", experiment, "--", bench.python, script))
    line = next(i for i, text in enumerate(KNOWN.split("\n"), 1) if text.endswith("# counted"))
    found = json.loads(python(bench, "-c", "import json, sys; from spartito._analyse import Model; "
                              "print(json.dumps(Model(sys.argv[1]).locks()['waits']))", experiment))
    waits = [w for w in found if w["line"] == line and w["kind"] == "lock"]
    return abs(sum(w["time"] for w in waits) / real - 1), sum(w["count"] for w in waits), 50


def of(bench, work, quick):
    place = os.path.join(work, "waits-" + bench.version)
    os.makedirs(place)
    script = os.path.join(place, "waits_worker.py")
    with open(script, "w") as f:
        f.write(WORKER)
    added = json.loads(python(bench, script, place, "20" if quick else "200"))
    off, count, real = known(bench, place)
    shutil.rmtree(place)
    of_version = f"Python {bench.version}"
    return [
        (f"time added to taking and releasing a free lock, {of_version}", f"{added['free']:.0f} ns", f"at most {FREE} ns",
         added["free"] <= FREE),
        (f"time added to a wait for a lock, {of_version}", f"{added['taken']:.0f} ns", f"at most {TAKEN} ns",
         added["taken"] <= TAKEN),
        (f"time added to a wait for a lock that another thread hands over, {of_version}", f"{added['handed']:.0f} ns",
         f"at most {TAKEN} ns", added["handed"] <= TAKEN),
        (f"recorded time of waits of 20 ms, {of_version}, off by", f"{off * 100:.1f} %", f"at most {OFF * 100:.0f} %", off <= OFF),
        (f"recorded number of {real} waits, {of_version}", str(count), "exact", count == real),
    ]


def collect(benches, work, quick):
    rows = []
    for bench in benches:
        print(f"waits, Python {bench.version} …", file=sys.stderr, flush=True)
        rows += of(bench, work, quick)
    return rows
