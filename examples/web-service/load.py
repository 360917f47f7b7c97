# SPDX-License-Identifier: BSD-3-Clause
"""Starts the service of shop.py in a thread, sends requests to it, prints how long the answers took, and ends the service."""

import argparse
import http.client
import importlib
import random
import statistics
import threading
import time

import uvicorn


def start(app):
    """A running server, its thread and its port."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, name="server")
    thread.start()
    while not server.started:
        time.sleep(0.01)
    return server, thread, server.servers[0].sockets[0].getsockname()[1]


def requests(number):
    """Of ten requests five are for a product, three search, two are for the report of a customer, often of customer 7."""
    rng = random.Random(4)
    for n in range(number):
        if n % 10 < 5:
            yield "product", f"/product/{rng.randrange(1000)}"
        elif n % 10 < 8:
            yield "search", f"/search?word={rng.choice(('lamp', 'desk', 'steel'))}"
        else:
            yield "report", f"/customer/{7 if n % 40 == 9 else rng.randrange(60)}/report"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", nargs="?", default="shop")
    parser.add_argument("--requests", type=int, default=240)
    options = parser.parse_args()
    server, thread, port = start(importlib.import_module(options.module).app)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    seconds = {}
    for name, path in requests(options.requests):
        begin = time.perf_counter()
        connection.request("GET", path)
        assert connection.getresponse().read()
        seconds.setdefault(name, []).append(time.perf_counter() - begin)
    connection.close()
    server.should_exit = True
    thread.join()
    for name, times in seconds.items():
        median, longest = statistics.median(times) * 1000, max(times) * 1000
        print(f"{name:8} {len(times):4} requests, median {median:6.1f} ms, longest {longest:6.1f} ms")


if __name__ == "__main__":
    main()
