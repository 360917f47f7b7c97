# SPDX-License-Identifier: BSD-3-Clause
"""Profiles for pprof, read with message classes that Google's package makes from the published schema."""

import subprocess
import sys

import pytest
import written
from profileproto import Profile
from spartito._analyse import Model
from test_finalize import extension  # noqa: F401

from mpi import mpi  # noqa: F401

METRICS = ("--metric", "rusage:ru_utime", "--metric", "rusage:ru_maxrss", "--io")
PARAMETERS = """
import threading, spartito
def leaf(): pass
def work(n):
    spartito.parameter("n", n)
    spartito.parameter("size", "small" if n < 3 else "large")
    for i in range(n): leaf()
for n in (1, 2, 2, 5): work(n)
t = threading.Thread(target=work, args=(7,), name="second")
t.start(); t.join()
"""


def measure(tmp_path, program, *options):
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    run = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", "x", "--", sys.executable, "program.py"]
    subprocess.run(run, check=True, cwd=tmp_path)
    return Model(str(tmp_path / "x"))


def profile(model, path, **options):
    model.convert("pprof", str(path), **options)
    return Profile(path)


def expected(model, **which):
    """{stack: row of the tree}; rows of paths that differ only in parameters are added up."""
    found, names = {}, []
    for row in model.tree(**which):
        del names[row["depth"] :]
        names.append(row["name"])
        stack = tuple(name for name in names if name != "<root>")
        one = found.setdefault(stack, {"visits": 0, "excl": 0.0})
        one["visits"] += row["visits"]
        one["excl"] += row["excl"]
        for name, metric in row.get("metrics", {}).items():
            one[name] = one.get(name, 0) + metric["excl"]
    found.pop((), None)
    return found


def same(found, expected, rows):
    for (stack,), values in found.items():
        assert values["calls"] == expected[stack]["visits"]
        assert values["time"] == pytest.approx(expected[stack]["excl"] * 1e9, abs=rows)
    missing = set(expected) - {stack for (stack,) in found}
    assert all(expected[stack]["visits"] == 0 and expected[stack]["excl"] == 0 for stack in missing)


OFF_CPU = {"running", "waiting", "preempted"}


def test_calls_and_time_of_each_path():
    found = Profile(written.written("pprof"))
    assert found.types[:2] == [("calls", "count"), ("time", "nanoseconds")]
    assert {name for name, _ in found.types[2:]} <= OFF_CPU
    assert found.text[found.message.default_sample_type] == "time"
    model = written.model()
    same(found.sums(), expected(model), rows=len(model.info()["locations"]))
    info = model.info()
    assert found.message.time_nanos == pytest.approx(info["begin"] * 1e9, abs=1e3)
    assert found.message.duration_nanos == pytest.approx((info["end"] - info["begin"]) * 1e9, abs=1e3)
    assert [found.text[c] for c in found.message.comment] == [info["processes"][0]["command"]]


def test_each_thread_by_itself():
    found, model = Profile(written.written("pprof")).sums("thread", "process", "host"), written.model()
    info = model.info()
    assert len(info["locations"]) > 1
    for i, thread in enumerate(info["locations"]):
        process = info["processes"][thread["process"]]
        whose = (thread["name"], process["pid"], process["host"])
        same({(stack,): values for (stack, *who), values in found.items() if tuple(who) == whose}, expected(model, location=i), 1)


def test_functions_with_file_and_line():
    found = Profile(written.written("pprof"))
    for row in written.model().flat():
        if row["visits"]:
            assert found.function(row["name"]) == (row["file"], row["line"])
    # pprof removes <…> from a name that equals its system name, as from a C++ template
    assert any("<module>" in name for name in found.text) and not any(f.system_name for f in found.functions.values())
    for place in found.locations.values():
        assert place.line[0].line == found.functions[place.line[0].function_id].start_line


def test_one_mapping_is_the_interpreter():
    found = Profile(written.written("pprof"))
    (mapping,) = found.mappings.values()
    assert "python" in found.text[mapping.filename]
    assert mapping.has_functions and mapping.has_filenames and mapping.has_line_numbers


