# SPDX-License-Identifier: BSD-3-Clause
"""Metrics read at each enter and leave: their values belong to the right function, in the profile and in the trace."""

import os
import shutil
import subprocess
import sys

import pytest
from commandline import run
from conftest import ROOT
from programs import Program, find
from rawmetrics import Paths, raws, recorded, replayed
from spartito import _measure

COUNTABLE = {name for name, _, why in _measure.metrics() if why is None}
PERF = [name for name in ("perf:page-faults", "perf:task-clock") if name in COUNTABLE]
# the first access to a page is a page fault in any case
PAGES = 3000
TOUCH = f"""
import mmap, os
def touch(n={PAGES}):
    m = mmap.mmap(-1, n * mmap.PAGESIZE)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    for i in range(0, n * mmap.PAGESIZE, mmap.PAGESIZE):
        m[i] = 1
"""
needs_touch = pytest.mark.skipif(not hasattr(__import__("mmap"), "MADV_NOHUGEPAGE"), reason="pages may be huge")


FAKE = ROOT / "tests" / "native" / "papi.c"


@pytest.fixture(scope="module")
def fake_papi(tmp_path_factory):
    """A fake libpapi whose counters count how often they are read."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        pytest.skip("no compiler")
    directory = tmp_path_factory.mktemp("papi")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", directory / "libpapi.so", FAKE], check=True)
    return {**os.environ, "LD_LIBRARY_PATH": str(directory)}


def measure(spartito, tmp_path, text, *options, metrics="rusage:ru_minflt", **keywords):
    (tmp_path / "program.py").write_text(TOUCH + text)
    done = run(spartito, "run", "-q", "-o", "x", "--metric", metrics, *options, "--", sys.executable, "program.py",
               cwd=tmp_path, **keywords)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return raws(tmp_path / "x")


def agree(raw):
    """Checks that profile and trace of each location have the same sums; returns their number."""
    n, found = len(raw.metrics), 0
    for location in raw.locations.values():
        if location.nodes:
            paths = Paths()
            sums = replayed(location, n, paths)
            assert sums == recorded(location, n, paths)
            found += len(sums)
    return found


def test_definitions(spartito, tmp_path):
    (raw,) = measure(spartito, tmp_path, "touch()\n", metrics="rusage:ru_utime,rusage:ru_maxrss,rusage:ru_utime")
    assert raw.metrics == [("ru_utime", "s", -6, "user CPU time used", 0),
                           ("ru_maxrss", "kB", 0, "maximum resident set size", 0x200)]


def test_all_of_rusage(spartito, tmp_path):
    (raw,) = measure(spartito, tmp_path, "touch()\n", "--trace", metrics="rusage:all")
    assert len(raw.metrics) == 16 and len({m[0] for m in raw.metrics}) == 16
    assert agree(raw)


@needs_touch
@pytest.mark.parametrize("metric", ["rusage:ru_minflt", "perf:page-faults", "perf:minor-faults"])
def test_values_are_those_of_the_function(spartito, tmp_path, metric):
    if metric not in COUNTABLE:
        pytest.skip(f"{metric} cannot be counted here")
    text = "def caller():\n    for _ in range(3):\n        touch()\ndef idle():\n    pass\ncaller()\nidle()\n"
    (raw,) = measure(spartito, tmp_path, text, metrics=metric)
    totals = raw.totals(0)
    assert 3 * PAGES <= totals["__main__:touch"] <= totals["__main__:caller"] < 3 * PAGES + 2000
    assert totals["__main__:idle"] < 100


@needs_touch
def test_a_suspended_generator_does_not_count(spartito, tmp_path):
    text = ("def g():\n    touch(1000)\n    yield 1\n    touch(1000)\n    yield 2\n"
            "def main():\n    for _ in g():\n        touch(10000)\nmain()\n")
    (raw,) = measure(spartito, tmp_path, text, "--trace")
    assert 2000 <= raw.totals(0)["__main__:g"] < 3000
    assert raw.totals(0)["__main__:main"] >= 22000
    assert agree(raw)


@needs_touch
def test_user_regions_in_a_suspended_generator(spartito, tmp_path):
    text = ("import spartito\ndef g():\n    with spartito.region('part'):\n"
            "        touch(1000)\n        yield 1\n        touch(1000)\n"
            "def main():\n    for _ in g():\n        touch(10000)\nmain()\n")
    (raw,) = measure(spartito, tmp_path, text, "--trace")
    assert 2000 <= raw.totals(0)["part"] < 3000
    assert agree(raw)


@needs_touch
def test_threads_count_for_themselves(spartito, tmp_path):
    text = ("import threading\ndef work():\n    touch(5000)\ndef main():\n    t = threading.Thread(target=work)\n"
            "    t.start()\n    t.join()\nmain()\n")
    (raw,) = measure(spartito, tmp_path, text, "--trace", metrics=",".join(["rusage:ru_minflt", *PERF]))
    for name in ["ru_minflt", "page-faults"] if PERF else ["ru_minflt"]:
        totals = raw.totals(raw.column(name))
        assert totals["__main__:work"] >= 5000 and totals["__main__:main"] < 5000
    assert len(raw.locations) >= 2 and agree(raw)


FORK = ("def child():\n    touch(5000)\ndef main():\n    pid = os.fork()\n    if pid == 0:\n        child()\n        os._exit(0)\n"
        "    os.waitpid(pid, 0)\n    touch(2000)\nmain()\n")


@needs_touch
def test_counters_of_a_forked_child_begin_at_zero(spartito, tmp_path):
    parent, child = sorted(measure(spartito, tmp_path, FORK, "--trace", metrics=",".join(["rusage:ru_minflt", *PERF])),
                           key=lambda raw: "parent" in raw.meta)
    for name in ["ru_minflt", "page-faults"] if PERF else ["ru_minflt"]:
        column = parent.column(name)
        assert parent.totals(column)["__main__:child"] == 0 and parent.totals(column)["__main__:touch"] >= 2000
        assert parent.totals(column)["__main__:main"] < 5000
        assert child.totals(column)["__main__:child"] >= 5000
    assert agree(parent)


@needs_touch
def test_a_pause_does_not_count(spartito, tmp_path):
    text = ("import spartito, threading\n"
            "def paused():\n    touch(1000)\n    spartito.pause()\n    touch(20000)\n    spartito.resume()\n    touch(1000)\n"
            "def other(there, go, done, again):\n    touch(1000)\n    there.set()\n"
            "    go.wait()\n    touch(20000)\n    done.set()\n    again.wait()\n    touch(1000)\n"
            "paused()\n"
            "there, go, done, again = (threading.Event() for _ in range(4))\n"
            "t = threading.Thread(target=other, args=(there, go, done, again))\nt.start()\n"
            "there.wait()\nspartito.pause()\ngo.set()\ndone.wait()\nspartito.resume()\nagain.set()\nt.join()\n")
    (raw,) = measure(spartito, tmp_path, text, "--trace")
    assert 2000 <= raw.totals(0)["__main__:paused"] < 10000
    assert 2000 <= raw.totals(0)["__main__:other"] < 10000
    assert raw.totals(0)["__main__:<module>"] < 10000


@needs_touch
def test_deeper_than_the_profile(spartito, tmp_path):
    text = ("def f(n):\n    touch(500)\n    if n:\n        f(n - 1)\nf(10)\n")
    for options in ({}, {"SPARTITO_PROFILE_DEPTH": "4"}):
        (raw,) = measure(spartito, tmp_path, text, "--trace", env={**os.environ, **options})
        assert 5500 <= raw.totals(0)["__main__:f"] < 7000
        shutil.rmtree(tmp_path / "x")
    assert 4500 <= raw.totals(0)["COLLAPSED"] < 6000


@needs_touch
def test_values_of_a_parameter_divide_a_call(spartito, tmp_path):
    text = ("import spartito\ndef f():\n    touch(1000)\n    for n in (1, 2):\n        spartito.parameter('n', n)\n"
            "        touch(2000 * n)\nf()\n")
    (raw,) = measure(spartito, tmp_path, text)
    (location,) = raw.locations.values()
    nodes = [n for n in location.nodes if n and raw.regions.get(n[1]) == "__main__:f"]
    assert [n[5][0] // 1000 for n in nodes] == [1, 2, 4]


@pytest.mark.parametrize("name", ["functions", "generators", "coroutines", "async_generators", "exceptions", "recursion",
                                  "threads", "own_greenlet", "depth_limited", "fork", "deep_recursion",
                                  "recursion_error", "c_calls", "own_restart_events"])
def test_programs(spartito, tmp_path, name, fake_papi):
    program = Program(find(name))
    if program.wrong_python():
        pytest.skip(program.wrong_python())
    if "needs" in program:
        pytest.importorskip(program.values["needs"])
    # PAPI_TOT_CYC of the fake libpapi counts reads, so even the shortest program has a value
    metrics = ",".join(["papi:PAPI_TOT_CYC", "rusage:ru_minflt", "rusage:ru_utime", *PERF])
    options = program.values.get("options", "").split()
    done = run(spartito, "run", "-q", "--trace", "-o", tmp_path / "x", "--metric", metrics, *options, "--", sys.executable,
               program.path, *program.values.get("args", "").split(), cwd=tmp_path, input=program.stdin().decode(), timeout=120,
               env=fake_papi)
    assert done.returncode == program.exit_status(), done.stderr
    found = sum(map(agree, raws(tmp_path / "x")))
    assert found > 0


def test_collapsed_paths_count_once(spartito, tmp_path, fake_papi):
    text = ("names = [f'f{i}' for i in range(30000)]\nlast = touch\n"
            "for name in names:\n    d = {}\n    exec(f'def {name}(f): return f()', d)\n    d[name](lambda: None)\n")
    (raw,) = measure(spartito, tmp_path, text, "--trace-memory", "256K", metrics="papi:PAPI_TOT_CYC", env=fake_papi)
    collapsed = raw.totals(0)["(call paths beyond the memory limit)"]
    assert 0 < collapsed <= raw.totals(0)["__main__:<module>"]


# ---- metrics that cannot be counted or do not exist ----


@pytest.mark.parametrize(("metrics", "message"), [
    ("rusage:ru_nothing", "--metric: 'rusage:ru_nothing': getrusage(2) counts no such thing"),
    ("perf:nothing", "--metric: 'perf:nothing': no such event"),
    ("bogus:cycles", "--metric: 'bogus:cycles': there is no source bogus; there are rusage, papi and perf"),
    ("cycles", "--metric: 'cycles' is not SOURCE:NAME"),
    ("perf:", "--metric: 'perf:' is not SOURCE:NAME"),
    (",".join(f"perf:r{n:x}" for n in range(65)), "--metric: these are more than 64 metrics"),
])
def test_unknown_names_are_refused_before_the_start(spartito, tmp_path, metrics, message):
    done = run(spartito, "run", "-o", "x", "--metric", metrics, "--", sys.executable, "-c", "print('ran')", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") <= 2
    assert not (tmp_path / "x").exists()


def test_unknown_name_in_the_variable_of_a_process(tmp_path):
    (tmp_path / "x" / "raw").mkdir(parents=True)
    environment = {**os.environ, "SPARTITO_EXPERIMENT": str(tmp_path / "x"), "SPARTITO_METRICS": "rusage:no"}
    subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True)
    (error,) = (tmp_path / "x" / "raw").glob("*.error")
    assert error.read_text() == "metrics: 'rusage:no': getrusage(2) counts no such thing\n"


def uncountable():
    missing = [name for name, _, why in _measure.metrics() if why]
    if not missing:
        pytest.skip("everything can be counted here")
    return missing[0]


def test_uncountable_is_reported_once_and_the_run_continues(spartito, tmp_path):
    name = uncountable()
    (tmp_path / "program.py").write_text("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'])\n")
    done = run(spartito, "run", "-o", "x", "--metric", name, "--metric", "rusage:ru_utime", "--", sys.executable,
               "program.py", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count(f"{name} cannot be counted here: ") == 1
    found = raws(tmp_path / "x")
    assert len(found) == 2 and all([m[0] for m in raw.metrics] == ["ru_utime"] for raw in found)
    done = run(spartito, "report", "x", cwd=tmp_path)
    assert done.stderr.count(f"{name} cannot be counted here: ") == 1


def test_uncountable_is_reported_with_quiet_too(spartito, tmp_path):
    name = uncountable()
    done = run(spartito, "run", "-q", "-o", "x", "--metric", name, "--", sys.executable, "-c", "pass", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr.startswith(f"spartito: {name} cannot be counted here: ")
    assert done.stderr.count("\n") == 1


# ---- metrics chosen by the API and the project file ----


def test_api_and_project_file(spartito, tmp_path):
    text = ("import spartito\nspartito.start('y', metrics=['rusage:ru_minflt', 'rusage:ru_utime'])\n"
            "def f():\n    pass\nf()\nspartito.stop()\n"
            "spartito.start('z')\nf()\nspartito.stop()\n"
            "try:\n    spartito.start('w', metrics='perf:nothing')\nexcept ValueError as e:\n    print(e)\n")
    (tmp_path / "program.py").write_text(text)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("metrics: 'perf:nothing': no such event")
    (raw,) = raws(tmp_path / "y")
    assert [m[0] for m in raw.metrics] == ["ru_minflt", "ru_utime"]
    (raw,) = raws(tmp_path / "z")
    assert raw.metrics == [] and "__main__:f" in raw.regions.values()
    (tmp_path / "pyproject.toml").write_text('[tool.spartito]\nmetrics = ["rusage:ru_utime", "rusage:ru_stime"]\n')
    done = run(spartito, "config", cwd=tmp_path)
    assert "rusage:ru_utime,rusage:ru_stime" in done.stdout


def test_doctor_lists_them(spartito):
    done = run(spartito, "doctor")
    assert "ok   metrics of rusage: ru_utime ru_stime ru_maxrss" in done.stdout
    assert "metrics of perf" in done.stdout and "metrics of papi" in done.stdout


# ---- effects on the program ----


@pytest.mark.skipif(not PERF, reason="no perf events here")
def test_descriptors_are_neither_inherited_nor_confused(spartito, tmp_path):
    text = """
