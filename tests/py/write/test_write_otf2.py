# SPDX-License-Identifier: BSD-3-Clause
"""OTF2 archives, read by otf2-print, otf2-marker and Debian's python3-otf2."""

import functools
import json
import re
import shutil
import subprocess
import sys
from collections import Counter

import foreign
import pytest
import written
from conftest import ROOT
from spartito._analyse import Model

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
    """The archive as read by python3-otf2, a module of Debian's Python."""
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
    for row in written.model("--trace").flat():
        assert enters[row["name"]] == row["visits"] + row["resumed"], row["name"]


def test_inclusive_time():
    """Time between enter and leave without pauses, in which regions stay open."""
    spent, stacks, paused, since_off = {}, {}, Counter(), {}
    for name, kind, time, *rest in read()["events"]:
        stack = stacks.setdefault(name, [])
        if kind == "Enter":
            stack.append((rest[0], time - paused[name]))
        elif kind == "MeasurementOnOff" and rest[0] == "OFF":
            since_off[name] = time
        elif kind == "MeasurementOnOff":
            paused[name] += time - since_off[name]
        elif kind == "Leave":
            region, since = stack.pop()
            if region not in [entry[0] for entry in stack]:
                spent[region] = spent.get(region, 0) + time - paused[name] - since
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
    off_cpu = ("waiting", "preempted")  # as the machine is busy
    assert [row[3:] for row in rows_of("Metric") if row[3] not in off_cpu] == [["bytes", 2.5]]
    # when recording pauses, the joined thread may not have ended yet, and then pauses, too
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


