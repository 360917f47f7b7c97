# SPDX-License-Identifier: BSD-3-Clause
"""`pytest --spartito` on small projects: the tables, the experiment, baselines, and that it changes nothing else."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from spartito.analysis import Model
from spartito.pytest import summary
from spartito.pytest.durations import Run
from spartito.pytest.profile import Profile

pytest_plugins = ["pytester"]

SHOP = {
    "shop.py": """
        def square(i):
            return i * i

        def work(n):
            return sum([square(i) for i in range(n)])
    """,
    "conftest.py": """
        import pytest
        from shop import work

        @pytest.fixture(scope="session")
        def database():
            work(300)
            yield 1
            work(70)

        @pytest.fixture
        def cart(database):
            work(50)
    """,
    "test_shop.py": """
        import time
        import pytest
        from shop import work

        def test_fast():
            work(3)

        def test_slow(cart):
            work(20_000)
            time.sleep(0.03)

        @pytest.mark.parametrize("n", [1, 2])
        def test_many(cart, n):
            work(n * 1000)

        def test_fails():
            assert work(2) == 0
    """,
}
NAMES = ("fast", "slow", "many[1]", "many[2]", "fails")
# what a plugin could change: failures of each phase, output, frames, forks, and measurements of the tests
NASTY = {
    "conftest.py": """
        import pytest

        @pytest.fixture
        def broken():
            raise RuntimeError("setup")

        @pytest.fixture
        def nested(request):
            return request.getfixturevalue("broken")

        @pytest.fixture
        def bad_end():
            yield
            raise RuntimeError("teardown")

        @pytest.fixture(params=[1, 2], scope="module")
        def value(request):
            yield request.param
    """,
    "test_nasty.py": """
        import os, sys, unittest
        import pytest

        def test_setup(nested): pass
        def test_teardown(bad_end): pass
        def test_value(value): assert value == 1
        def test_skip(): pytest.skip("no")
        def test_exit(): raise SystemExit(3)
        def test_chdir(tmp_path): os.chdir(tmp_path)
        def test_frame(): assert sys._getframe(1).f_code.co_name == "pytest_pyfunc_call"

        def test_output():
            print("on standard output")
            os.write(2, b"on standard error")
            assert False

        @pytest.mark.xfail
        def test_xfail(): assert False

        def test_fork():
            pid = os.fork()
            if not pid:
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0

        class TestUnit(unittest.TestCase):
            def setUp(self): self.x = 1
            def test_unit(self): self.assertEqual(self.x, 2)
    """,
    "test_own.py": """
        import spartito

        def regions(directory):
            return set(spartito.load(directory).as_dict("regions")["region"])

        def test_start(tmp_path):
            spartito.start(str(tmp_path / "run"))
            with spartito.region("mine"):
                pass
            spartito.stop()
            assert not spartito.load(tmp_path / "run").warnings
            assert "mine" in regions(tmp_path / "run") and not {"call", "teardown"} & regions(tmp_path / "run")

        def test_measure(tmp_path):
            with spartito.measure(str(tmp_path / "run")), spartito.region("mine"):
                pass
            assert "mine" in regions(tmp_path / "run")

        def test_left_open(tmp_path):
            spartito.start(str(tmp_path / "run"))

        def test_stop():
            spartito.stop()

        def test_pause():
            spartito.pause()

        def test_last():
            sum([n for n in range(10)])
    """,
}


def project(folder, files):
    for name, text in files.items():
        lines = text.strip("\n").splitlines()
        (folder / name).write_text("\n".join(line[8:] for line in lines) + "\n")


def session(folder, *options, launcher=()):
    """Runs pytest there. Returns its exit status and its output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "SPARTITO_"))}
    command = [*launcher, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def plain(output):
    """The output without times, addresses, temporary directories and the part of Spartito."""
    output = re.sub(r"^=+ spartito =+\n(?:.*\n)*?(?==+ )", "", output, flags=re.MULTILINE)
    output = re.sub(r"pytest-\d+/|pytest-of-\w+|0x[0-9a-f]+|in [0-9.]+s", "", output)
    return re.sub(r"=+", "=", output)


def calls(model):
    """Visits of regions by call path, such as ("test_shop.py::test_fast", "call", "test_shop:test_fast")."""
    found, above = {}, []
    for row in model.tree():
        del above[row["depth"]:]
        above.append(row["name"])
        found[tuple(above)] = row["visits"]
    return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A session of SHOP in one process: its folder, exit status and output."""
    folder = tmp_path_factory.mktemp("shop")
    project(folder, SHOP)
    return folder, *session(folder, "--spartito", "--spartito-dir=run", "--spartito-save=base.json", "--spartito-top=3")


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


def test_the_tables(measured):
    folder, status, output = measured
    assert status == 1 and "1 failed, 4 passed" in output
    rows = re.findall(r"^ *([\d.]+ \S+) .*  (\S+) +(test_shop.py::\S+)$", output, re.MULTILINE)
    totals = [seconds(total) for total, _, _ in rows]
    assert len(rows) == 3 and totals == sorted(totals, reverse=True)
    profile = Profile(str(folder / "run"), {f"test_shop.py::test_{name}" for name in NAMES})
    assert [profile.tests[test].function for _, _, test in rows] == [function for _, function, _ in rows]
    assert {name: f.setups for name, f in profile.fixtures.items() if "conftest" in name} == {
        "conftest.py::database (session)": 1, "conftest.py::cart": 3,
    }
    assert f"next: spartito report tree --match {shlex.quote(rows[0][2])} run\n" in output
    assert "5 tests took" in output and "experiment: run (1 process)" in output


def test_the_function_with_the_most_time(measured):
    """Only in the phases of a test: pytest works for it between them, too."""
    model = Model(str(measured[0] / "run"))
    times, above = {}, []
    for row in model.tree():
        del above[row["depth"]:]
        above.append(row["name"])
        if row["kind"] != "user" and len(above) > 2 and above[1] in ("setup", "call", "teardown"):
            of_test = times.setdefault(above[0], {})
            of_test[row["name"]] = of_test.get(row["name"], 0) + row["running"]
    found = Profile(str(measured[0] / "run"), set(times)).tests
    assert len(times) == 5
    for test, functions in times.items():
        assert found[test].function == max(functions, key=functions.get)
        assert found[test].longest == pytest.approx(max(functions.values()), rel=1e-4)  # in ns


def test_running_and_waiting(measured, tmp_path):
    """A function that waits is not the one with the most, however long it waits."""
    (tmp_path / "test_waits.py").write_text(
        "import time\n"
        "def compute():\n    for i in range(300_000): i * i\n"
        "def pause(): time.sleep(0.4)\n"
        "def test_waits():\n    pause()\n    compute()\n"
    )
    status, output = session(tmp_path, "--spartito", "--spartito-dir=run")
    assert status == 0
    assert re.search(r"^ +total +call +fixtures +waiting +running +% +function with the most +test$", output, re.MULTILINE)
    row = r"^ *(\S+ \S+) +\S+ \S+ +\S+ \S+ +(\S+ \S+) +(\S+ \S+) +(\S+)  (\S+) +test_waits.py::test_waits$"
    total, waiting, running, share, function = re.search(row, output, re.MULTILINE).groups()
    assert function == "test_waits:compute" and float(share) > 50
    assert seconds(waiting) >= 0.4 and seconds(waiting) + seconds(running) <= seconds(total) * 1.001
    name = "test_waits.py::test_waits"
    found = Profile(str(tmp_path / "run"), {name}).tests[name]
    rows = [row for row in Model(str(tmp_path / "run")).tree() if row["name"].startswith("test_waits:")]
    assert found.waiting == pytest.approx(sum(row["waiting"] for row in rows), rel=0.05)
    # a test of another session
    assert not Profile(str(measured[0] / "run"), {name}).tests


def test_repeated_runs_are_means(tmp_path):
    """Each worker runs the test."""
    (tmp_path / "test_waits.py").write_text("import time\ndef test_waits(): time.sleep(0.2)\n")
    status, output = session(tmp_path, "-n2", "--dist=each", "--spartito")
    row = r"^ *(\S+ \S+) +\S+ \S+ +\S+ \S+ +2 +(\S+ \S+) +.* +test_waits.py::test_waits$"
    total, waiting = re.search(row, output, re.MULTILINE).groups()
    assert status == 0 and 0.2 <= seconds(waiting) <= seconds(total) < 0.4


def test_without_off_cpu_time_the_table_has_self_time(measured, monkeypatch):
    """As for a session that an older version recorded."""
    model = Model(str(measured[0] / "run"))

    class Older:
        def __init__(self, directory):
            pass

        def __getattr__(self, name):
            return getattr(model, name)

        def info(self):
            return {**model.info(), "metrics": []}

    monkeypatch.setattr("spartito.pytest.profile.Model", Older)
    name = "test_shop.py::test_slow"
    profile = Profile("run", {name})
    assert not profile.split and profile.tests[name].function == "test_shop:test_slow"  # it sleeps
    assert profile.tests[name].waiting == 0 and profile.tests[name].longest >= 0.03
    run = Run()
    run.seconds["call"] = 0.1
    table = summary._tests({name: [run]}, profile, 1)
    assert table[0].split() == ["total", "call", "fixtures", "self", "time", "%", "function", "with", "the", "most", "test"]
    cell = re.findall(r"\S+ [mµ]?s", table[1])[-1]
    assert seconds(cell) == pytest.approx(profile.tests[name].longest, rel=1e-3)


def test_findings_name_their_test(tmp_path):
    (tmp_path / "test_calls.py").write_text(
        # its time is several times the cost of measuring, which is subtracted before it is judged
        "def small(x):\n    for d in (3, 5, 7, 11, 13, 17, 19, 23): x = x * 31 % d\n    return x\n"
        "def loop():\n    for i in range(500_000): small(i)\n"
        "def test_calls(): loop()\n"
    )
    status, output = session(tmp_path, "--spartito")
    assert status == 0
    assert re.search("^finding in test_calls.py::test_calls: test_calls:small is small .*saves at most", output, re.MULTILINE)
    (place,) = tmp_path.glob("spartito-pytest-*")
    assert f"spartito report findings {place.name} shows the evidence of findings, and what to try\n" in output


def test_each_test_of_the_table_has_its_first_finding(tmp_path):
    """Also beyond the largest ones of the session."""
    body = "    for d in (3, 5, 7, 11, 13, 17, 19, 23) * 2: x = x * 31 % d\n    return x\n"  # see above
    functions = "".join(
        f"def small{n}(x):\n{body}def loop{n}():\n    for i in range(400_000): small{n}(i)\ndef test_calls{n}(): loop{n}()\n"
        for n in range(5)
    )
    (tmp_path / "test_calls.py").write_text(functions)
    status, output = session(tmp_path, "--spartito", "--spartito-dir=run", "--spartito-top=4")
    assert status == 0
    tests = [f"test_calls.py::test_calls{n}" for n in range(5)]

    def of(shown):
        return [re.match("finding in (.*?): ", line)[1] for line in Profile(str(tmp_path / "run"), tests, shown).findings]

    first = of(())
    assert len(first) == len(set(first)) == 3
    assert all(sorted(of([test])) == sorted({*first, test}) for test in tests)
    shown = re.findall(r"^ *[\d.]+ m?s .* (test_calls.py::test_calls\d)$", output, re.MULTILINE)
    assert len(shown) == 4 and re.findall("^finding in (.*?): ", output, re.MULTILINE) == of(shown)


def test_each_test_is_a_region_with_its_phases(measured):
    model = Model(str(measured[0] / "run"))
    assert not model.info()["problems"]
    visits = calls(model)
    for name in NAMES:
        test = f"test_shop.py::test_{name}"
        assert [visits[(test, *phase)] for phase in ((), ("setup",), ("call",), ("teardown",))] == [1, 1, 1, 1]
    work = ("shop:work", *[name for name in ("shop:work.<locals>.<listcomp>",) if sys.version_info < (3, 12)], "shop:square")
    setup, database, cart = "setup", "fixture conftest.py::database (session)", "fixture conftest.py::cart"
    assert visits[("test_shop.py::test_slow", "call", "test_shop:test_slow", *work)] == 20_000
    assert visits[("test_shop.py::test_slow", setup, cart, "conftest:cart", *work)] == 50
    assert visits[("test_shop.py::test_slow", setup, database, "conftest:database", *work)] == 300
    assert visits[("test_shop.py::test_fails", "teardown", database + " teardown", "conftest:database", *work)] == 70
    assert not [row for row in model.flat() if row["module"].split(".")[0] in ("_pytest", "pluggy", "spartito")]
    assert calls(model)[("collection",)] == 1


def test_the_call_tree_of_one_test(measured, spartito):
    folder = measured[0]
    name = "test_shop.py::test_many[1]"

    def tree(*options):
        command = [*spartito, "report", "tree", "run", "--json", *options]
        return json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)["rows"]

    whole = tree("--threshold", "0")
    first = next(i for i, row in enumerate(whole) if row["name"] == name)
    last = next((i for i, row in enumerate(whole) if i > first and row["depth"] == 0), len(whole))
    part = tree("--threshold", "0", "--match", name)
    assert [(row["path"], row["depth"], row["incl"]) for row in part] == [
        (row["path"], row["depth"], row["incl"]) for row in whole[first:last]
    ]
    two = tree("--match", name, "--threshold", "0", "--depth", "2")
    assert {name, "setup", "call", "teardown"} <= {row["name"] for row in two} and {row["depth"] for row in two} == {0, 1}
    assert sum(row["hidden"] for row in two) + len(two) == len(part)
    some = tree("--match", "test_shop.py::test_many*", "--limit", "1")
    assert [row["kind"] for row in some] == ["root", "user"] and sum(row["hidden"] for row in some) > len(part)


def test_xdist_workers_record_into_one_experiment(tmp_path):
    """Also of a worker that crashes."""
    crash = {"test_crash.py": "        import os\n\n        def test_crash():\n            os._exit(3)\n"}
    project(tmp_path, {**SHOP, **crash})
    status, output = session(tmp_path, "-n2", "--spartito", "--spartito-dir=run", "--spartito-save=base.json")
    assert status == 1 and output.count("function with the most") == 1
    visits = calls(Model(str(tmp_path / "run")))
    tests = [path[0] for path in visits if len(path) == 1 and "::" in path[0]]
    assert len(tests) == 6 and all(visits[(test,)] == 1 for test in tests)
    assert "experiment: run (3 processes)" in output  # pytest-xdist replaces the worker
    assert {test: len(runs) for test, runs in json.loads((tmp_path / "base.json").read_text())["tests"].items()} == {
        f"test_shop.py::test_{name}": 1 for name in ("fast", "slow", "many[1]", "many[2]")
    }


def test_a_limit_against_a_baseline(measured, tmp_path):
    project(tmp_path, SHOP)
    base = json.loads((measured[0] / "base.json").read_text())
    assert "test_shop.py::test_fails" not in base["tests"]
    compare = ["--spartito", "--spartito-dir=run", "--spartito-baseline=base.json", "--spartito-fail-above=100%"]
    compare.append("--deselect=test_shop.py::test_fails")

    def result(call):
        tests = {test: [[0, call, 0]] for test in [*base["tests"], "test_shop.py::test_gone"] if test != "test_shop.py::test_fast"}
        (tmp_path / "base.json").write_text(json.dumps({**base, "tests": tests}))
        subprocess.run(["rm", "-rf", tmp_path / "run"], check=True)
        return session(tmp_path, *compare)

    status, output = result(0.01)
    assert status == 1 and "4 passed" in output
    assert re.search(r"--spartito-fail-above: test_shop.py::test_slow took .* \(10.00 ms → .*\), above 100 %", output)
    assert "1 test is new, not in the baseline: test_shop.py::test_fast" in output
    assert "1 test of the baseline did not run: test_shop.py::test_gone" in output
    assert json.loads((tmp_path / "run" / "experiment.json").read_text())["status"] == 1
    status, output = result(1000)
    assert status == 0 and "--spartito-fail-above:" not in output


def test_it_changes_nothing_else(tmp_path):
    project(tmp_path, NASTY)
    without, given = session(tmp_path, "-rA", "-p", "no:spartito"), session(tmp_path, "-rA")
    assert without[0] == 1 and plain(without[1]) == plain(given[1])
    status, output = session(tmp_path, "-rA", "--spartito", "--spartito-dir=run")
    assert (status, plain(output)) == (1, plain(without[1]))
    # after a test that stopped the measurement, it continues
    visits = calls(Model(str(tmp_path / "run")))
    assert visits[("test_own.py::test_last", "call", "test_own:test_last")] == 1
    assert ("test_own.py::test_stop", "teardown") in visits


def test_a_session_that_is_measured_already(tmp_path, spartito):
    project(tmp_path, SHOP)
    launcher = [*spartito, "run", "-q", "-o", "outer", "--"]
    status, output = session(tmp_path, "-W", "error", "--spartito", launcher=launcher)
    assert status == 1 and "this session is measured already, into outer" in output
    assert set(os.listdir(tmp_path)) - {"__pycache__"} == {*SHOP, "outer"}
    paths = [path for path in calls(Model(str(tmp_path / "outer"))) if path[-1] == "test_shop:test_slow"]
    assert len(paths) == 1 and [name for name in paths[0] if name in ("call", "test_shop.py::test_slow")] == [
        "test_shop.py::test_slow", "call",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--spartito-top=3"], "--spartito-top needs --spartito"),
        (["--spartito", "--spartito-fail-above=5"], "--spartito-fail-above needs --spartito-baseline FILE"),
        (["--spartito", "--spartito-baseline=shop.py"], "shop.py is not a file that --spartito-save wrote"),
        (["--spartito", "--spartito-dir=."], "already exists and is not empty"),
        (["--spartito", "--spartito-save=no/base.json"], "is not a file in an existing directory"),
    ],
)
def test_wrong_options(pytester, options, message):
    pytester.makepyfile(shop="")
    result = pytester.runpytest_inprocess(*options)
    assert result.ret == 4
    result.stderr.fnmatch_lines(f"*{message}*")
    assert set(os.listdir(pytester.path)) - {"__pycache__"} == {"shop.py"}


def test_it_loads_nothing_without_its_option():
    code = "import sys, pytest; before = set(sys.modules); import spartito.pytest.plugin; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    assert loaded == ["spartito", "spartito._measure", "spartito._version", "spartito.pytest", "spartito.pytest.plugin"]
