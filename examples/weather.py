# SPDX-License-Identifier: BSD-3-Clause
"""A small forecast: heat spreads over a grid (numpy), stations report as JSON, threads analyse regions of the map,
a pipeline of generators cleans the readings, and asyncio gathers the answers. Everything a profile should show."""

import asyncio
import json
import queue
import random
import statistics
import threading

import numpy as np

SIZE = 160
STEPS = 120
STATIONS = 400
HOURS = 24


class Grid:
    """The temperature on a square, with hot and cold places on its border."""

    def __init__(self, size):
        self.cells = np.full((size, size), 12.0)
        self.cells[0, :] = 30.0
        self.cells[-1, :] = -10.0

    def step(self):
        c = self.cells
        inner = (c[:-2, 1:-1] + c[2:, 1:-1] + c[1:-1, :-2] + c[1:-1, 2:]) / 4
        change = float(np.abs(inner - c[1:-1, 1:-1]).max())
        c[1:-1, 1:-1] = inner
        return change

    def relax(self, steps):
        """Steps until the temperature hardly changes; returns how many."""
        for n in range(1, steps + 1):
            if self.step() < 1e-3:
                return n
        return steps


class Station:
    def __init__(self, number, rng):
        self.number = number
        self.base = rng.uniform(-5, 25)
        self.rng = rng

    def reading(self, hour):
        value = self.base + 5 * np.sin(hour / 24 * 2 * np.pi) + self.rng.gauss(0, 0.5)
        broken = self.rng.random() < 0.02
        return {"station": self.number, "hour": hour, "celsius": None if broken else round(float(value), 2)}


def report(stations):
    """One line of JSON for each station and hour."""
    return [json.dumps(s.reading(hour)) for s in stations for hour in range(HOURS)]


def parse(lines):
    for line in lines:
        yield json.loads(line)


def valid(readings):
    for reading in readings:
        if reading["celsius"] is not None:
            yield reading


def smooth(readings, width=5):
    window = []
    for reading in readings:
        window = [*window[1 - width:], reading["celsius"]]
        reading["smooth"] = statistics.fmean(window)
        yield reading


def mean_by_hour(lines):
    """The pipeline: parse, drop what is broken, smooth, add up."""
    total, count = [0.0] * HOURS, [0] * HOURS
    for reading in smooth(valid(parse(lines))):
        total[reading["hour"]] += reading["smooth"]
        count[reading["hour"]] += 1
    return [t / max(c, 1) for t, c in zip(total, count)]


def quantiles(block):
    return [float(q) for q in np.quantile(block, [0.1, 0.5, 0.9])]


def analyst(jobs, answers):
    while (job := jobs.get()) is not None:
        name, block = job
        answers[name] = quantiles(block)


def analyse_regions(grid, workers=3):
    """Threads take blocks of the map from a queue."""
    jobs, answers = queue.Queue(), {}
    threads = [threading.Thread(target=analyst, args=(jobs, answers), name=f"analyst-{n}") for n in range(workers)]
    for t in threads:
        t.start()
    for y in range(0, SIZE, 16):
        for x in range(0, SIZE, 16):
            jobs.put(((y, x), grid.cells[y:y + 16, x:x + 16]))
    for _ in threads:
        jobs.put(None)
    for t in threads:
        t.join()
    return answers


async def ask(station, hour):
    await asyncio.sleep(0)
    return station.reading(hour)["celsius"]


async def forecast(stations, hour):
    answers = await asyncio.gather(*(ask(s, hour) for s in stations))
    return statistics.fmean(a for a in answers if a is not None)


def main():
    rng = random.Random(7)
    grid = Grid(SIZE)
    steps = grid.relax(STEPS)
    stations = [Station(n, rng) for n in range(STATIONS)]
    hours = mean_by_hour(report(stations))
    regions = analyse_regions(grid)
    noon = asyncio.run(forecast(stations, 12))
    warmest = max(regions, key=lambda name: regions[name][1])
    print(f"{steps} steps; warmest hour {hours.index(max(hours))}, warmest region {warmest}, noon {noon:.1f} degrees")


if __name__ == "__main__":
    main()
