# SPDX-License-Identifier: BSD-3-Clause
"""The reports of `spartito report`: their names, what they show, and the options that each takes."""

from __future__ import annotations

from spartito.options.kinds import Topic

ALL = "json limit"  # options of nearly every report
PARTS = "threads processes process rank"
ROLES = f"{PARTS} roles"

REPORTS = (
    Topic("flat", "the functions with the most time (the default)", f"{ALL} {ROLES} compensate match own sort"),
    Topic("tree", "the call tree, callers above what they call", f"{ALL} {ROLES} compensate depth match sort threshold"),
    Topic("callers", "who calls the functions of --match, and whom they call", f"{ALL} compensate match"),
    Topic("findings", "at most seven things that cost most, with evidence and what to try", f"{ALL} compensate"),
    Topic("own", "the program's own functions, each with the libraries that it calls", f"{ALL} compensate own process rank"),
    Topic("imports", "what importing modules took, as a tree of modules", f"{ALL} compensate process rank"),
    Topic("lines", "functions line by line, with their source (run --lines)", f"{ALL} {PARTS} match plain"),
    Topic("memory", "allocations by line and call path, peak and leaks (run --memory-profile)", f"{ALL} process rank"),
    Topic("waits", "what threads, tasks and ranks waited for, and the lock holders (run --waits, MPI)", ALL),
    Topic("io", "file I/O by file and by call path (run --io)", ALL),
    Topic("tasks", "tasks of asyncio and the like: how long each ran and waited, and for what", ALL),
    Topic("balance", "how evenly ranks, processes or threads share the time", f"{ALL} by compensate match processes threads"),
    Topic("messages", "messages of MPI: between which ranks, in which communicator, from which call path", f"{ALL} csv"),
    Topic("critical-path", "what the length of a run with MPI consists of, and what a faster function would save", ALL),
    Topic("trip-count", "how often functions were called, as timemory prints it", "compensate depth json process rank"),
    Topic("wall-clock", "how long functions took, as timemory prints it", "compensate depth json process rank"),
)


def find(name: str) -> Topic | None:
    return next((topic for topic in REPORTS if topic.name == name), None)
