# SPDX-License-Identifier: BSD-3-Clause
"""Counts the visits of web sites: a pool of processes parses the access log of each site and finds the country of each address."""

import argparse
import collections
import datetime
import functools
import multiprocessing
import random
import re
import time

LINE = re.compile(r'(?P<net>\d+\.\d+)\.\d+\.\d+ - - \[(?P<when>[^\]]+)\] "\w+ (?P<path>\S+)')
LINES = (100, 150, 200, 250, 300, 400, 500, 15_000)  # of the log of each site: one site has nearly all visits


def network_table(rng):
    """The country of each network of 65,536 addresses."""
    return {f"{a}.{b}": rng.choice(("CH", "DE", "FR", "IT", "US")) for a in range(256) for b in range(256)}


def access_log(lines, rng):
    request = '{}.{}.1.1 - - [{:02d}/Oct/2026:13:55:36 +0200] "GET /page/{} HTTP/1.1" 200 2326'
    numbers = ((rng.randrange(256), rng.randrange(256), rng.randrange(1, 32), rng.randrange(50)) for _ in range(lines))
    return "\n".join(request.format(*four) for four in numbers)


def parse(text):
    for line in text.splitlines():
        if found := LINE.match(line):
            yield found["net"], datetime.datetime.strptime(found["when"], "%d/%b/%Y:%H:%M:%S %z")


def count_visits(text, networks):
    """Visits by country and weekday."""
    return collections.Counter((networks[net], when.weekday()) for net, when in parse(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    rng = random.Random(5)
    networks = network_table(rng)
    logs = [access_log(lines, rng) for lines in LINES]
    begin = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(options.workers) as pool:
        counts = pool.map(functools.partial(count_visits, networks=networks), logs)
        pool.close()
        pool.join()
    seconds = time.perf_counter() - begin
    print(f"{sum(sum(c.values()) for c in counts)} visits with {options.workers} workers in {seconds:.2f} s")


if __name__ == "__main__":
    main()
