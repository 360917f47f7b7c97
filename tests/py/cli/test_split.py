# SPDX-License-Identifier: BSD-3-Clause
"""Times split into running and waiting, in the reports of call paths: the tree, and callers."""

import io
import json
import re
import sys

import pytest
from commandline import run
from spartito.analysis import Model
from spartito.base.text import Output
from spartito.report import calltable

# eight idle threads make 1 % of all time longer than 1 % of the running time
PROGRAM = """
import queue, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def small():
    burn(0.004)
def nap():
    time.sleep(0.3)
def both():
    nap()
    burn(0.1)
    small()
idle = queue.Queue()
for _ in range(8):
    threading.Thread(target=idle.get, daemon=True).start()
both()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("split")
    (place / "program.py").write_text(PROGRAM)
    done = run([sys.executable, "-m", "spartito"], "run", "-q", "-o", "run", "--", sys.executable, "program.py", cwd=place)
    assert done.returncode == 0, done.stderr
    return place / "run"


def report(spartito, *words):
    done = run(spartito, "report", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tree(spartito, made):
    model = Model(str(made))
    info = model.info()
    running, busy = (sum(loc[key] for loc in info["locations"]) for key in ("running", "busy"))
    text = report(spartito, "tree", made)
    assert re.match(r" +running +running % +waiting +total +self running +calls ", text), text
    rows = json.loads(report(spartito, "tree", "--json", made))["rows"]
    names = [row["name"] for row in rows]
    # what runs stands above what waits for longer, and idle threads hide nothing
    assert names.index("__main__:burn") < names.index("__main__:small") < names.index("__main__:nap")
    small = next(row for row in rows if row["name"] == "__main__:small")
    assert 0.01 * running < small["incl"] < 0.01 * busy
    shown = next(line for line in text.splitlines() if line.endswith("__main__:both"))
    assert float(re.findall(r" (\d+\.\d) ", shown)[0]) == pytest.approx(
        100 * next(row for row in rows if row["name"] == "__main__:both")["running_incl"] / running, abs=0.1
    )


def test_tree_adds_up(made):
    """Inclusive times are those of the metrics; hidden paths have the rest of their caller's."""
    model = Model(str(made))
    rows = model.tree()
    for row in rows:
        for key in ("running", "waiting"):
            assert row[f"{key}_incl"] == pytest.approx(row["metrics"][key]["incl"] * 1e-9, rel=1e-3, abs=1e-6)
            assert row[f"{key}_incl"] >= row[key] * (1 - 1e-9)
    below = {}
    for row in rows:
        below.setdefault(row["parent"], []).append(row)
    for row in model.tree(depth=2):
        for key in ("running", "waiting"):
            hidden = sum(child[f"{key}_incl"] for child in below.get(row["path"], ())) if row["hidden"] else 0
            assert row[f"hidden_{key}"] == pytest.approx(hidden)
    main = next(row for row in model.tree(sort="waiting") if row["name"] == "__main__:both")
    assert [row["name"] for row in model.tree(sort="waiting") if row["parent"] == main["path"]][0] == "__main__:nap"


def test_match(spartito, made):
    """The matching paths are 100 %, of their running time."""
    text = report(spartito, "tree", "--match", "__main__:both", made)
    assert re.search(r"^ *\S+ \S+ +100\.0 .* __main__:both$", text, re.M), text
    rows = json.loads(report(spartito, "tree", "--match", "__main__:both", "--threshold", "50", "--json", made))["rows"]
    assert {"__main__:both", "__main__:burn", "__main__:nap"} == {row["name"] for row in rows}
    assert rows[0]["hidden"] > 0 and rows[0]["hidden_running"] > 0.003


def test_callers(spartito, made):
    text = report(spartito, "callers", "--match", "__main__:nap", made)
    assert re.match(r" +running +waiting +total +self running +calls ", text), text
    found = json.loads(report(spartito, "callers", "--match", "__main__:nap", "--json", made))["callers"]
    region = found[0]["region"]
    assert region["waiting"] > 0.2 and region["running"] < 0.1


def columns(write, *arguments):
    out = Output(io.StringIO())
    lines = []
    out.table = lambda columns, rows: lines.append([column.title for column in columns])
    write(out, *arguments)
    return lines[0]


