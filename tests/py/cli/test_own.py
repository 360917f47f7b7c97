# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report own`: whose code each function is, what own functions led to, and that the parts of a run add up."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from commandline import run
from rawfile import without_meta
from spartito._sample import check
from spartito.analysis import Model

PROGRAM = """
import atexit, json, sys, threading
sys.path[:0] = [f"{sys.path[0]}/.tool/lib/site-packages", f"{sys.path[0]}/../elsewhere"]
import fakelib, shared
def leaf(): return sum(range(20000))
def call_back(): return fakelib.call(leaf)
def encode(): return json.dumps([{"n": n} for n in range(300)])
def work():
    fakelib.spin(); shared.spin(); encode(); call_back()
class Handler: pass
def late(): fakelib.spin()
atexit.register(late)
thread = threading.Thread(target=work); thread.start(); thread.join()
work()
"""
SPIN = "def spin(): return sum(i * i for i in range(20000))\ndef call(f): return f()\n"
NEEDS_SAMPLES = pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")
# waiting may exceed the time of its call path by rounding; it is limited to it in the sum of all threads, or for each thread
CLOSE = {"rel": 1e-4, "abs": 1e-6}
OWNERS = ("own", "libraries", "standard", "other")


def program(tmp_path, text=PROGRAM):
    """Writes app/program.py, a library in an environment of the project, and one beside the project."""
    packages = tmp_path / "app" / ".tool" / "lib" / "site-packages"
    (packages / "fakelib").mkdir(parents=True)
    (packages / "fakelib" / "__init__.py").write_text(SPIN)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "shared.py").write_text(SPIN)
    (tmp_path / "app" / "program.py").write_text(text)


def measured(spartito, tmp_path, *options):
    done = run(spartito, "run", "-o", tmp_path / "out", *options, "--", sys.executable, "program.py", cwd=tmp_path / "app")
    assert done.returncode == 0, done.stderr
    return done.stderr


