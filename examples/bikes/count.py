# SPDX-License-Identifier: BSD-3-Clause
"""Bicycles for hire: reads the trips of a day, one JSON object a line, and finds the stations where most trips began."""

import collections
import functools
import json
import math
import random

STATIONS, TRIPS = 150, 2000
EARTH = 6_371_000  # m


def make_stations(rng):
    """The stations of a town, as (latitude, longitude), from south to north."""
    return sorted((rng.uniform(50.95, 51.15), rng.uniform(13.6, 13.9)) for _ in range(STATIONS))


def make_trips(stations, rng):
    """The text of a day: each trip begins within some 500 m of a station."""
    for number in range(TRIPS):
        latitude, longitude = rng.choice(stations)
        begin = {"lat": latitude + rng.gauss(0, 0.002), "lon": longitude + rng.gauss(0, 0.003)}
        yield json.dumps({"trip": number, "begin": begin, "minutes": rng.randint(2, 90)})


def distance(a, b):
    """Metres between two points on the globe, by the haversine formula."""
    (lat_a, lon_a), (lat_b, lon_b) = map(math.radians, a), map(math.radians, b)
    h = math.sin((lat_b - lat_a) / 2) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    return 2 * EARTH * math.asin(math.sqrt(h))


def nearest(stations, point):
    return min(stations, key=functools.partial(distance, point))


def busiest(stations, trips):
    """[(station, number of trips)] of the three stations where most trips began."""
    count = collections.Counter()
    for text in trips:
        begin = json.loads(text)["begin"]
        count[nearest(stations, (begin["lat"], begin["lon"]))] += 1
    return count.most_common(3)


def main():
    rng = random.Random(4)
    stations = make_stations(rng)
    for (latitude, longitude), trips in busiest(stations, make_trips(stations, rng)):
        print(f"{latitude:.4f} N {longitude:.4f} E: {trips} trips")


if __name__ == "__main__":
    main()
