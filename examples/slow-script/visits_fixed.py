# SPDX-License-Identifier: BSD-3-Clause
"""Counts the visits in an access log of a web server: python visits_fixed.py access.log

A visit consists of the requests of one address with at most 30 minutes between two of them."""

import re
import sys
from collections import Counter
from datetime import datetime, timedelta

REQUEST = re.compile(r'(\S+) \S+ \S+ \[([^]]+)\] "(\S+) (\S+)[^"]*" (\d{3}) (\d+|-)')
PAUSE = timedelta(minutes=30)


class Visit:
    def __init__(self, address):
        self.address, self.last, self.pages = address, None, []


def parse_time(text):
    return datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")


def read(path):
    """The requests of a log, without style sheets."""
    with open(path, encoding="utf-8") as log:
        for line in log:
            address, time, _, page, status, _ = REQUEST.match(line).groups()
            if not page.endswith(".css"):
                yield {"address": address, "time": parse_time(time), "page": page, "status": int(status)}


def add(visits, latest, request):
    """Adds a request to its visit. latest: the latest visit of each address."""
    address, time = request["address"], request["time"]
    visit = latest.get(address)
    if visit is None or time - visit.last > PAUSE:
        visit = latest[address] = Visit(address)
        visits.append(visit)
    visit.last = time
    visit.pages.append(request["page"])


def hour(request):
    return request["time"].hour


def main():
    visits, latest, hours, errors = [], {}, Counter(), Counter()
    for request in read(sys.argv[1]):
        add(visits, latest, request)
        hours[hour(request)] += 1
        if request["status"] >= 400:
            errors[request["page"]] += 1
    pages = sum(len(visit.pages) for visit in visits)
    (busiest, _), (page, count) = hours.most_common(1)[0], errors.most_common(1)[0]
    print(f"{len(visits)} visits of {pages / len(visits):.1f} pages; most requests at {busiest} h;"
          f" most errors: {page} ({count})")


if __name__ == "__main__":
    main()
