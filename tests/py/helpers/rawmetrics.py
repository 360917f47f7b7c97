# SPDX-License-Identifier: BSD-3-Clause
"""Reads raw files as FORMAT.md describes them: the data that the recorder wrote, without the model."""

import struct
from collections import defaultdict
from pathlib import Path

NONE = 0xFFFFFFFF
DEFS, LOCATION, NODES, EVENTS = 1, 2, 3, 4
META, REGION, METRIC = 1, 2, 7
KINDS = {1: "enter", 2: "leave", 3: "resume", 4: "suspend", 5: "inherit"}
TIME, OFF, METRICS = 1, 7, 10


class Location:
    def __init__(self):
        self.nodes = []  # (parent, region, visits, resumed, incl, values), or None for a slot that holds values
        self.events = []  # (kind, region, values) and ("off", 0, ())
        self.words = []


class Raw:
    def __init__(self, path, metrics_only_own=0):
        data = Path(path).read_bytes()
        assert data[:8] == b"SPARTITO"
        (self.pid,) = struct.unpack_from("<i", data, 36)
        self.meta, self.regions, self.metrics = {}, {}, []
        self.locations = defaultdict(Location)
        at = 4096
        while at + 64 <= len(data):
            magic, kind, location, seq, size, used, base = struct.unpack_from("<4sIIIQQQ", data, at)
            if magic != b"CHNK":
                at += 4096
                continue
            body = data[at + 64 : at + size]
            if kind == DEFS:
                self.definitions(body[:used])
            elif kind == NODES:
                self.nodes(self.locations[location], body[: used * 64], base)
            elif kind == EVENTS:
                self.locations[location].words.append((seq, body, used))
            at += size
        for location in self.locations.values():
            for _, body, used in sorted(location.words, key=lambda w: w[0]):
                self.events(location, struct.unpack(f"<{len(body) // 8}Q", body), used)

    def definitions(self, body):
        at = 0
        while at < len(body):
            kind, flags, size, a, b, *lengths = struct.unpack_from("<HHIII4I", body, at)
            texts, place = [], at + 32
            for n in lengths if kind in (META, REGION, METRIC) else ():  # other definitions contain more than texts
                texts.append(body[place : place + n].decode())
                place += n
            if kind == META:
                self.meta[texts[0]] = texts[1]
            elif kind == REGION:
                self.regions[a] = f"{texts[0]}:{texts[1]}" if texts[0] else texts[1]
            elif kind == METRIC:
                assert a == len(self.metrics)
                self.metrics.append((texts[0], texts[1], struct.unpack("<i", struct.pack("<I", b))[0], texts[2], flags))
            at += size

    def nodes(self, location, body, base):
        assert len(location.nodes) <= base
        location.nodes += [None] * (base - len(location.nodes))
        for at in range(0, len(body), 64):
            parent, region, *rest = struct.unpack_from("<II7Q", body, at)
            if parent == NONE and location.nodes:
                node = next(n for n in reversed(location.nodes) if n)
                assert region == len(node[5])
                node[5].extend(rest)
                location.nodes.append(None)
            else:
                location.nodes.append((parent, region, rest[0], rest[1], rest[2], []))

    def events(self, location, words, used):
        at, values = 0, None
        words = words[:used] if used else words
        while at < len(words) and words[at]:
            kind, number = words[at] & 7, words[at] >> 3 & 0xFFFFFF
            at += 1
            if kind in KINDS:
                location.events.append((KINDS[kind], number, values))
                values = None
            elif kind == 6:
                what, n = number & 0xFF, number >> 8 & 0xFF
                if what == METRICS:
                    values = words[at : at + n]
                elif what == OFF:
                    location.events.append(("off", 0, ()))
                at += n
        assert values is None, "metrics without the event they belong to"

    def totals(self, column):
        """{name of a region: sum over its outermost nodes}."""
        found = defaultdict(int)
        for location in self.locations.values():
            for node in filter(None, location.nodes):
                above, seen = node[0], set()
                while above != NONE:
                    seen.add(location.nodes[above][1])
                    above = location.nodes[above][0]
                if node[0] != NONE and node[1] not in seen:
                    found[self.regions[node[1]]] += node[5][column]
        return found

    def column(self, name):
        return [m[0] for m in self.metrics].index(name)


def raws(directory):
    return [Raw(p) for p in sorted((Path(directory) / "raw").glob("*.raw"))]


class Paths(dict):
    """Numbers call paths: {(number of the parent path, region): number}. The empty path is 0."""

    def __missing__(self, key):
        self[key] = len(self) + 1
        return self[key]


def replayed(location, n, paths):
    """{call path: [n sums]} computed from the events: how much each metric grew while the path was entered."""
    sums, stack = defaultdict(lambda: [0] * n), [(0, 0, ())]
    for kind, region, values in location.events:
        if kind == "off":
            continue
        assert values is not None and len(values) >= n, f"{kind} of region {region} without metrics"
        if kind in ("enter", "resume", "inherit"):
            stack.append((paths[stack[-1][0], region], region, values))
        else:
            path, top, began = stack.pop()
            assert top == region
            sums[path] = [s + v - b for s, v, b in zip(sums[path], values, began)]
    return {path: values for path, values in sums.items() if any(values)}


def recorded(location, n, paths):
    """{call path: [n sums]} read from the profile's nodes."""
    found, numbers = {}, []
    for node in location.nodes:
        numbers.append(paths[numbers[node[0]], node[1]] if node and node[0] != NONE else 0)
        if numbers[-1] and any(node[5][:n]):
            found[numbers[-1]] = node[5][:n]
    return found
