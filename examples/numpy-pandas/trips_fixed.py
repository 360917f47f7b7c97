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
    # |p - c|² = |p|² - 2 p·c + |c|²: the root and |p|² do not change which centre is the nearest
    distance = points @ (-2 * centres.T)
    distance += (centres**2).sum(axis=1)
    return distance.argmin(axis=1)


def fares(trips):
    """The fare of each trip, with the night rate."""
    rate = np.where(trips["hour"].between(6, 21), 2.4, 3.1)
    return 4.5 + rate * trips["km"]


def main():
    trips = load()
    centres = np.random.default_rng(6).uniform(-10, 10, (ZONES, 2))
    trips["zone"] = nearest(trips[["x", "y"]].to_numpy(), centres)
    trips["fare"] = fares(trips)
    print(trips.groupby("zone")["fare"].agg(["count", "sum"]).nlargest(3, "sum").round(2))


if __name__ == "__main__":
    main()