def report(spartito, tmp_path, *options):
    done = run(spartito, "report", "own", *options, "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def categories(model):
    return {row["name"]: row["category"] for row in model.flat()}


def test_whose_code(spartito, tmp_path):
    program(tmp_path)
    measured(spartito, tmp_path, "--c-calls")
    found = categories(Model(str(tmp_path / "out")))
    own = {name for name, category in found.items() if category == "own"}
    functions = {"<module>", "leaf", "call_back", "encode", "work", "Handler", "late"}
    assert {name for name in own if "<" not in name or name == "__main__:<module>"} == {f"__main__:{f}" for f in functions}
    assert found["fakelib:spin"] == found["fakelib:<module>"] == found["shared:spin"] == "libraries"
    assert found["json:dumps"] == found["threading:Thread._bootstrap"] == "standard"
    assert {found[name] for name in found if name.startswith(("builtins:", "_frozen_importlib", "_json:"))} == {"standard"}


def test_times_add_up(spartito, tmp_path):
    program(tmp_path)
    measured(spartito, tmp_path)
    model = Model(str(tmp_path / "out"))
    flat = model.flat()
    found = model.own()
    rows = {row["name"]: row for row in found["rows"]}
    whole = sum(row["running"] for row in flat)
    assert sum(row[key] for row in found["rows"] for key in OWNERS) + found["start_end"] == pytest.approx(whole, **CLOSE)
    for row in flat:
        if row["category"] == "own":
            assert rows[row["name"]]["own"] == pytest.approx(row["running"], **CLOSE)
            assert rows[row["name"]]["visits"] == row["visits"]
    # what a function leads to until the next own function: all calls of these have one own caller
    flat = {row["name"]: row for row in flat}
    assert rows["__main__:encode"]["libraries"] == 0
    assert rows["__main__:encode"]["standard"] >= flat["json:dumps"]["running"]
    assert rows["__main__:call_back"]["libraries"] == pytest.approx(flat["fakelib:call"]["running"], **CLOSE)
    assert rows["__main__:call_back"]["calls_own"] and not rows["__main__:leaf"]["calls_own"]
    libraries = rows["__main__:work"]["libraries"] + rows["__main__:late"]["libraries"]
    spin = [row for name, row in flat.items() if name.startswith(("fakelib:spin", "shared:spin"))]
    assert libraries == pytest.approx(sum(row["running"] for row in spin), **CLOSE)
    # a thread's outer frames are Python's; what the interpreter calls at its end are not, except for own functions
    assert found["rows"][0]["name"] == "<root>" and found["rows"][0]["standard"] > 0
    outer, outside = set(), 0.0
    for row in model.tree(location=0):
        if row["kind"] != "root" and row["depth"] == 0:
            within = row["category"] == "own"
            outer |= set() if within else {row["name"]}
        outside += 0 if row["kind"] == "root" or within else row["running"]
    assert "threading:_shutdown" in outer and found["start_end"] == pytest.approx(outside, **CLOSE)
    packages = dict(found["packages"])
    assert packages["fakelib"] == pytest.approx(sum(row["running"] for row in flat.values() if row["module"] == "fakelib"), **CLOSE)
    # by process and thread as well
    assert model.own(process=0)["start_end"] == pytest.approx(found["start_end"], **CLOSE)
    threads = [model.own(location=i) for i in range(len(model.info()["locations"]))]
    assert sum(t["start_end"] for t in threads) == pytest.approx(found["start_end"], **CLOSE)
    assert [t["start_end"] for t in threads[1:]] == [0]


def test_report_and_summary(spartito, tmp_path):
    program(tmp_path)
    summary = measured(spartito, tmp_path)
    assert re.search(r"^running time: .*libraries \S+ % \(most: (fakelib|shared) \S+ %\)", summary, re.M)
    text = report(spartito, tmp_path)
    assert re.search(r"^ *\S+ \S+ .* 2  __main__:work +\S+program.py:8$", text, re.M), text
    assert re.search(r"libraries: .*fakelib \S+ %.*\n.*standard library\n.*imports\n.*interpreter start and end$", text, re.M)
    found = json.loads(report(spartito, tmp_path, "--json"))
    model = Model(str(tmp_path / "out"))
    running = sum(loc["running"] for loc in model.info()["locations"])
    assert sum(found["split"].values()) == pytest.approx(running, **CLOSE)
    apart = sum(found["without_own"].values()) + found["split"]["imports"] + found["split"]["start_end"]
    assert sum(row["sum"] for row in found["rows"]) + apart == pytest.approx(running, **CLOSE)
    assert found["split"]["imports"] > 0 and found["notes"] == [] and found["lines"] == []


def test_own_paths(spartito, tmp_path):
    program(tmp_path)
    measured(spartito, tmp_path, "-q")
    out = str(tmp_path / "out")
    assert categories(Model(out))["shared:spin"] == "libraries"
    # the report's choice: also a part of an environment, and a single file
    inner = tmp_path / "app" / ".tool" / "lib" / "site-packages" / "fakelib"
    assert categories(Model(out, own=str(inner)))["fakelib:spin"] == "own"
    assert categories(Model(out, own=str(tmp_path)))["fakelib:spin"] == "libraries"
    text = report(spartito, tmp_path, "--own", "elsewhere/shared.py")
    assert "shared:spin" in text and "fakelib:spin" not in text
    done = run(spartito, "report", "own", "--own", "nowhere", "out", cwd=tmp_path)
    assert done.returncode == 2 and "--own: 'nowhere': no such file or directory" in done.stderr
    # own code that is to be a library, with an exception within
    text = report(spartito, tmp_path, "--own", f"!{tmp_path / 'app'}", "--own", "app/program.py")
    assert "__main__:work" in text
    assert categories(Model(out, own=f"!{tmp_path / 'app'}"))["__main__:work"] == "libraries"
    done = run(spartito, "report", "own", "--own", "app", "--own", "!app", "out", cwd=tmp_path)
    assert done.returncode == 2 and "--own: '!app' is given with and without a !" in done.stderr
    done = run(spartito, "report", "own", "--own", "!", "out", cwd=tmp_path)
    assert done.returncode == 2 and "--own: '': no such file or directory" in done.stderr
    # the choice of the run holds for its filter and its reports
    shutil.rmtree(out)
    measured(spartito, tmp_path, "-q", "--only-mine", "--own", "../elsewhere")
    found = categories(Model(out))
    assert found["shared:spin"] == "own" and "fakelib:spin" not in found and "json:dumps" not in found
    shutil.rmtree(out)
    assert "\nrunning time: " not in measured(spartito, tmp_path, "--only-mine")  # own code would seem to take all of it
    assert "shared:spin" not in categories(Model(out)) and "__main__:work" in categories(Model(out))
    assert "a filter left functions out: their time is self time" in report(spartito, tmp_path)


@NEEDS_SAMPLES
def test_attached(tmp_path, spartito):
    """The sampler finds the directories of a process that records nothing."""
    text = "import json\ndef work(): json.dumps([{'n': n} for n in range(300)])\nprint(1, flush=True)\nwhile True: work()\n"
    (tmp_path / "program.py").write_text(text)
    with subprocess.Popen([sys.executable, "program.py"], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        done = run(spartito, "attach", "-q", "--duration", "0.5", "-o", tmp_path / "out", process.pid)
        process.kill()
    assert done.returncode == 0, done.stderr
    found = categories(Model(str(tmp_path / "out")))
    assert found["__main__:work"] == "own" and found["json:dumps"] == "standard"


def test_the_directory_of_the_script_is_own(spartito, tmp_path):
    program(tmp_path)
    (tmp_path / "work").mkdir()
    done = run(spartito, "run", "-q", "--only-mine", "-o", "out", "--", sys.executable, "../app/program.py", cwd=tmp_path / "work")
    assert done.returncode == 0, done.stderr
    found = categories(Model(str(tmp_path / "work" / "out")))
    assert found["__main__:work"] == "own" and not {"fakelib:spin", "shared:spin"} & set(found)


def test_missing_facts_are_named(spartito, tmp_path):
    program(tmp_path)
    measured(spartito, tmp_path, "-q", "--no-finalize")
    without_meta(tmp_path / "out", "prefix")
    assert "1 process did not record the directory of the environment" in report(spartito, tmp_path)
    without_meta(tmp_path / "out", "library")
    text = report(spartito, tmp_path)
    assert "1 process did not record the directory of the standard library" in text and "not known" in text
    found = categories(Model(str(tmp_path / "out")))
    assert found["json:dumps"] == found["shared:spin"] == "other"  # not "libraries", which would be a guess
    assert found["__main__:work"] == "own" and found["fakelib:spin"] == "libraries"


@NEEDS_SAMPLES
def test_samples_and_lines(spartito, tmp_path):
    loop = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: work()\n"
    program(tmp_path, PROGRAM + loop)
    measured(spartito, tmp_path, "-q", "--sample")
    model = Model(str(tmp_path / "out"))
    found = json.loads(report(spartito, tmp_path, "--json"))
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["__main__:work"]["visits"] is None and rows["__main__:work"]["libraries"] > 0
    assert sum(found["split"].values()) == pytest.approx(sum(row["running"] for row in model.flat()), **CLOSE)
    # the line of the program that led to the library
    lines = {(row["name"], row["line"]): row for row in found["lines"]}
    assert lines["__main__:work", 9]["callees"] >= rows["__main__:work"]["libraries"] * (1 - 1e-6)
    assert not any(row["name"].startswith("fakelib") for row in found["lines"])
    assert re.search(r"program.py:9 \*$", report(spartito, tmp_path), re.M)
