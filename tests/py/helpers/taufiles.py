# SPDX-License-Identifier: BSD-3-Clause
"""Readers of TAU's two profile formats, written from their description. As in ParaProf, rows without calls are left out and rows
with equal names are added up."""

import gzip
import math
import re
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROW = re.compile(r'^"(.*)" (\S+) (\S+) (\S+) (\S+) 0 GROUP="([^"]*)" $')
EVENT = re.compile(r'^"(.*)" (\d+) (\S+) (\S+) (\S+) (\S+)$')
NAME = re.compile(r"profile\.(\d+)\.(\d+)\.(\d+)")


class Row:
    def __init__(self, groups, calls, subrs):
        self.groups, self.calls, self.subrs = groups, calls, subrs
        self.excl, self.incl = {}, {}


class Thread:
    """rows {name: Row}, events {name: (n, max, min, mean, sumsqr)}, metadata {name: value}"""

    def __init__(self):
        self.rows, self.events, self.metadata = {}, {}, {}

    def flat(self):
        return {n: r for n, r in self.rows.items() if not {"TAU_CALLPATH", "TAU_PARAM"} & r.groups}

    def callpaths(self):
        return {tuple(n.split(" => ")): r for n, r in self.rows.items() if "TAU_CALLPATH" in r.groups}


def metadata(line):
    assert line.startswith("# Name Calls Subrs Excl Incl ProfileCalls # <metadata>"), line[:80]
    root = ElementTree.fromstring(line[line.index("<metadata>") :])
    return {a.find("name").text: a.find("value").text for a in root.findall("attribute")}


def read_file(path, thread):
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    lines = iter(text[:-1].split("\n"))
    count, _, metric = next(lines).partition(" templated_functions_MULTI_")
    found = metadata(next(lines))
    assert found.pop("Metric Name") == metric
    assert thread.metadata in ({}, found)
    thread.metadata = found
    for _ in range(int(count)):
        name, calls, subrs, excl, incl, groups = ROW.match(next(lines)).groups()
        assert '"' not in name and float(calls) > 0
        row = thread.rows.setdefault(name, Row(set(groups.split("|")), float(calls), float(subrs)))
        assert metric not in row.excl, f"{name} is there twice"
        assert (row.groups, row.calls, row.subrs) == (set(groups.split("|")), float(calls), float(subrs))
        row.excl[metric], row.incl[metric] = float(excl), float(incl)
    assert next(lines) == "0 aggregates"
    rest = list(lines)
    if rest:
        assert rest[0] == f"{len(rest) - 2} userevents" and rest[1] == "# eventname numevents max min mean sumsqr"
    for line in rest[2:]:
        name, n, *reals = EVENT.match(line).groups()
        thread.events[name] = (int(n), *map(float, reals))


def read_text(directory):
    """{(node, context, thread): Thread} of a directory with profiles, or with one directory of profiles for each metric."""
    found = {}
    several = sorted(p for p in directory.iterdir() if p.is_dir())
    assert all(p.name.startswith("MULTI__") for p in several)
    for where in several or [directory]:
        for path in where.iterdir():
            place = tuple(map(int, NAME.fullmatch(path.name).groups()))
            read_file(path, found.setdefault(place, Thread()))
    return found


class Java:
    """Reads the encoding of java.io.DataInput."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, kind):
        (value,) = struct.unpack_from(">" + kind, self.data, self.at)
        self.at += struct.calcsize(kind)
        return value

    def int(self):
        return self.take("i")

    def utf(self):
        n = self.take("H")
        raw = self.data[self.at : self.at + n]
        self.at += n
        assert b"\0" not in raw and len(raw) == n
        # modified UTF-8: characters beyond U+FFFF are two surrogates, and NUL is not one zero byte
        return raw.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")

    def place(self):
        return self.int(), self.int(), self.int()


def read_tables(j):
    metrics = [j.utf() for _ in range(j.int())]
    groups = [j.utf() for _ in range(j.int())]
    functions = []
    for _ in range(j.int()):
        name = j.utf()
        functions.append((name, {groups[j.int()] for _ in range(j.int())}))
    assert len({name for name, _ in functions}) == len(functions)
    return metrics, functions, [j.utf() for _ in range(j.int())]


def read_packed(path):
    data = Path(path).read_bytes()
    j = Java(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    assert "".join(chr(j.take("H")) for _ in range(3)) == "PPK"
    assert (j.int(), j.int()) == (2, 1)
    header, begin = j.int(), j.at
    assert j.int() == 0
    for _ in range(j.int()):
        assert j.utf() and j.utf()
    found = {}
    for _ in range(j.int()):
        thread = found[j.place()] = Thread()
        thread.metadata = {j.utf(): j.utf() for _ in range(j.int())}
    assert j.at - begin == header
    metrics, functions, events = read_tables(j)
    used = set()
    for _ in range(j.int()):
        thread = found[j.place()]
        for _ in range(j.int()):
            number = j.int()
            name, groups = functions[number]
            used.add(number)
            row = thread.rows[name] = Row(groups, j.take("d"), j.take("d"))
            for metric in metrics:
                row.excl[metric], row.incl[metric] = j.take("d"), j.take("d")
        for _ in range(j.int()):
            name, n = events[j.int()], j.int()
            least, most, mean, sumsq = (j.take("d") for _ in range(4))
            thread.events[name] = (n, most, least, mean, sumsq)
    assert j.at == len(j.data)
    assert used == set(range(len(functions)))
    return found


def same(a, b):
    """Asserts that two results of the readers are equal to the 16 digits of the text format."""
    assert a.keys() == b.keys()
    for place, thread in a.items():
        other = b[place]
        assert thread.rows.keys() == other.rows.keys()
        assert thread.events.keys() == other.events.keys()
        for name, row in thread.rows.items():
            twin = other.rows[name]
            assert (row.groups, row.calls, row.subrs) == (twin.groups, twin.calls, twin.subrs)
            for metric, value in row.excl.items():
                assert math.isclose(value, twin.excl[metric], rel_tol=1e-14, abs_tol=1e-12)
                assert math.isclose(row.incl[metric], twin.incl[metric], rel_tol=1e-14, abs_tol=1e-12)
        for name, event in thread.events.items():
            assert all(math.isclose(x, y, rel_tol=1e-14) for x, y in zip(event, other.events[name]))
