# SPDX-License-Identifier: BSD-3-Clause
"""TAU's text profiles and packed profiles, read by readers that share no code with the writer."""

import os
import subprocess
import sys

import pytest
import taufiles
import written
from spartito._analyse import Model

ROOT = ".TAU application"
METRICS = ("--trace", "--metric=rusage:ru_utime,rusage:ru_minflt,rusage:ru_msgsnd")


def measure(directory, source, *options):
    program = directory / "program.py"
    program.write_text(source, encoding="utf-8")
    run = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", directory / "run", "--", sys.executable, program]
    subprocess.run(list(map(str, run)), check=True)
    return Model(str(directory / "run"))


def both(model, directory, **options):
    """The threads in the text profiles; the packed profiles are equal."""
    model.convert("tau", str(directory / "tau"), **options)
    model.convert("ppk", str(directory / "packed.ppk"), **options)
    found = taufiles.read_text(directory / "tau")
    taufiles.same(found, taufiles.read_packed(directory / "packed.ppk"))
    return found


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return both(written.model("--trace"), tmp_path_factory.mktemp("known"))


def called(name, line):
    return f"{name} [{{known.py}}{{{line}}}]"


def test_one_file_for_each_thread(known):
    assert sorted(known) == [(0, 0, 0), (0, 0, 1)]
    assert [known[0, 0, t].metadata["Thread Name"] for t in (0, 1)] == ["MainThread", "second"]


@pytest.mark.parametrize("thread", [0, 1])
def test_exclusive_sums_to_the_wall_time(known, thread):
    flat, info = known[0, 0, thread].flat(), written.model("--trace").info()["locations"][thread]
    wall = (info["end"] - info["begin"]) * 1e6
    assert flat[ROOT].incl["TIME"] == pytest.approx(wall, abs=1)
    assert sum(row.excl["TIME"] for row in flat.values()) == pytest.approx(flat[ROOT].incl["TIME"], rel=1e-9)
    paths = known[0, 0, thread].callpaths()
    assert sum(row.excl["TIME"] for row in paths.values()) + flat[ROOT].excl["TIME"] == pytest.approx(
        flat[ROOT].incl["TIME"], rel=1e-9
    )


def test_flat_rows_are_the_model_s(known):
    rows = written.rows("--trace")
    for name, visits in written.VISITS.items():
        key = called(f"__main__:{name}", rows[name]["line"])
        found = [known[0, 0, t].flat()[key] for t in (0, 1) if key in known[0, 0, t].flat()]
        assert sum(row.calls for row in found) == visits + written.RESUMED.get(name, 0)
        assert {"TAU_PYTHON"} == set.union(*(row.groups for row in found))
        for key in ("excl", "incl"):
            assert sum(getattr(row, key)["TIME"] for row in found) == pytest.approx(rows[name][key] * 1e6, rel=1e-9), name


def test_recursion_is_timed_once(known):
    main = known[0, 0, 0]
    fib = called("__main__:fib", written.rows("--trace")["fib"]["line"])
    outer = [row for path, row in main.callpaths().items() if path.count(fib) == 1 and path[-1] == fib]
    assert main.flat()[fib].incl["TIME"] == pytest.approx(sum(row.incl["TIME"] for row in outer))
    assert main.flat()[fib].subrs == main.flat()[fib].calls - 1 == 24


def test_call_paths_add_up(known):
    for thread in known.values():
        flat, paths = thread.flat(), thread.callpaths()
        for path, row in [((ROOT,), flat[ROOT]), *paths.items()]:
            below = [r for p, r in paths.items() if p[:-1] == path]
            assert row.subrs == sum(r.calls for r in below)
            assert row.incl["TIME"] == pytest.approx(row.excl["TIME"] + sum(r.incl["TIME"] for r in below), abs=1e-3)
            assert path[-1] in thread.rows and path[:-1] in ((), (ROOT,), *paths)


def test_parameters_have_rows(known):
    main = called("__main__:main", written.rows("--trace")["main"]["line"])
    name = main + " [ <order> = <-3> ] [ <case> = <small> ]"
    row = known[0, 0, 0].rows[name]
    assert row.groups == {"TAU_PARAM", "TAU_PYTHON"} and row.calls == 1
    assert known[0, 0, 0].flat()[main].calls == 1
    assert any(path[-1] == name for path in known[0, 0, 0].callpaths())


def test_groups_and_names(known):
    flat = known[0, 0, 1].flat()
    assert flat[ROOT].groups == {"TAU_DEFAULT"} and flat[ROOT].calls == 1
    (region,) = [name for name in flat if written.REGION in name]
    assert flat[region].groups == {"TAU_USER"}


def test_counters_are_user_events(known):
    assert known[0, 0, 0].events == {"bytes": (1, 2.5, 2.5, 2.5, 6.25)}
    assert known[0, 0, 1].events == {}


def test_metadata(known):
    (process,) = written.model("--trace").info()["processes"]
    for thread in known.values():
        metadata = thread.metadata
        assert metadata["Hostname"] == metadata["Node Name"] == process["host"]
        assert metadata["pid"] == str(process["pid"])
        assert metadata["OS Machine"] == os.uname().machine and metadata["OS Name"].startswith("Linux ")
        if metadata["OS Machine"] == "x86_64":
            assert metadata["CPU Type"]
        assert metadata["Command Line"] == process["command"] and metadata["CWD"] and metadata["Executable"]
        assert int(metadata["Starting Timestamp"]) < int(metadata["Ending Timestamp"])
    assert known[0, 0, 0].metadata["tid"] != known[0, 0, 1].metadata["tid"]