def test_without_a_trace_the_reason_is_reported(tmp_path):
    command = [sys.executable, "-m", "spartito", "convert", written.experiment(), "--to", "otf2", "-o", tmp_path / "no"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    assert done.returncode != 0
    assert "--trace" in done.stdout
    assert not (tmp_path / "no").exists()


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """(anchor file, definitions, events) of tests/c/generator/rawgen_sample.c, a raw file with all kinds of records, as otf2-print
    shows it."""
    path = tmp_path_factory.mktemp("sample")
    (path / "x" / "raw").mkdir(parents=True)
    shutil.copy(ROOT / "tests/old-raw/v2-trace.raw", path / "x" / "raw")
    Model(str(path / "x")).convert("otf2", str(path / "out"))
    definitions, events = (
        [re.sub(r" <\d+>|(?<=[^ ]) +(?=  )", "", line) for line in foreign.Trace.lines(*options, path / "out" / "traces.otf2")]
        for options in (["-G"], ["--warnings-as-errors"])
    )
    return path / "out" / "traces.otf2", definitions, events


def of(lines, kind, *parts):
    """Lines of a kind that contain all the parts."""
    return [line for line in lines if line.split(" ")[0] == kind and all(part in line for part in parts)]


def test_places_as_score_p_defines_them(sample):
    lines = sample[1]
    assert of(lines, "SYSTEM_TREE_NODE_PROPERTY", '"machine::Linux"', 'Name: "platform"', 'Value: "Linux"')
    assert [line.split()[1] for line in of(lines, "LOCATION")] == ["0", str(1 << 32)]
    members = '2 Members: "MainThread", "Thread-1 (work)"'
    assert of(lines, "GROUP", '"PROCESSXTHREADS_GROUP_LOCATIONS"', "COMM_LOCATIONS", "MEASUREMENT_SYSTEM", members)
    assert of(lines, "GROUP", '"PTHREAD"', "COMM_LOCATIONS", 'Paradigm: "Pthread"', members)
    assert of(lines, "COMM", '"Process x Threads CPU Locations"', '"PROCESSXTHREADS_GROUP"')
    assert of(lines, "COMM", 'Name: ""', '"SCOREP_GROUP_PTHREAD"')
    assert of(lines, "PARADIGM", 'Name: "Pthread", Class: THREAD_CREATE_WAIT')
    assert of(lines, "CART_TOPOLOGY", '"Process x Thread"', '2 Dimensions: ("Process", "Thread")')
    assert of(lines, "CART_COORDINATE", 'Rank: 1 ("Thread-1 (work)"), Coordinates: (0, 1)')
    names = [line.split('"')[1] for line in of(lines, "GROUP")]
    assert len(names) == len(set(names))
    assert {"__main__", "builtins", "user", "kernel.so"} <= set(names)


def test_regions_as_score_p_defines_them(sample):
    for name, canonical, role, paradigm, place in (
        ("python", "python sample.py", "ARTIFICIAL", "MEASUREMENT_SYSTEM", "File: UNDEFINED, Begin: 0, End: 0"),
        ("THREADS", "THREADS", "ARTIFICIAL", '"Pthread"', "File: UNDEFINED, Begin: 0, End: 0"),
        ("MEASUREMENT OFF", "MEASUREMENT OFF", "ARTIFICIAL", "USER", "File: UNDEFINED, Begin: 0, End: 0"),
        ("__main__:main", "__main__:main", "FUNCTION", "USER", 'File: "/sample.py", Begin: 3, End: 0'),
        ("user:sweep", "user:sweep", "FUNCTION", "USER", 'File: "/sample.py", Begin: 30, End: 0'),
        ("solve", "solve", "FUNCTION", "COMPILER", 'File: "/lib/kernel.so"'),
        ("read", "read", "FILE_IO", "NONE", 'File: "POSIX I/O", Begin: 0, End: 0'),
    ):
        found = of(sample[1], "REGION", f'Name: "{name}" (Aka. "{canonical}")')
        assert len(found) == 1 and f"Role: {role}, Paradigm: {paradigm}, Flags: NONE, {place}" in found[0], found


def test_program_and_thread_ids(sample):
    lines = sample[2]
    attributes = [line.strip() for line in lines if "ADDITIONAL" in line]
    assert attributes == [
        'ADDITIONAL ATTRIBUTES: ("ProcessId"; UINT64; 7)',
        'ADDITIONAL ATTRIBUTES: ("ThreadId"; UINT64; 8)',
    ]
    assert of(lines, "PROGRAM_BEGIN", 'Name: "python", 1 Argument: "sample.py"')
    assert of(lines, "THREAD_CREATE", 'Contingent: "", Sequence Count: 1')
    assert of(lines, "THREAD_BEGIN", 'Contingent: "", Sequence Count: 1')


def test_metrics_before_each_enter_and_leave(sample):
    _, definitions, events = sample
    (strict,) = of(definitions, "METRIC_CLASS", "SYNCHRONOUS_STRICT")
    assert strict.endswith('2 Members: "ru_utime", "instructions"')
    assert of(definitions, "METRIC_MEMBER", '"ru_utime"', "RUSAGE", "ACCUMULATED_START", "UINT64", 'Exponent: -6, Unit: "s"')
    assert of(definitions, "METRIC_MEMBER", '"instructions"', "Type: OTHER", "ACCUMULATED_START")
    for name in ("bytes_put", "bytes_get", "io_bytes_read", "io_bytes_written"):
        assert len(of(definitions, "METRIC_MEMBER", f'"{name}"', "OTHER", "ABSOLUTE_POINT", 'Unit: "bytes"')) == 1
    last, counted = {}, 0
    for line in events:
        kind, _, rest = line.partition(" ")
        if kind in ("ENTER", "LEAVE", "METRIC"):
            where, time = rest.split()[:2]
            if kind != "METRIC" and time not in ("1310", "1320", "8100"):  # events without values, and regions open at the end
                assert f" {time} " in last[where] and "2 Values" in last[where], line
                values = [int(v) for v in re.findall(r"UINT64; (\d+)", last[where])]
                assert values == [(int(time) + 900) // 10, (int(time) + 900) * 3]
                counted += 1
            last[where] = line if kind == "METRIC" else ""
    assert counted == 2 * 19


def test_call_paths_have_parameters(sample):
    lines = sample[1]
    paths = of(lines, "CALLPATH")
    assert paths[0].endswith('Parent: UNDEFINED, Region: "python"')
    assert of(paths, "CALLPATH", 'Parent: 0, Region: "THREADS"')
    values = [line.split(": ", 1)[1] for line in of(lines, "CALLPATH_PARAMETER")]
    assert [v.split(", ", 1)[1] for v in values] == [
        'Parameter: "case", Type: STRING, Value: "small"',
        'Parameter: "order", Type: INT64, Value: -3',
        'Parameter: "case", Type: STRING, Value: "small"',
        'Parameter: "order", Type: INT64, Value: 2',
    ]
    work = {line.split()[1] for line in of(lines, "CALLPATH", '"__main__:Grid.work"')}
    assert work == {v.split(",")[0] for v in values if '"order"' in v}


def test_file_io(sample):
    _, definitions, events = sample
    assert of(definitions, "IO_PARADIGM", 'Identification: "POSIX", Name: "POSIX I/O", Class: SERIAL, Flags: {OS}')
    assert [line.split('"')[1] for line in of(definitions, "IO_REGULAR_FILE")] == ["/data/input.bin", "/data/output.bin"]
    assert len(of(definitions, "IO_HANDLE", 'I/O Paradigm: "POSIX I/O"', "Flags: NONE")) == 3
    created = [line.split("Handle: ")[1] for line in of(events, "IO_CREATE_HANDLE")]
    assert created == [
        '"[POSIX I/O]file:///data/input.bin", Access Mode: READ_ONLY, Creation Flags: NONE, Status Flags: NONE',
        '"[POSIX I/O]file:///data/output.bin", Access Mode: WRITE_ONLY, Creation Flags: {CREATE, TRUNCATE}, Status Flags: NONE',
    ]
    assert len(of(events, "IO_DUPLICATE_HANDLE")) == len(of(events, "IO_DESTROY_HANDLE")) == 1
    assert of(events, "IO_SEEK", "Offset Request: 64, Whence: FROM_START, Offset Result: 64")
    begun = [re.search(r"Mode: (\w+), .*Request: (\d+), Matching Id: (\d+)", x) for x in of(events, "IO_OPERATION_BEGIN", " 0 ")]
    done = [re.search(r"Result: (\d+), Matching Id: (\d+)", x) for x in of(events, "IO_OPERATION_COMPLETE", " 0 ")]
    assert [m[1] for m in begun] == ["READ", "WRITE", "READ"]
    assert [(int(b[2]) - int(d[1]), b[3]) for b, d in zip(begun, done)] == [(10, d[2]) for d in done]


def test_pauses_stand_alone(sample):
    lines = sample[2]
    assert [line.split()[-1] for line in of(lines, "MEASUREMENT_ON_OFF", " 0 ")] == ["OFF", "ON"]
    assert not [line for line in lines if "MEASUREMENT OFF" in line]
    assert not [line for line in lines if " 2100 " in line and line.split(" ")[0] in ("METRIC", "ENTER", "LEAVE")]


OPENING = """\
import os
fd = os.open("data.bin", os.O_CREAT | os.O_RDWR | os.O_APPEND)
os.write(fd, b"0123456789")
os.pread(fd, 4, 3)
os.close(fd)
r, w = os.pipe()
os.write(w, b"hi")
"""


def test_handles_that_were_open_before_are_pre_created(tmp_path, spartito):
    (tmp_path / "program.py").write_text(OPENING)
    run = [*spartito, "run", "-q", "--io", "--trace", "--to", "otf2", "-o", "x", "--", sys.executable, "program.py"]
    subprocess.run(run, cwd=tmp_path, check=True, stderr=subprocess.PIPE)
    archive = foreign.anchor_in(tmp_path)
    definitions, events = (list(foreign.Trace.lines(*options, archive)) for options in (["-G"], []))
    (opened,) = of(events, "IO_CREATE_HANDLE", "data.bin")
    assert "Access Mode: READ_WRITE, Creation Flags: {CREATE}, Status Flags: {" in opened and "APPEND" in opened
    (read,) = of(events, "IO_OPERATION_BEGIN", "Mode: READ", "data.bin")
    assert re.search(r'"Offset" <\d+>; UINT64; 3\)', events[events.index(read) + 1])
    (pipe,) = of(definitions, "IO_HANDLE", 'Name: "pipe:[')
    assert "File: UNDEFINED" in pipe and "Flags: {PRE_CREATED}" in pipe
    assert of(definitions, "IO_PRE_CREATED_HANDLE_STATE", "pipe:[", "Access Mode: WRITE_ONLY")
    assert of(events, "IO_OPERATION_COMPLETE", "pipe:[", "Bytes Result: 2")


FORKING = """\
import os
for n in range(3):
    if not os.fork():
        with open(f"data{n}", "w") as f:
            f.write("x")
        os._exit(0)
    os.wait()
"""


def test_one_process_is_numbered_without_gaps(tmp_path, spartito):
    (tmp_path / "program.py").write_text(FORKING)
    run = [*spartito, "run", "-q", "--io", "--trace", "--waits", "--memory-profile", "-o", "x", "--", sys.executable, "program.py"]
    subprocess.run(run, cwd=tmp_path, check=True, stderr=subprocess.PIPE)
    for process in range(4):
        target = tmp_path / str(process)
        subprocess.run([*spartito, "convert", tmp_path / "x", "--to", "otf2", "--process", str(process), "-o", target], check=True)
        archive = foreign.anchor_in(target)
        written.run("otf2-print", "--warnings-as-errors", "--silent", archive)
        definitions = list(foreign.Trace.lines("-G", archive))
        (group,) = of(definitions, "LOCATION_GROUP")
        assert group.split()[1] == "0" and "Type: PROCESS" in group
        handles = [int(line.split()[1]) for line in of(definitions, "IO_HANDLE")]
        assert handles == list(range(len(handles)))
        if process:
            assert of(definitions, "IO_HANDLE", f"data{process - 1}")
