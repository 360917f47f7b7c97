# SPDX-License-Identifier: BSD-3-Clause
"""Samples and metrics of an OTF2 archive, read with Debian's python3-otf2, which only the system's Python can import."""

import json
import subprocess

from foreign import Trace

READ = """
import json, sys
import otf2

def steps(context):
    found = []
    while context is not None:
        place = context.source_code_location
        found.append([context.region.name, place and place.file, place and place.line_number])
        context = context.parent
    return found[::-1]

def members(metric):
    return metric.metric_class.members if hasattr(metric, "metric_class") else metric.members

def last(value):
    return str(value).rpartition(".")[2]

with otf2.reader.open(sys.argv[1]) as trace:
    d = trace.definitions
    out = {
        "locations": [
            {"name": l.name, "group": l.group.name, "events": l.number_of_events, "kinds": {}, "samples": [], "metrics": []}
            for l in d.locations
        ],
        "generators": [
            [g.name, last(g.interrupt_generator_mode), last(g.base), g.exponent, g.period] for g in d.interrupt_generators
        ],
        "contexts": [steps(c) for c in d.calling_contexts],
        "members": {m.name: [last(m.metric_mode), m.unit, m.exponent] for m in d.metric_members},
        "instances": [
            [m.metric_class.members[0].name, m.recorder.name, m.scope.name] for m in d.metrics if hasattr(m, "metric_class")
        ],
    }
    at = {l._ref: i for i, l in enumerate(d.locations)}
    for location, event in trace.events:
        of = out["locations"][at[location._ref]]
        kind = type(event).__name__
        of["kinds"][kind] = of["kinds"].get(kind, 0) + 1
        if kind == "CallingContextSample":
            state = [value for name, value in event.attributes.items() if name.name == "State"]
            rate = event.interrupt_generator.name
            of["samples"].append([event.time, steps(event.calling_context), event.unwind_distance, state, rate])
        elif kind == "Metric":
            of["metrics"].append([event.time, {m.name: v for m, v in zip(members(event.metric), event.values)}])
json.dump(out, sys.stdout)
"""


def read(anchor, strict=True):
    """The output of READ. otf2-print must find no error in the archive, with strict also no warning."""
    warnings = ["--warnings-as-errors"] if strict else []
    done = subprocess.run(["otf2-print", *warnings, "--silent", str(anchor)], capture_output=True, encoding="utf-8")
    assert done.returncode == 0 and not (strict and done.stderr) and "ERROR" not in done.stdout.upper(), done.stdout + done.stderr
    assert not Trace(anchor).faults
    command = ["/usr/bin/python3", "-c", READ, str(anchor)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
