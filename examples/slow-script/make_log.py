# SPDX-License-Identifier: BSD-3-Clause
"""Prints the access log of a web server for one day, in the combined format: python make_log.py [VISITS] > access.log"""

import random
import sys
from datetime import datetime, timedelta, timezone

PAGES = ["/", "/news", "/shop", "/shop/cart", "/shop/pay", "/help", "/search?q=lamp", "/style.css"]
AGENTS = ["Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", "Mozilla/5.0 (iPhone) Safari/605.1", "curl/8.14"]


def visit(rng):
    """The requests of one visit: (time, address, agent, page)."""
    time = datetime(2026, 11, 20, tzinfo=timezone.utc) + timedelta(hours=rng.triangular(0, 23, 20))
    address = f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"
    agent = rng.choice(AGENTS)
    for _ in range(rng.randint(1, 6)):
        yield time, address, agent, rng.choice(PAGES)
        time += timedelta(seconds=rng.randint(1, 200))


def main():
    rng = random.Random(42)
    visits = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    for time, address, agent, page in sorted(request for _ in range(visits) for request in visit(rng)):
        stamp = time.strftime("%d/%b/%Y:%H:%M:%S %z")
        status = rng.choices([200, 304, 404, 500], [90, 6, 3, 1])[0]
        print(f'{address} - - [{stamp}] "GET {page} HTTP/1.1" {status} {rng.randrange(200, 90_000)} "-" "{agent}"')


main()