def test_compiled_functions_are_in_their_object(extension, tmp_path):  # noqa: F811
    run = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "x", "--", sys.executable, "program.py"]
    subprocess.run(run, check=True, cwd=extension, stdout=subprocess.DEVNULL)
    found = profile(Model(str(tmp_path / "x")), tmp_path / "x.pb")
    names = {found.text[m.filename]: m.id for m in found.mappings.values()}
    assert len(names) == 2
    places = {found.text[found._function(place.id).name]: place for place in found.locations.values()}
    for name in ("nested:work", "nested:leaf"):
        assert places[name].mapping_id == names["nested"] and places[name].address
    assert places["__main__:<module>"].mapping_id != names["nested"]


def test_metrics_are_without_callees(tmp_path):
    program = "import os\ndef inner():\n    open('/dev/null', 'w').write('x' * 1000)\n    sum(range(10**6))\n"
    program += "def outer():\n    inner()\n    sum(range(10**6))\nouter()\n"
    model = measure(tmp_path, program, *METRICS)
    found = profile(model, tmp_path / "x.pb.gz")
    assert [kind for kind in found.types[2:] if kind[0] not in OFF_CPU] == [
        ("ru_utime", "nanoseconds"),
        ("ru_maxrss", "bytes"),
        ("io_bytes_read", "bytes"),
        ("io_bytes_written", "bytes"),
    ]
    rows = expected(model)
    factor = {"ru_utime": 1000, "ru_maxrss": 1024, "io_bytes_read": 1, "io_bytes_written": 1}
    for (stack,), values in found.sums().items():
        for name in factor:
            assert values[name] == rows[stack].get(name, 0) * factor[name]
    for metric in model.info()["metrics"]:
        if metric["exclusive"] and metric["name"] in factor:
            assert sum(values[metric["name"]] for values in found.sums().values()) == metric["total"] * factor[metric["name"]]
    assert any(values["io_bytes_written"] >= 1000 for (stack,), values in found.sums().items() if "__main__:inner" in stack)


def test_parameters_are_labels(tmp_path):
    found = profile(measure(tmp_path, PARAMETERS), tmp_path / "x.pb")
    calls = {
        (n, size, thread): values["calls"]
        for (stack, n, size, thread), values in found.sums("n", "size", "thread").items()
        if stack[-1] == "__main__:leaf"
    }
    assert calls == {
        ("1", "small", "MainThread"): 1,
        ("2", "small", "MainThread"): 4,
        ("5", "large", "MainThread"): 5,
        ("7", "large", "second"): 7,
    }


def test_gzipped_by_its_name(tmp_path):
    model = written.model()
    assert profile(model, tmp_path / "a.pb.gz").packed and not profile(model, tmp_path / "b.pb").packed
    assert Profile(tmp_path / "a.pb.gz").samples == Profile(tmp_path / "b.pb").samples


def test_very_deep_recursion_stays_small(tmp_path):
    program = "import sys\nsys.setrecursionlimit(10**6)\ndef down(n):\n    return n and down(n - 1)\ndown(5000)\n"
    model = measure(tmp_path, program)
    found = profile(model, tmp_path / "x.pb")
    assert max(len(stack) for stack, _, _ in found.samples) == 1025  # 1024 frames and [deeper]
    sums = found.sums()
    down = [values["calls"] for (stack,), values in sums.items() if stack[-1] in ("__main__:down", "[deeper]")]
    assert sum(down) == 5001 and found.function("[deeper]") == ("", 0)
    own = sum(row["excl"] for row in model.flat() if row["kind"] != "root")
    assert sum(values["time"] for values in sums.values()) == pytest.approx(own * 1e9, abs=len(found.samples))


def test_ranks_are_labels(mpi):  # noqa: F811
    program = "from mpi4py import MPI\ndef f(): pass\nfor i in range(MPI.COMM_WORLD.rank + 1): f()\n"
    done = mpi.measured(3, program, trace=False)
    found = profile(Model(str(done.directory)), mpi.path / "x.pb")
    calls = {rank: values["calls"] for (stack, rank), values in found.sums("rank").items() if stack[-1] == "__main__:f"}
    assert calls == {0: 1, 1: 2, 2: 3}