def test_several_metrics(tmp_path):
    model = written.model(*METRICS)
    found = both(model, tmp_path)
    rows = {row["name"]: row["metrics"] for row in model.flat()}
    counted = [m for m in ("ru_minflt", "ru_utime") if any(row[m]["incl"] for row in rows.values())]
    assert "ru_minflt" in counted  # Linux counts no messages: ru_msgsnd is missing
    off_cpu = {f"MULTI__{m}" for m in ("running", "waiting", "preempted")}
    there = {p.name for p in (tmp_path / "tau").iterdir()}
    assert there - off_cpu == {f"MULTI__{m}" for m in ("TIME", *counted)} and "MULTI__running" in there
    for name in ("__main__:main", "__main__:worker"):
        measured_rows = [row for thread in found.values() for n, row in thread.flat().items() if n.startswith(name + " [")]
        for metric in counted:
            assert sum(row.incl[metric] for row in measured_rows) == pytest.approx(rows[name][metric]["incl"])
    for thread in found.values():
        flat = thread.flat()
        for metric in counted:
            assert sum(row.excl[metric] for row in flat.values()) == pytest.approx(flat[ROOT].incl[metric])


def test_forks_are_nodes(tmp_path):
    source = (
        "import os\n\ndef child(n):\n    return sum(range(n))\n\n"
        "for n in range(3):\n    if not os.fork():\n        child(n)\n        os._exit(0)\n    os.wait()\n"
    )
    model = measure(tmp_path, source)
    found = both(model, tmp_path)
    processes = model.info()["processes"]
    assert sorted(found) == [(n, 0, 0) for n in range(4)]
    for (node, _, _), thread in found.items():
        assert thread.metadata["pid"] == str(processes[node]["pid"])
        assert any(name.startswith("__main__:child [") for name in thread.rows) == processes[node]["forked"]
    one = both(model, tmp_path / "run", process=2)
    assert list(one) == [(2, 0, 0)]


def test_names_that_the_formats_cannot_hold(tmp_path):
    odd = ['quo"ted', "quo'ted", "two\nlines", "an => arrow", "\U0001f600 über", "<tag> & ]]>"]
    names = [*odd, ".TAU application", "[deeper]", "x" * 70000]
    regions = [f"with spartito.region({name!r}):\n    spartito.counter({name!r}, 1)\n" for name in names]
    source = "import spartito\n\n" + "".join(regions)
    found = both(measure(tmp_path, source, "--trace"), tmp_path)[0, 0, 0]
    users = {name: row.calls for name, row in found.flat().items() if "TAU_USER" in row.groups}
    plain = {name.split(" [{")[0]: calls for name, calls in users.items()}
    assert sum(users.values()) == len(names)
    for name in ("quo'ted", "two lines", "an -> arrow", "\U0001f600 über", "<tag> & ]]>"):
        assert name in plain
    assert all(len(name) < 20000 for name in users)
    assert found.flat()[ROOT].calls == 1
    assert sum(event[0] for event in found.events.values()) == len(names)
    assert max(map(len, found.events)) <= 64000


def test_metadata_that_xml_cannot_hold(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("pass\n", encoding="utf-8")
    words = ["a<b & ]]> c", "two\nlines", '"quoted"', "\x01"]
    run = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "run", "--", sys.executable, program, *words]
    subprocess.run(list(map(str, run)), check=True)
    model = Model(str(tmp_path / "run"))
    model.convert("tau", str(tmp_path / "tau"))
    command_line = taufiles.read_text(tmp_path / "tau")[0, 0, 0].metadata["Command Line"]
    assert command_line == model.info()["processes"][0]["command"].replace("\x01", " ")
    assert "two\nlines" in command_line and "a<b & ]]> c" in command_line


def test_deep_recursion_is_cut(tmp_path):
    source = "import sys\nsys.setrecursionlimit(10**6)\n\ndef down(n):\n    return n and down(n - 1)\n\ndown(5000)\n"
    found = both(measure(tmp_path, source), tmp_path)[0, 0, 0]
    flat, paths = found.flat(), found.callpaths()
    assert max(len(" => ".join(path)) for path in paths) <= 64000
    (deep,) = [row for path, row in paths.items() if path[-1] == "[deeper]"]
    assert sum(row.excl["TIME"] for row in paths.values()) + flat[ROOT].excl["TIME"] == pytest.approx(flat[ROOT].incl["TIME"])
    (down,) = [row for name, row in flat.items() if name.startswith("__main__:down ")]
    assert down.calls == 5001 and deep.calls == flat["[deeper]"].calls == 1


def test_nothing_was_called(tmp_path):
    """Only one module body was measured, and it ran already: its row needs a call."""
    found = both(measure(tmp_path, "pass\n", "--exclude", "*"), tmp_path)
    for thread in found.values():
        assert thread.flat()[ROOT].calls == 1
        assert all(row.calls >= 1 for row in thread.rows.values())
