# SPDX-License-Identifier: BSD-3-Clause
"""Control of the recorder: functions on and off, recording on and off, rewinding, parameter values, the depth limit of the profile,
and the names and call tree of Score-P's Python bindings (setting scorep)."""

import json
import sys

import pytest
from commandline import run
from programs import HOOKS
from recorded import Experiment
from spartito._analyse import Model

# Seconds by which two clocks may differ. Each program prints how long its parts took, as a busy machine makes them longer.
NEAR = 0.05


@pytest.fixture(params=HOOKS)
def measured(request, spartito, tmp_path, monkeypatch):
    """measured(text, scorep=True, **settings) runs a program under each hook; returns its Experiment."""

    def do(text, scorep=True, **settings):
        (tmp_path / "program.py").write_text("from spartito import _measure as m\nimport spartito\n" + text)
        for name, value in {"scorep": "1" if scorep else "0", "hook": request.param, **settings}.items():
            monkeypatch.setenv("SPARTITO_" + name.upper(), str(value))
        done = run(spartito, "run", "-q", "--trace", "-o", "x", "--", sys.executable, "program.py", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        e = Experiment(spartito, tmp_path / "x")
        e.printed = done.stdout
        return e

    return do


NAMES = """
class Base:
    def inherited(self):
        return [self for _ in range(1)]
    @property
    def prop(self):
        return 1
    @classmethod
    def made(cls):
        return cls()
class Child(Base):
    def closure(self):
        def inner():
            return self
        return inner()
    def __getattr__(self, name):
        raise SystemExit("code of the program was run")
def free(x):
    return x
Child().inherited(); Child().prop; Child.made(); Child().closure(); free(1)
exec("def odd(): pass\\nodd()", {})
"""


def test_names_are_those_of_the_bindings(measured):
    names = {row["name"] for row in measured(NAMES).rows}
    assert {"__main__.Child:inherited", "__main__.Child:prop", "__main__:made", "__main__.Child:closure"} <= names
    assert {"__main__.Child:inner", "__main__:free", "__main__:<module>", "unknown:odd"} <= names
    if sys.version_info < (3, 12):
        assert "__main__.Child:<listcomp>" in names


def test_functions_off_and_on(measured):
    text = """
def f(n): return n and f(n - 1)
f(0)
print(m.instrumented(), m.instrument(False), m.instrument(False), m.instrumented(), m.uninstrumented(), file=open("out", "w"))
f(5)
with spartito.region("mine"):
    f(2)
assert m.instrument(True) and not m.instrument(True)
f(1)
"""
    e = measured(text)
    assert (e.path.parent / "out").read_text() == "True True False False True\n"
    main = "__main__:<module>"
    below = {k: v for k, v in e.paths(main).items() if not k[-1].startswith(("_", "codecs")) or k[-1].startswith("__main__:")}
    assert below[main, "__main__:f"] == 2 and below[main, "__main__:f", "__main__:f"] == 1
    assert below[main, "mine"] == 1 and (main, "mine", "__main__:f") not in below
    assert not e.trace().faults


def test_nothing_but_own_regions_from_the_start(measured):
    text = """
def f(): return 1
with spartito.region("a"):
    f()
    m.instrument(True)
    f()
    m.instrument(False)
f()
"""
    e = measured(text, instrument=0)
    assert e.paths() == {("a",): 1, ("a", "__main__:f"): 1}


def test_what_ended_unseen_is_not_the_caller(measured):
    text = """
def off(): m.instrument(False)
def outer():
    off()
    with spartito.region("in outer"): pass
outer()
with spartito.region("outside"): pass
m.instrument(True)
def late(): pass
late()
"""
    e = measured(text)
    main = "__main__:<module>"
    paths = e.paths(main)
    assert paths[main, "__main__:outer", "in outer"] == 1
    assert paths[main, "outside"] == 1 and paths[main, "__main__:late"] == 1


def test_pause_keeps_regions_open(measured):
    text = """
def f(): pass
def off_in_a_call():
    m.pause()
    f()
with spartito.region("outer"):
    f()
    m.region_begin("ends while off")
    off_in_a_call()
    assert m.region_end("ends while off") is True
    m.region_begin("begins while off")
    f()
    m.resume()
    f()
    assert m.region_end("begins while off") is True
    f()
assert m.region_end("never began") is False
"""
    e = measured(text)
    paths = e.paths("outer")
    assert paths["outer",] == 1
    assert paths["outer", "__main__:f"] == 2
    assert paths["outer", "begins while off", "__main__:f"] == 1 and paths["outer", "begins while off"] == 0
    assert paths["outer", "ends while off", "__main__:off_in_a_call", "MEASUREMENT OFF"] == 1
    assert ("outer", "ends while off", "__main__:off_in_a_call", "__main__:f") not in paths
    assert e.modes() == ["OFF", "ON"]
    assert not e.trace().faults


def test_time_of_a_pause_is_in_no_frame_natively(measured):
    text = """
from time import monotonic, sleep
begin = monotonic()
with spartito.region("outer"):
    spartito.pause()
    paused = monotonic()
    sleep(0.3)
    on = monotonic()
    spartito.resume()
print(paused - begin + monotonic() - on)
"""
    e = measured(text, scorep=False)
    assert 0 < e.row("outer")["incl"] < float(e.printed) + NEAR and e.row("outer")["visits"] == 1
    assert all(row["name"] != "MEASUREMENT OFF" for row in e.rows)
    assert e.trace().enters["outer"] == 1


def test_time_of_a_pause_is_a_region_for_the_bindings(measured):
    text = (
        "from time import monotonic, sleep\nbegin = monotonic()\nwith spartito.region('outer'):\n    m.pause()\n"
        "    paused = monotonic()\n    sleep(0.3)\n    on = monotonic()\n    m.resume()\nprint(paused - begin + monotonic() - on)\n"
    )
    e = measured(text)
    assert e.row("outer")["incl"] > 0.3 and e.row("MEASUREMENT OFF")["incl"] > 0.3
    assert e.row("outer")["excl"] < float(e.printed) + NEAR


def test_other_threads_go_on_after_a_pause(measured):
    text = """
import threading
def f(): pass
go, done = threading.Event(), threading.Event()
def work():
    with spartito.region("in thread"):
        f()
        done.set()
        go.wait()
        f()
t = threading.Thread(target=work)
t.start()
done.wait()
m.pause()
f()
m.resume()
go.set()
t.join()
"""
    e = measured(text)
    paths = e.paths("in thread")
    assert paths["in thread",] == 1 and paths["in thread", "__main__:f"] == 2
    assert not e.trace().faults


@pytest.mark.parametrize("calls", [3, 30000], ids=["one chunk", "many chunks"])
@pytest.mark.parametrize("memory", ["512M", "256k"])
def test_rewinding_takes_events_out(measured, calls, memory):
    text = f"""
def kept(): pass
def thrown(): pass
def ends_within(): m.rewind_begin("outer point")
kept()
m.rewind_begin("point", "file.py", 7)
for i in range({calls}): thrown()
assert m.rewind_end("point", True) is True
kept()
m.rewind_begin("not undone")
kept()
assert m.rewind_end("not undone", False) is True
assert m.rewind_end("not undone", True) is False
def leaves():
    m.rewind_begin("across a return")
    thrown()
leaves()
for i in range({calls}): thrown()
m.rewind_end("across a return", True)
kept()
"""
    e = measured(text, trace_memory=memory)
    trace = e.trace()
    assert not trace.faults
    assert trace.enters["__main__:kept"] == 4 and trace.enters["__main__:leaves"] == trace.leaves["__main__:leaves"] == 1
    assert trace.enters["__main__:thrown"] == 0 and trace.enters["point"] == 0 and trace.enters["not undone"] == 1
    assert trace.callers["__main__:kept", "__main__:<module>"] == 3
    assert e.modes() == ["OFF", "ON"] * 2
    thrown = sum(row["visits"] for row in e.rows if row["name"] == "__main__:thrown")
    assert thrown == 2 * calls + 1  # the profile is not rewound
    assert all(row["name"] != "point" for row in e.rows)
    raw = b"".join(p.read_bytes() for p in (e.path / "raw").iterdir())
    assert len(raw) < 2_000_000 + 16 * calls * 3
    model = Model(str(e.path))
    model.convert("chrome", str(e.path / "events.json"))  # compares the checksums of all chunks
    assert model.info()["problems"] == []


def test_parameters_make_call_paths(measured):
    text = """
def inner(): pass
def f(n):
    m.parameter("n", n)
    inner()
def g(a, b):
    m.parameter("a", a)
    m.parameter_uint("b", b)
    inner()
def loop():
    for i in range(3):
        m.parameter("i", i)
        inner()
for n in (1, 2, 2): f(n)
g("x", 5)
loop()
"""
    paths = measured(text).paths("__main__:<module>")
    top = "__main__:<module>"
    f, inner = "__main__:f", "__main__:inner"
    assert paths[top, f + " n=1"] == 1 and paths[top, f + " n=2"] == 2 and paths[top, f] == 0
    assert paths[top, f + " n=2", inner] == 2
    assert paths[top, "__main__:g a=x b=5", inner] == 1
    assert [paths[top, f"__main__:loop i={i}", inner] for i in range(3)] == [1, 1, 1]
    assert sum(v for k, v in paths.items() if len(k) == 2 and k[1].startswith("__main__:loop")) == 1


def test_a_million_values_do_not_make_a_million_paths(measured):
    text = "def f(n):\n    m.parameter('n', n)\nfor n in range(20000): f(n)\n"
    paths = measured(text).paths("__main__:<module>")
    mine = {k[1]: v for k, v in paths.items() if len(k) == 2 and k[1].startswith("__main__:f")}
    assert sum(mine.values()) == 20000 and len(mine) < 5000
    assert mine["__main__:f n=(other values)"] > 15000


def test_texts_cost_nothing_without_a_trace(spartito, tmp_path):
    text = "spartito.parameter('name', 'x' * 40 + str(n)); spartito.marker('y' * 40 + str(n))"
    (tmp_path / "program.py").write_text(f"import spartito\nfor n in range(20000): {text}\n")
    done = run(spartito, "run", "-q", "-o", "x", "--", sys.executable, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sum(p.stat().st_size for p in (tmp_path / "x" / "raw").iterdir()) < 2_000_000


def test_the_profile_goes_only_so_deep(measured):
    text = "def f(n): return n and f(n - 1)\nf(50)\ndef g(): pass\ng()\n"
    e = measured(text, profile_depth=11)
    assert max(row["depth"] for row in e.rows) <= 12
    assert e.row("COLLAPSED")["visits"] == 41
    assert sum(row["visits"] for row in e.rows if row["name"] == "__main__:f") == 10
    assert e.row("__main__:g")["visits"] == 1
    assert e.trace().enters["__main__:f"] == 51


def test_lists_for_regions_and_files_are_apart(measured):
    text = """
class A:
    def one(self): pass
    def two(self): pass
A().one(); A().two()
import json
json.dumps({})
with spartito.region("user:x"): pass
with spartito.region("user:y"): pass
"""
    e = measured(text, filter="-region:*\n+region:__main__*\n-region:*.A:two\n+region:*json*\n+region:user:y\n-file:*/json/*")
    names = {row["name"] for row in e.rows}
    assert names == {"__main__:<module>", "__main__.A:one", "user:y"} | {n for n in names if n == "__main__:A"}


def test_only_threads_name_their_location(measured):
    text = """
class Job:
    _name = "a class attribute"
    def __init__(self): self.__dict__["_name"] = "no thread"
    def run(self): m.instrument(True)
job = Job()
m.instrument(False)
job.run()
del Job._name
m.instrument(False)
job.run()
"""
    e = measured(text)
    done = run(e.spartito, "info", "--json", e.path)
    assert [location["name"] for location in json.loads(done.stdout)["locations"]] == ["MainThread"]


def test_threads_begin_with_run(measured):
    text = """
import threading
def work(): pass
class T(threading.Thread):
    def run(self): work()
threading.Thread(target=work).start()
T().start()
"""
    e = measured(text)
    paths = e.paths()
    assert paths["threading.Thread:run", "__main__:work"] == 1 and paths["__main__.T:run", "__main__:work"] == 1
    assert not any(name.startswith("threading") and "bootstrap" in name for path in paths for name in path)


def test_a_child_of_fork_while_off(measured):
    text = """
import os, sys
def f(): pass
with spartito.region("outer"):
    m.pause()
    if os.fork() == 0:
        m.resume()
        f()
        sys.exit(0)
    os.wait()
    m.resume()
    f()
"""
    e = measured(text)
    assert sum(v for k, v in e.paths("outer").items() if k[-1] == "__main__:f") == 2


# ---- the first event of another thread after a pause ----

THREAD = """
import threading
from time import monotonic, sleep
def quick(): pass
def slow(lock):
    there.release()
    lock.acquire()
def work(lock):
    {begin}
    quick()
lock, there = threading.Lock(), threading.Lock()
lock.acquire()
there.acquire()
t = threading.Thread(target=work, args=(lock,))
begin = monotonic()
t.start()
there.acquire()
sleep(0.1)
m.pause()
paused = monotonic()
sleep(0.4)
on = monotonic()
m.resume()
lock.release()
t.join()
print(paused - begin + monotonic() - on)
"""


@pytest.mark.parametrize(
    "begin", ["slow(lock)", "there.release(); lock.acquire(); spartito.parameter('n', 1)"], ids=["leave", "value"]
)
def test_time_of_a_pause_is_in_no_frame_of_another_thread(measured, begin):
    e = measured(THREAD.format(begin=begin), scorep=False)
    times = {row["name"]: row["incl"] for row in e.rows if row["name"].startswith("__main__:")}
    assert times.get("__main__:slow", 0) <= times["__main__:work"] < float(e.printed) + NEAR
    assert not e.trace().faults


# ---- regions that end during a pause ----


def test_a_region_is_not_taken_for_one_that_ended_in_an_earlier_pause(measured):
    text = """
ended = []
def f():
    for name in "ABC":
        m.region_begin(name)
        m.pause()
        if name != "B":
            ended.append(m.region_end(name))
        m.resume()
    ended.append(m.region_end("B"))
f()
assert ended == [True, True, True], ended
"""
    e = measured(text)
    assert [e.row(name)["visits"] for name in "ABC"] == [1, 1, 1]


def test_a_collapsed_region_that_ends_in_a_pause_is_that_region(measured):
    text = """
def f():
    m.region_begin("A")
    m.pause()
    m.region_end("A")
    m.resume()
def main():
    f()
main()
"""
    e = measured(text, profile_depth=3)
    trace = e.trace()
    assert not trace.faults and trace.enters["A"] == 1


def test_regions_end_in_the_pause_of_a_child(measured):
    text = """
import os, sys
m.region_begin("open")
m.pause()
if os.fork() == 0:
    assert m.region_end("open")
    m.region_begin("begun")
    m.resume()
    assert not m.region_end("open") and m.region_end("begun")
    sys.exit(0)
assert os.wait()[1] == 0
m.resume()
"""
    measured(text)


# ---- forks ----


def test_the_time_of_a_pause_before_a_fork_is_not_taken_from_the_child(measured):
    text = """
import os, sys
from time import monotonic, sleep
def f():
    m.pause()
    paused = monotonic()
    sleep(0.3)
    on = monotonic()
    if os.fork() == 0:
        m.resume()
        return on
    os.wait()
    on = monotonic()
    m.resume()
    return on - (paused - begin)
begin = monotonic()
on = f()
print(monotonic() - on, flush=True)
"""
    e = measured(text, scorep=False)
    assert e.row("__main__:f")["incl"] < sum(map(float, e.printed.split())) + NEAR


def test_the_first_event_of_a_child_is_a_leave(measured):
    text = """
import os
def f(): return os.fork()
def g(): pass
if f() == 0: g()
else: os.wait()
"""
    e = measured(text, scorep=False)
    assert e.row("__main__:f")["incl"] < 60 and e.row("__main__:g")["visits"] == 1
    assert not e.trace().faults


# ---- functions on and off, in threads and sub-interpreters ----


def test_a_thread_keeps_what_it_recorded_when_functions_are_switched_on_again(measured):
    text = """
import threading
def f(): pass
def g(): pass
def work():
    for function in f, g:
        m.instrument(True)
        function()
        m.instrument(False)
t = threading.Thread(target=work)
t.start()
t.join()
"""
    e = measured(text, instrument=0)
    assert e.row("__main__:f")["visits"] == e.row("__main__:g")["visits"] == 1


def test_many_threads_that_ended_leave_room(measured):
    text = """
import threading
def work(): pass
for _ in range(300):
    t = threading.Thread(target=work)
    t.start()
    t.join()
"""
    e = measured(text, trace_memory="512k")
    assert sum(row["visits"] for row in e.rows if row["name"] == "__main__:work") == 300


def test_functions_are_off_in_sub_interpreters_too(measured):
    text = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
i = interpreters.create()
code = "def inside(): pass\\ndef on(): pass\\ninside()\\nfrom spartito import _measure as m"
interpreters.run_string(i, code + "\\nm.instrument(True)\\non()\\nm.instrument(False)")
interpreters.destroy(i)
"""
    e = measured(text, instrument=0)
    assert [row["name"].split(":")[1] for row in e.rows if row["kind"] == "python"] == ["on"]


def test_a_nul_in_a_name_moves_no_other_text_of_a_region(measured):
    text = "name = 'a\\0' + 40 * 'b'\nm.region_begin(name, None, '/x/secret.py')\nm.region_end(name)\n"
    e = measured(text, filter="-file:*secret.py")
    assert not [row["name"] for row in e.rows if "bbb" in row["name"]]


@pytest.mark.parametrize("hook", HOOKS)
def test_measuring_begins_within_init(spartito, tmp_path, hook):
    """From Python 3.12 on, the caller of a specialized __init__ is a shim frame of the interpreter, whose code object is constant.
    The measurement begins below both."""
    text = """
import spartito
def before(): pass
class Solver:
    def __init__(self, last):
        if last:
            with spartito.measure("x", hook="HOOK", trace=True):
                before()
                with spartito.region("inside"):
                    pass
def make(last):
    return Solver(last)
for i in range(100):
    make(i == 99)
print("ran")
"""
    (tmp_path / "program.py").write_text(text.replace("HOOK", hook))
    done = run([sys.executable], "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")
    paths = Experiment(spartito, tmp_path / "x").paths("__main__:make")
    init = ("__main__:make", "__main__:Solver.__init__")
    assert paths[(*init, "__main__:before")] == 1 and paths[(*init, "inside")] == 1
    assert not any("?" in name or name == "_Py_InitCleanup" for path in paths for name in path)