import os, subprocess, sys
look = "import os; print([os.path.realpath('/proc/self/fd/' + f) for f in os.listdir('/proc/self/fd')])"
def g():
    pass
def f(r, w):
    os.write(w, b'x' * 60000)
    for _ in range(100):
        g()
    return os.read(r, 60000)
subprocess.run([sys.executable, '-S', '-c', look], close_fds=False)
os.closerange(3, 1 << 20)
pipes = [os.pipe() for _ in range(200)]
for r, w in pipes:
    assert f(r, w) == b'x' * 60000
"""
    (tmp_path / "program.py").write_text(text)
    metrics = ",".join(PERF)
    done = run(spartito, "run", "-o", "x", "--metric", metrics, "--", sys.executable, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "perf_event" not in done.stdout and done.stdout.startswith("[")
    assert "metrics could not be read to the end: Bad file descriptor" in done.stderr


def test_papi_counts_from_enter_to_leave(spartito, tmp_path, fake_papi):
    text = "def inner():\n    pass\ndef outer():\n    inner()\n    inner()\nouter()\n"
    (raw,) = measure(spartito, tmp_path, text, "--trace", metrics="papi:PAPI_TOT_CYC,papi:fake::SECOND", env=fake_papi)
    assert raw.metrics == [("PAPI_TOT_CYC", "#", 0, "Total cycles", 1), ("fake::SECOND", "#", 0, "A second one", 1)]
    # The counter is read once at each event: it grows by 1 between enter and leave of inner, by 5 for outer.
    assert raw.totals(0)["__main__:inner"] == 2 and raw.totals(0)["__main__:outer"] == 5
    assert raw.totals(1)["__main__:outer"] == 5000
    assert agree(raw)


def test_papi_and_fork(spartito, tmp_path, fake_papi):
    text = ("def f():\n    pass\ndef main():\n    f()\n    pid = os.fork()\n    f()\n    if not pid:\n        os._exit(0)\n"
            "    os.waitpid(pid, 0)\nmain()\n")
    parent, child = sorted(measure(spartito, tmp_path, text, "--trace", metrics="papi:PAPI_TOT_CYC", env=fake_papi),
                           key=lambda raw: "parent" in raw.meta)
    assert parent.totals(0)["__main__:f"] == 2 and parent.totals(0)["__main__:main"] == 5
    assert child.totals(0)["__main__:f"] == 1
    assert agree(parent)


def test_papi_refuses_and_lacks(spartito, tmp_path, fake_papi):
    done = run(spartito, "run", "-o", "x", "--metric", "papi:PAPI_NOTHING", "--", sys.executable, "-c", "pass", cwd=tmp_path,
               env=fake_papi)
    assert done.returncode == 2 and "'papi:PAPI_NOTHING': PAPI has no such event" in done.stderr
    done = run(spartito, "run", "-q", "-o", "x", "--metric", "papi:PAPI_BROKEN", "--", sys.executable, "-c", "pass",
               cwd=tmp_path, env=fake_papi)
    assert done.returncode == 0
    assert done.stderr == "spartito: papi:PAPI_BROKEN cannot be counted here: PAPI says: Event does not exist\n"
