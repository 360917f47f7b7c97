# SPDX-License-Identifier: BSD-3-Clause
"""Reads the slices of a trace in Chrome's JSON format."""

import json


def slices(model, path):
    """Writes the trace of a model to `path`. Yields of each slice, in the order of their ends: the thread's tid, the names of the
    slices around it and its own, outermost first, and its begin and end in s."""
    model.convert("chrome", str(path))
    begun = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] not in "BE":
            continue
        stack = begun.setdefault((event["pid"], event["tid"]), [])
        if event["ph"] == "B":
            stack.append((event["name"], event["ts"] / 1e6))
        else:
            names = tuple(name for name, _ in stack)
            yield event["tid"], names, stack.pop()[1], event["ts"] / 1e6
