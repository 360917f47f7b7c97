# SPDX-License-Identifier: BSD-3-Clause
"""logs.py [REQUESTS]: reads the access log of a web server: visitors of each page, the slowest page, bytes below each directory.
It has what profilers count in different ways: generators, a recursion, functions in C, and a line that is far too slow."""

import random
import re
import sys

LINE = re.compile(r'(?P<address>\S+) \S+ \S+ \[[^]]+\] "GET (?P<path>\S+) HTTP/1\.1" 200 (?P<size>\d+) (?P<time>\d+)')
PAGES = ["/docs/new/index.html", "/docs/old/index.html", "/shop/new/index.html", "/shop/old/index.html"]


def write(count, rng):
    """The lines of a log, as a server writes them."""
    for _ in range(count):
        host, size, time = rng.randrange(3000), rng.randrange(200, 90_000), rng.randrange(1, 900)
        address = f"10.0.{host // 250}.{host % 250}"
        yield f'{address} - - [21/Nov/2026:10:15:00 +0000] "GET {rng.choice(PAGES)} HTTP/1.1" 200 {size} {time}'


def parse(lines):
    for line in lines:
        request = LINE.match(line).groupdict()
        yield request["address"], request["path"], int(request["size"]), int(request["time"])


def unique(addresses):
    """The distinct addresses, in the order of the log."""
    seen = []
    for address in addresses:
        if address not in seen:
            seen.append(address)
    return seen


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[len(ordered) * percent // 100]


def insert(tree, parts, size):
    """Adds the bytes of a file to its directory and all directories above."""
    tree["bytes"] = tree.get("bytes", 0) + size
    if parts:
        insert(tree.setdefault(parts[0], {}), parts[1:], size)


def main(count):
    requests = list(parse(write(count, random.Random(7))))
    pages, tree = {}, {}
    for address, path, size, time in requests:
        pages.setdefault(path, []).append((address, time))
        insert(tree, path.strip("/").split("/"), size)
    visitors = 0
    for visits in pages.values():
        visitors = max(visitors, len(unique(address for address, _ in visits)))
    slowest = max(pages, key=lambda path: percentile((time for _, time in pages[path]), 95))
    print(f"{len(requests)} requests, at most {visitors} visitors, slowest {slowest}, {tree['bytes']} bytes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