@pytest.mark.parametrize("preempted", [0.004, 0.01])
def test_preempted_has_a_column_where_it_matters(made, preempted):
    """From 5 % of the time in which the threads could run. What threads wait does not count."""
    model = Model(str(made))
    info = model.info()
    running = sum(loc["running"] for loc in info["locations"])
    [metric] = [m for m in info["metrics"] if m["name"] == "preempted"]
    metric["total"] = int(running * 1e9 * preempted * 10)
    rows, found = model.tree(), model.callers("__main__:nap")
    rows[0]["metrics"]["preempted"]["incl"] = 1
    shown = preempted == 0.01
    assert ("preempted" in columns(calltable.write_tree, rows, running, {}, info)) == shown
    assert ("preempted" in columns(calltable.write_callers, found, info)) == shown


def test_own(spartito, made):
    """Waiting counts for the own function, and is not in its sum."""
    text = report(spartito, "own", made)
    assert re.match(r" +sum +% +self .* waiting +calls ", text), text
    assert re.search(r"^own functions waited \S+ m?s, most in __main__:nap \S+ m?s", text, re.M), text
    found = json.loads(report(spartito, "own", "--json", made))
    rows = {row["name"]: row for row in found["rows"]}
    flat = {row["name"]: row for row in Model(str(made)).flat()}
    assert rows["__main__:nap"]["waiting"] == pytest.approx(flat["__main__:nap"]["waiting"]) and rows["__main__:nap"]["sum"] < 0.1
    # the idle threads wait in functions that no own function called
    assert found["without_own"]["waiting"] > 8 * 0.2
    whole = found["without_own"]["waiting"] + sum(row["waiting"] for row in found["rows"])
    imports = sum(row["waiting"] for row in Model(str(made)).imports()[1:])
    assert whole <= sum(row["waiting"] for row in flat.values()) * (1 + 1e-6) and whole == pytest.approx(
        sum(row["waiting"] for row in flat.values()), abs=imports + 0.1
    )


IMPORTS = "import slow\nslow.f()\n"
SLOW = """
import time
end = time.thread_time() + 0.05
while time.thread_time() < end:
    pass
time.sleep(0.1)
def f(): pass
"""


def test_imports(spartito, tmp_path):
    (tmp_path / "program.py").write_text(IMPORTS)
    (tmp_path / "slow.py").write_text(SLOW)
    assert run(spartito, "run", "-q", "-o", "run", "--", sys.executable, "program.py", cwd=tmp_path).returncode == 0
    text = report(spartito, "imports", tmp_path / "run")
    assert re.match(r" +running +running % +waiting +total +self +loading +module\n", text), text
    assert re.search(r"^imports took \S+ m?s \(running \S+ m?s, \S+ % of the running time\): ", text, re.M), text
    rows = Model(str(tmp_path / "run")).imports()
    slow = next(row for row in rows if row["module"] == "slow")
    off = slow["excl"] - slow["running"]  # on a busy machine a thread may also be preempted where it waits
    assert 0.05 * 0.95 < slow["running"] < 0.1 and off > 0.1 * 0.95 and slow["waiting"] <= off * (1 + 1e-6)
    # the parts add up, as the wall times do
    for i, row in enumerate(rows):
        for key in ("running", "waiting"):
            within = sum(other[f"{key}_incl"] for other in rows[1:] if other["importer"] == i)
            assert row[f"{key}_incl"] == pytest.approx(row[key] + row[f"loading_{key}"] + within, abs=1e-6), (key, row)


def test_io(spartito, tmp_path):
    """A read that waits for another thread waits; the call path has the split."""
    (tmp_path / "program.py").write_text(
        "import os, threading, time\n"
        "source, sink = os.pipe()\n"
        "def late():\n    time.sleep(0.2)\n    os.write(sink, b'x')\n"
        "threading.Thread(target=late).start()\n"
        "def receive(): return os.read(source, 1)\n"
        "receive()\n"
        "open('out', 'wb').write(b'x' * 100)\n"
    )
    assert run(spartito, "run", "-q", "--io", "-o", "run", "--", sys.executable, "program.py", cwd=tmp_path).returncode == 0
    text = report(spartito, "io", tmp_path / "run")
    assert re.search(r"^ *read +written +operations +time +running +waiting +call path$", text, re.M), text
    for path in json.loads(report(spartito, "io", "--json", tmp_path / "run"))["paths"]:
        assert 0 <= path["running"] <= path["time"] * (1 + 1e-9) and path["waiting"] <= path["time"] * (1 + 1e-9)
