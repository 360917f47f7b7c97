# SPDX-License-Identifier: BSD-3-Clause
"""OTF2 archives, read by otf2-print, otf2-marker and Debian's python3-otf2."""

import functools
import json
import re
import subprocess
import sys

import foreign
import written

READ = """
import json, sys
import otf2
from otf2.enums import LocationType, Paradigm, RegionRole

out = {"events": []}
with otf2.reader.open(sys.argv[1]) as trace:
    d = trace.definitions
    out["clock"] = [trace.timer_resolution, d.clock_properties.global_offset, d.clock_properties.trace_length,
                    d.clock_properties.realtime_timestamp]
    out["locations"] = [[l.name, l.group.name, l.group.system_tree_parent.class_name, l.number_of_events,
                         l.type == LocationType.CPU_THREAD] for l in d.locations]
    out["regions"] = {r.name: [r.source_file, r.begin_line_number, r.region_role == RegionRole.FUNCTION,
                               r.paradigm == Paradigm.USER] for r in d.regions}
    for location, event in trace.events:
        row = [location.name, type(event).__name__, event.time]
        if hasattr(event, "parameter"):
            row += [event.parameter.name, event.string if hasattr(event, "string") else event.value]
        elif hasattr(event, "values"):
            row += [event.metric.members[0].name, event.values[0]]
        elif hasattr(event, "region"):
            row += [event.region.name]
        elif hasattr(event, "measurement_mode"):
            row += [str(event.measurement_mode).rpartition(".")[2]]
        out["events"].append(row)
json.dump(out, sys.stdout)
"""


def anchor():
    return written.written("otf2", "--trace") / "traces.otf2"


@functools.cache
def read():
    """The archive as python3-otf2 sees it, which only Debian's own Python can import."""
    return json.loads(written.run("/usr/bin/python3", "-c", READ, anchor()))


def rows_of(kind):
    return [row for row in read()["events"] if row[1] == kind]


def test_is_valid():
    text = written.run("otf2-print", "--warnings-as-errors", "--silent", anchor())
    assert "ERROR" not in text.upper()
    trace = foreign.Trace(anchor())
    assert trace.faults == []
    assert trace.enters == trace.leaves


def test_calls():
    trace = foreign.Trace(anchor())
    rows = written.rows("--trace")
    for name, visits in written.VISITS.items():
        resumed = written.RESUMED.get(name, 0)
        assert trace.enters[rows[name]["name"]] == visits + resumed
        assert (rows[name]["visits"], rows[name]["resumed"]) == (visits, resumed)
    assert trace.enters[written.REGION] == 2
    assert not [name for name in trace.enters if name.endswith(":quiet")]
    assert trace.callers["__main__:thrown", "__main__:caught"] == 1


def test_every_region_as_often_as_in_the_model():
    enters = foreign.Trace(anchor()).enters
    open_at_pause = {"__main__:<module>", "__main__:main"}  # entered again when recording goes on
    for row in written.model("--trace").flat():
        again = enters[row["name"]] - row["visits"] - row["resumed"]
        assert again == 0 or (row["name"] in open_at_pause and again > 0), row["name"]


def test_inclusive_time():
    spent, stacks = {}, {}
    for name, kind, time, *rest in read()["events"]:
        stack = stacks.setdefault(name, [])
        if kind == "Enter":
            stack.append((rest[0], time))
        elif kind == "Leave":
            region, since = stack.pop()
            if region not in [entry[0] for entry in stack]:
                spent[region] = spent.get(region, 0) + time - since
    for row in written.rows("--trace").values():
        events = sum(written.VISITS.values()) * 5
        assert abs(spent[row["name"]] / 1e9 - row["incl"]) < events * 1e-9 + 1e-6, row["name"]


def test_definitions():
    info = written.model("--trace").info()
    ticks, offset, length, realtime = read()["clock"]
    assert (ticks, offset) == (10**9, 0)
    assert abs(realtime / 1e9 - info["begin"]) < 1e-3
    assert all(row[2] <= length for row in read()["events"])
    locations = {row[0]: row[1:] for row in read()["locations"]}
    assert set(locations) == {location["name"] for location in info["locations"]}
    process = f"Process {info['processes'][0]['pid']}"
    for name, (group, node, events, thread) in locations.items():
        assert (group, node, thread) == (process, "node", True)
        assert events == sum(row[0] == name for row in read()["events"])
    for row in written.rows("--trace").values():
        assert read()["regions"][row["name"]] == [row["file"], row["line"], True, True]


def test_parameters_counters_and_pauses():
    assert [row[3:] for row in rows_of("ParameterInt")] == [["order", -3]]
    assert [row[3:] for row in rows_of("ParameterString")] == [["case", "small"]]
    assert [row[3:] for row in rows_of("Metric")] == [["bytes", 2.5]]
    # the thread that was joined may still be ending when recording pauses, and pause with it
    assert [row[3] for row in rows_of("MeasurementOnOff") if row[0] == "MainThread"] == ["OFF", "ON"]
    assert "half way" in written.run("otf2-marker", anchor())


def test_program_and_threads():
    assert len(rows_of("ProgramBegin")) == len(rows_of("ProgramEnd")) == 1
    (create,), (begin,), (end,) = rows_of("ThreadCreate"), rows_of("ThreadBegin"), rows_of("ThreadEnd")
    assert create[0] == "MainThread" and begin[0] == end[0] == "second"
    assert create[2] <= begin[2] <= end[2]


def test_groups_by_module():
    text = written.run("otf2-print", "-G", anchor())
    assert re.search(r'^GROUP .*Name: "__main__".*Type: REGIONS', text, re.MULTILINE)


def test_existing_directory_is_refused(tmp_path):
    from spartito._analyse import Error

    before = sorted(tmp_path.iterdir())
    try:
        written.model("--trace").convert("otf2", str(tmp_path))
    except Error as error:
        assert str(tmp_path) in str(error)
    else:
        raise AssertionError("an existing directory was written into")
    assert sorted(tmp_path.iterdir()) == before
    assert not list(tmp_path.parent.glob(tmp_path.name + ".part*"))


def test_without_a_trace_the_reason_is_said(tmp_path):
    command = [sys.executable, "-m", "spartito", "convert", written.experiment(), "--to", "otf2", "-o", tmp_path / "no"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    assert done.returncode != 0
    assert "--trace" in done.stdout
    assert not (tmp_path / "no").exists()
