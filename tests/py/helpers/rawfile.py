# SPDX-License-Identifier: BSD-3-Clause
"""Reads a raw file as src/format/FORMAT.md describes it, without code of Spartito: the recorder's events before the model merges
them."""

import struct
from collections import Counter

PAGE, MAGIC, NONE32 = 4096, 0x4B4E4843, 0xFFFFFFFF
SUM = 316  # offset of the checksum in the header of the file
DEFS, NODES, EVENTS = 1, 3, 4
META, REGION, STRING, METRIC, COMM, WIN, GROUP, CLOCK, CART = 1, 2, 6, 7, 8, 9, 10, 11, 12
ENTER, LEAVE = (1, 3, 5), (2, 4)
IO, MPI = 6, 8  # kinds of regions
EXTRA = {
    1: "time", 7: "off", 8: "on", 70: "off_cpu", 11: "create", 12: "destroy", 13: "dup", 14: "seek", 15: "begin", 16: "complete",
}
UNKNOWN = 2**64 - 1


class Raw:
    """meta, regions {id: (kind, name)}, metrics [names], events {location: [(what, ...)]}, profile {path of names: Counter}; enters
    [(ticks, (kind, name))], one location after the other."""

    def __init__(self, path):
        self.data = path.read_bytes()
        self.meta, self.regions, self.strings, self.metrics = {}, {}, {}, []
        self.of_mpi = []  # definitions: kind, flags, a, b, four texts as bytes
        chunks = list(self.chunks())
        for kind, _, at, used, _, _ in chunks:
            if kind == DEFS:
                self.definitions(at, at + used)
        self.events, self.profile, self.enters = {}, {}, []
        for kind, location, at, _, size, base in chunks:
            if kind == EVENTS:
                self.events.setdefault(location, []).extend(self.words(at, size, base))
        for location in {c[1] for c in chunks if c[0] == NODES}:
            self.tree([(base, at, used) for kind, where, at, used, _, base in chunks if kind == NODES and where == location])

    def chunks(self):
        at = PAGE
        while at + 64 <= len(self.data):
            magic, kind, location, _, size, used, base = struct.unpack_from("=IIIIQQQ", self.data, at)
            if magic == MAGIC:
                yield kind, location, at + 64, used, size - 64, base
            at += size if magic == MAGIC else PAGE

    def definitions(self, at, end):
        while at < end:
            kind, flags, size, a, b, *lengths = struct.unpack_from("=HHIII4I", self.data, at)
            texts, start = [], at + 32
            for n in lengths:
                part = self.data[start : start + n]
                texts.append(part if kind >= COMM else part.decode())
                start += n
            if kind == META:
                self.meta[texts[0]] = texts[1]
            elif kind == REGION:
                self.regions[a] = flags & 0xFF, texts[1]
            elif kind == STRING:
                self.strings[a] = texts[0]
            elif kind == METRIC:
                self.metrics.append(texts[0])
            elif COMM <= kind <= CART:
                self.of_mpi.append((kind, flags, a, b, *texts))
            at += size

    def words(self, at, size, ticks):
        words = struct.unpack_from(f"={size // 8}Q", self.data, at)
        i = 0
        while i < len(words) and words[i]:
            kind, number = words[i] & 7, words[i] >> 3 & 0xFFFFFF
            ticks += words[i] >> 27
            i += 1
            if kind in ENTER:
                self.enters.append((ticks, self.regions[number]))
                yield "enter", self.regions[number]
            elif kind in LEAVE:
                yield "leave", self.regions[number]
            else:
                n = number >> 8
                payload = [None if w == UNKNOWN else w for w in words[i : i + n]]
                i += n
                what = EXTRA.get(number & 0xFF, number & 0xFF)
                ticks += payload[0] if what == "time" else 0
                if what == "create":
                    payload[1] = self.strings.get(payload[1], "")
                if what not in ("time", "off", "on", "off_cpu"):
                    yield what, *payload

    def tree(self, chunks):
        paths, last = {}, None
        for base, at, used in sorted(chunks):
            for i in range(used):
                parent, region, *values = struct.unpack_from("=II7Q", self.data, at + 64 * i)
                if parent == NONE32 and base + i:
                    for name, value in zip(self.metrics[region:], values):
                        self.profile[last][name] += value
                    continue
                last = paths[parent] + (self.regions[region][1],) if region else ()
                paths[base + i] = last
                self.profile.setdefault(last, Counter())["visits"] += values[0]

    def below(self, function):
        """The I/O events in calls made directly by functions of that name: for each call of the C library a list of its name and
        events."""
        found = []
        for events in self.events.values():
            stack, call = [], None
            for what, *rest in events:
                if what == "enter":
                    if rest[0][0] == IO and stack and stack[-1][1] == function:
                        call = [rest[0][1]]
                        found.append(call)
                    stack.append(rest[0])
                elif what == "leave":
                    assert stack.pop() == rest[0], "a region was left that was not the innermost"
                    call = None
                elif call is not None:
                    call.append((what, *rest))
        return found


def without_meta(directory, key):
    """Renames the META records of this key in all raw files of an experiment, as if the process had not written them."""
    for path in (directory / "raw").glob("*.raw"):
        raw = Raw(path)
        assert key in raw.meta, (path, key)
        data = bytearray(raw.data)
        for kind, _, at, used, _, _ in raw.chunks():
            record = at
            while kind == DEFS and record < at + used:
                what, _, size = struct.unpack_from("=HHI", data, record)
                n = struct.unpack_from("=I", data, record + 16)[0]
                if what == META and data[record + 32 : record + 32 + n] == key.encode():
                    data[record + 32 : record + 32 + n] = b"x" * n
                    for checksum in (at - 4, SUM):  # 0: none, as the old one would be wrong
                        struct.pack_into("=I", data, checksum, 0)
                record += size
        path.write_bytes(data)
