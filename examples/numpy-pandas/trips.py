# SPDX-License-Identifier: BSD-3-Clause
"""Assigns the taxi trips of a day to the zones of a city and prints the zones with the highest fares.

Without a file of a real city it makes the trips itself, the same ones in each run."""

import numpy as np
import pandas as pd

TRIPS, ZONES = 25_000, 500


def load():
    """The trips: where they begin (x, y in km), their length in km and the hour."""
    rng = np.random.default_rng(5)
    begin = rng.normal(0, 4, (TRIPS, 2))
    return pd.DataFrame({
        "x": begin[:, 0],
        "y": begin[:, 1],
        "km": rng.gamma(2, 2.5, TRIPS).round(1),
        "hour": rng.integers(0, 24, TRIPS),
    })


def nearest(points, centres):
    """For each point the index of the nearest centre."""
    offset = points[:, np.newaxis, :] - centres
    distance = np.sqrt((offset**2).sum(axis=2))
    return distance.argmin(axis=1)


def fare(trip):
    """The fare of one trip, with the night rate."""
    rate = 2.4 if 6 <= trip["hour"] < 22 else 3.1
    return 4.5 + rate * trip["km"]


def main():
    trips = load()
    centres = np.random.default_rng(6).uniform(-10, 10, (ZONES, 2))
    trips["zone"] = nearest(trips[["x", "y"]].to_numpy(), centres)
    trips["fare"] = trips.apply(fare, axis=1)
    print(trips.groupby("zone")["fare"].agg(["count", "sum"]).nlargest(3, "sum").round(2))


if __name__ == "__main__":
    main()
