# SPDX-License-Identifier: BSD-3-Clause
"""compare.py A B: compares what two profilers recorded of logs.py, function by function or line by line. The status is 1 if
they differ. A file is read by its suffix: .prof (cProfile: calls), .lprof (line_profiler: hits), .trace.json (Chrome's format:
calls), .folded (samples: percent of the time in it), .csv (memray) and .memory.json (spartito report memory
--json): bytes at the peak."""

import collections
import csv
import json
import pathlib
import pstats
import sys

PROGRAM = "logs.py"
FUNCTIONS = {"main", "write", "parse", "unique"}  # with enough time to be sampled


def calls(path):
    """Calls of each function, from a file of cProfile."""
    rows = pstats.Stats(path).stats.items()
    return {f"line {line}, {name}": row[1] for (file, line, name), row in rows if file.endswith(PROGRAM)}


def hits(path):
    """Hits of each line, from a file of line_profiler."""
    import line_profiler

    timings = line_profiler.load_stats(path).timings
    return {f"line {line}, {name}": hits for (_, _, name), lines in timings.items() for line, hits, _ in lines}


def events(path):
    """Calls of each function, from a trace: complete events as in viztracer's files, or begins and ends as in Spartito's."""
    found = collections.Counter()
    for event in json.loads(pathlib.Path(path).read_text())["traceEvents"]:
        name, source = event.get("name", ""), event.get("args", {}).get("source", "")
        if event["ph"] == "X" and name.endswith(")"):
            name, source = name[:-1].split(" (", 1)
        if event["ph"] in "XB" and f"{PROGRAM}:" in source:
            found[f"line {source.rsplit(':', 1)[1]}, {name.replace(':', '.').rsplit('.', 1)[1 if ':' in name else -1]}"] += 1
    return found


def shares(path):
    """Percent of the samples with each function of the program at any depth, from folded stacks."""
    found, total = collections.Counter(), 0
    for line in pathlib.Path(path).read_text().splitlines():
        stack, weight = line.rsplit(" ", 1)
        names = {frame.split(" (")[0].replace("__main__:", "") for frame in stack.split(";")}
        found.update(dict.fromkeys(names & FUNCTIONS, int(weight)))
        total += int(weight)
    return {name: round(100 * weight / total) for name, weight in found.items()}


def records(path):
    """Bytes at the peak of each line, from memray's table."""
    found = collections.Counter()
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            name, source, line = row["stack_trace"].split("|")[0].split(";")
            if source.endswith(PROGRAM):
                found[f"line {line}, {name}"] += int(row["size"])
    return large(found)


def sites(path):
    """Bytes at the peak of each line, from Spartito's report."""
    found = [site for site in json.loads(pathlib.Path(path).read_text())["peak"] if site["file"].endswith(PROGRAM)]
    return large({f"line {site['line']}, {site['function'].split(':')[1]}": site["peak_bytes"] for site in found})


def large(found):
    return {name: size for name, size in found.items() if size > 0.1 * sum(found.values())}


READERS = {".lprof": hits, ".prof": calls, ".trace.json": events, ".folded": shares, ".memory.json": sites, ".csv": records}


def read(path):
    return next(reader(path) for suffix, reader in READERS.items() if path.endswith(suffix))


def verdict(a, b, path):
    limit = 20 if path.endswith(".folded") else 0.02 * a if path.endswith(".csv") else 0
    if abs(a - b) > limit:
        return "different"
    return "alike" if limit else "equal"


def main(first, second):
    a, b = read(first), read(second)
    status = 0
    for name in sorted({*a, *b}, key=lambda name: (len(name.split(",")[0]), name)):
        word = verdict(a.get(name, 0), b.get(name, 0), first)
        print(f"{name:28} {a.get(name, 0):10,} {b.get(name, 0):10,}  {word}")
        status |= word == "different"
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
