# SPDX-License-Identifier: BSD-3-Clause
"""A service that ingests log lines in batches: it parses them, keeps the newest events for a dashboard, and counts
urgent messages by owner of the host. Now and then it logs how much memory it has."""

import collections
import functools
import json
import os
import random
import re
import sys

BATCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 90
BATCH = 1000  # lines
LINE = re.compile(r"(?P<time>\S+) (?P<host>\S+) (?P<level>[A-Z]+) (?P<text>.*)")
TEXTS = ("request served", "connection refused by peer", "disk almost full", "timeout after 30 s")
OWNERS = json.loads(json.dumps({f"node{n}": f"group {n % 97}" for n in range(5000)}))  # in a real service a file


def receive(rng):
    """A batch of lines, as the network delivers it."""
    for _ in range(BATCH):
        time = f"2026-11-26T10:{rng.randrange(60):02}:{rng.randrange(60):02}"
        yield f"{time} node{rng.randrange(5000)} INFO {rng.choice(TEXTS)} id={rng.getrandbits(64):016x}"


@functools.cache
def urgency(text):
    """The number of urgent words in a message."""
    return len(re.findall(r"\b(timeout|refused|full)\b", text))


def parse(line):
    event = LINE.fullmatch(line).groupdict()
    event["urgency"] = urgency(event["text"])
    return event


def resident():
    """MiB of this process in main memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def serve():
    rng, newest, urgent = random.Random(1), collections.deque(maxlen=500), collections.Counter()
    for batch in range(1, BATCHES + 1):
        for line in receive(rng):
            event = parse(line)
            newest.append(event)
            urgent[OWNERS[event["host"]]] += event["urgency"]
        if batch % (BATCHES // 3) == 0:
            print(f"{batch * BATCH} lines, {len(newest)} on the dashboard, {resident():.1f} MiB", flush=True)


if __name__ == "__main__":
    serve()
