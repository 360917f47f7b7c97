# SPDX-License-Identifier: BSD-3-Clause
"""The Python API: spartito.region, start, stop, measure, pause and resume."""

import ast
import asyncio
import inspect
import json
import os
import subprocess
import sys
import types

import pytest
import spartito as package
from commandline import run
from programs import HOOKS
from spartito._analyse import Model
from test_tasks import by_coroutine, of, recorded, waits


def rows_of(spartito, path):
    done = run(spartito, "report", "--json", "--limit", "0", path)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}


def measured(spartito, tmp_path, text, *options):
    """Rows of the report of a program under `spartito run`, by name."""
    (tmp_path / "program.py").write_text("import spartito\n" + text)
    done = run(spartito, "run", "-q", "-o", "x", *options, "--", sys.executable, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    return rows_of(spartito, tmp_path / "x")


def test_region_as_context_manager(spartito, tmp_path):
    rows = measured(spartito, tmp_path, "for i in range(7):\n    with spartito.region('step'):\n        pass\n")
    assert rows["step"]["visits"] == 7
    assert rows["step"]["kind"] == "user"


def test_region_survives_an_exception(spartito, tmp_path):
    text = (
        "for i in range(3):\n    try:\n        with spartito.region('step'):\n            raise KeyError(i)\n"
        "    except KeyError as e:\n        assert e.args == (i,)\nwith spartito.region('after'):\n    pass\n"
    )
    rows = measured(spartito, tmp_path, text)
    assert rows["step"]["visits"] == 3 and rows["after"]["visits"] == 1
    assert rows["step"]["incl"] < rows["program:<module>" if "program:<module>" in rows else "__main__:<module>"]["incl"]


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook != "evalframe"])  # which does not see functions of C
def test_regions_are_nested_where_functions_of_c_are_recorded(spartito, tmp_path, hook):
    """From Python 3.14 on `with` calls __enter__ and __exit__ as other functions of C, but these belong to Spartito."""
    text = "with spartito.region('a'):\n    len('')\n    with spartito.region('b'):\n        len('')\n"
    measured(spartito, tmp_path, text, "--c-calls", "--hook", hook)
    tree = Model(str(tmp_path / "x")).tree()
    names = {row["path"]: row["name"] for row in tree}
    below = {row["name"]: names.get(row["parent"]) for row in tree}
    assert below["b"] == "a" and not [name for name in below if "spartito" in name]


@pytest.mark.parametrize("hook", HOOKS)
def test_region_in_a_function_that_runs_already(tmp_path, hook):
    """The first region entered below a frame that was open when the measurement started is a user region, not a Python function."""
    text = (
        f"import spartito\ndef g():\n    pass\ndef f():\n    spartito.start('x', hook='{hook}')\n"
        "    with spartito.region('r'):\n        g()\n    g()\nf()\n"
    )
    (tmp_path / "program.py").write_text(text)
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True)
    callers = {
        (c["name"], entry["region"]["name"])
        for entry in Model(str(tmp_path / "x")).callers("*")
        for c in entry["callers"]
        if entry["region"]["name"] in ("r", "__main__:g")
    }
    assert callers == {("__main__:f", "r"), ("r", "__main__:g"), ("__main__:f", "__main__:g")}


def test_region_as_decorator_of_functions_and_methods(spartito, tmp_path):
    text = (
        "@spartito.region('f')\ndef f(a, *, b=2):\n    return a + b\n"
        "class C:\n    @spartito.region('m')\n    def m(self, x):\n        return x\n"
        "    @staticmethod\n    @spartito.region('s')\n    def s(x):\n        return x\n"
        "assert f(1) == 3 and f(1, b=4) == 5\nassert C().m(3) == 3 and C.s(4) == 4\n"
    )
    rows = measured(spartito, tmp_path, text)
    assert [rows[n]["visits"] for n in ("f", "m", "s")] == [2, 1, 1]


ASYNC = """
import asyncio, time
@spartito.region('co')
async def co(t):
    await asyncio.sleep(t)
    return t
@spartito.region('agen')
async def agen():
    for i in range(3):
        got = yield i
@spartito.region('gen')
def gen():
    got = []
    try:
        got.append((yield 1))
        got.append((yield 2))
    except KeyError:
        yield 'caught'
    return got
async def main():
    # both suspended at once: their regions overlap and must not be mixed up
    assert await asyncio.gather(co(0.2), co(0.1)) == [0.2, 0.1]
    assert [i async for i in agen()] == [0, 1, 2]
    async with spartito.region('block'):
        await asyncio.sleep(0)
asyncio.run(main())
g = gen()
assert next(g) == 1 and g.send('a') == 2
try:
    g.send('b')
except StopIteration as e:
    assert e.value == ['a', 'b']
g = gen(); next(g)
assert g.throw(KeyError) == 'caught'
g.close()
g = gen(); next(g); g.close()
"""


def test_region_as_decorator_of_coroutines_and_generators(spartito, tmp_path):
    rows = measured(spartito, tmp_path, ASYNC)
    for name, calls in (("co", 2), ("agen", 1), ("gen", 3), ("block", 1)):
        assert rows[name]["visits"] == calls, name


def test_decorated_functions_stay_what_they_are():
    def f(): ...
    def g():
        yield

    async def c(): ...
    async def a():
        yield

    decorate = package.region("x")
    assert inspect.isgeneratorfunction(decorate(g)) and not inspect.isgeneratorfunction(decorate(f))
    assert inspect.iscoroutinefunction(decorate(c)) and inspect.isasyncgenfunction(decorate(a))
    assert decorate(f).__name__ == "f" and decorate(f).__wrapped__ is f
    with pytest.raises(TypeError):
        decorate(3)
    with pytest.raises(TypeError):
        package.region(3)


def test_decorated_functions_take_the_same_arguments():
    def every(a, /, b, c=3, *rest, d, e=5, **more):
        return a, b, c, rest, d, e, more

    def clash(self, name, function=1, *, active=2):
        return self, name, function, active

    decorated = package.region("x")(every)
    assert decorated(1, 2, d=4) == every(1, 2, d=4) == (1, 2, 3, (), 4, 5, {})
    assert decorated(1, 2, 0, 9, 8, d=4, e=6, a=7) == (1, 2, 0, (9, 8), 4, 6, {"a": 7})
    assert package.region("x")(clash)(0, name=3, active=4) == (0, 3, 1, 4)
    assert package.region("x")(len)([1, 2]) == 2
    assert inspect.signature(decorated) == inspect.signature(every)
    for wrong in ((), (1,), (1, 2)):
        with pytest.raises(TypeError):
            decorated(*wrong)


def test_decorated_generator_coroutine_can_still_be_awaited():
    @package.region("x")
    @types.coroutine
    def old():
        yield
        return 3

    async def main():
        return await old()

    assert asyncio.run(main()) == 3


def test_decorating_code_with_names_that_python_does_not_take():
    tree = ast.parse("def f(a): return a")
    tree.body[0].args.args[0].arg = tree.body[0].body[0].value.id = "class"
    names = {}
    exec(compile(tree, "x", "exec"), names)
    assert package.region("x")(names["f"])(3) == 3


def test_what_binds_a_region_is_made_by_us_only():
    for made in (package.region("x").__enter__, package.region.__dict__["__enter__"]):
        if type(made).__module__ == "spartito":  # before Python 3.14 it is a type of Spartito
            with pytest.raises(TypeError):
                type(made)()
    with pytest.raises(TypeError):
        package.region.__dict__["__enter__"].__get__(object())()


def test_a_region_is_entered_and_left_by_hand(spartito, tmp_path):
    text = (
        "from contextlib import ExitStack\nr = spartito.region('x')\nwith ExitStack() as s:\n"
        "    assert s.enter_context(r) is r\n    s.enter_context(spartito.region('y'))\n"
        "assert r.__enter__() is r and r.__exit__(None, None, None) is None and r.name == 'x'\n"
        "enter, leave = type(r).__enter__, r.__exit__\nenter(r)\nleave(None, None, None)\n"
        "for wrong in (lambda: r.__enter__(1), lambda: spartito.region().__enter__()):\n"
        "    try:\n        wrong()\n        raise SystemExit('no error')\n    except TypeError:\n        pass\n"
    )
    rows = measured(spartito, tmp_path, text)
    assert rows["x"]["visits"] == 3 and rows["y"]["visits"] == 1


def test_async_generator_is_driven_in_full():
    seen = []

    async def inner():
        try:
            try:
                seen.append((yield 1))
            except KeyError:
                seen.append("thrown")
            yield 2
        finally:
            seen.append("closed")

    async def drive():
        a = package.region("x")(inner)()
        assert await a.__anext__() == 1
        assert await a.asend("sent") == 2
        await a.aclose()
        a = package.region("x")(inner)()
        await a.__anext__()
        assert await a.athrow(KeyError()) == 2
        with pytest.raises(StopAsyncIteration):
            await a.__anext__()

    import asyncio

    asyncio.run(drive())
    assert seen == ["sent", "closed", "thrown", "closed"]


def test_values_and_markers(spartito, tmp_path):
    text = (
        "spartito.parameter('n', 3)\nspartito.parameter('s', 'text')\nspartito.parameter('r', 1.5)\n"
        "spartito.counter('c', 2.5)\nspartito.marker('here')\nassert spartito.active() is True\n"
        "assert spartito.experiment().endswith('/x')\n"
    )
    measured(spartito, tmp_path, text, "--trace")


def test_pause_and_resume(spartito, tmp_path):
    text = "def f(): pass\nf()\nspartito.pause()\nfor i in range(100): f()\nspartito.resume()\nf()\n"
    rows = measured(spartito, tmp_path, text)
    assert rows["__main__:f"]["visits"] == 2


def plain(tmp_path, text):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_")}
    (tmp_path / "program.py").write_text("import spartito\n" + text)
    command = [sys.executable, "program.py"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)


def started(spartito, tmp_path, text):
    """Runs a program that starts and stops the measurement itself; returns its rows and the lines it printed."""
    text = "import os, sys, threading, time\ndef leaf(): pass\n" + text
    done = plain(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return rows_of(spartito, tmp_path / "x"), done.stdout.splitlines()


def test_resume_in_the_child_of_a_fork_in_a_pause(spartito, tmp_path):
    text = (
        "spartito.start('x')\nleaf()\nspartito.pause()\nleaf()\nif os.fork() == 0:\n    spartito.resume()\n"
        "    for i in range(5): leaf()\n    sys.exit()\nos.wait()\nspartito.stop()\n"
    )
    assert started(spartito, tmp_path, text)[0]["__main__:leaf"]["visits"] == 6


@pytest.mark.parametrize("end", ["spartito.stop()\ngo.release()", "go.release()\nt.join()\nspartito.stop()"])
def test_a_pause_until_the_end_does_not_count(spartito, tmp_path, end):
    text = (
        "go, there = threading.Lock(), threading.Lock()\ngo.acquire()\nthere.acquire()\n"
        "def worker():\n    there.release()\n    go.acquire()\nspartito.start('x')\nt = threading.Thread(target=worker)\n"
        "begin = time.monotonic()\nt.start()\nthere.acquire()\nspartito.pause()\nprint(time.monotonic() - begin)\ntime.sleep(1)\n"
    )
    rows, (until,) = started(spartito, tmp_path, text + end)
    assert 0 < rows["__main__:worker"]["incl"] < float(until) + 0.1


@pytest.mark.skipif("setprofile" not in HOOKS, reason="this Python has no hook setprofile")
@pytest.mark.parametrize("first", [True, False])
def test_a_profile_function_goes_on_through_start_pause_and_stop(spartito, tmp_path, first):
    own, start = "sys.setprofile(tracer)\n", "spartito.start('x', hook='setprofile')\n"
    text = (
        "seen = []\ndef tracer(f, event, arg):\n    if f.f_code is leaf.__code__: seen.append(event)\n"
        "def look():\n    assert sys.getprofile() is tracer\n    seen.clear(); leaf(); print(*seen)\n"
        + (own + start if first else start + own)
        + "look()\nspartito.pause()\nlook()\nspartito.resume()\nlook()\nspartito.stop()\nlook()\n"
    )
    rows, lines = started(spartito, tmp_path, text)
    assert lines == ["call return"] * 4
    assert rows["__main__:leaf"]["visits"] == 2


@pytest.mark.skipif("setprofile" not in HOOKS, reason="this Python has no hook setprofile")
def test_a_profile_function_whose_end_sets_another(spartito, tmp_path):
    text = (
        "class P:\n    def __init__(self, last): self.last = last\n    def __call__(self, *a): pass\n"
        "    def __del__(self):\n        if self.last: sys.setprofile(P(False))\n"
        "spartito.start('x', hook='setprofile')\nsys.setprofile(P(True))\nsys.setprofile(P(False))\n"
        "others = [P(False) for i in range(100)]\nassert type(sys.getprofile()) is P\n"
        "for i in range(1000): leaf()\nsys.setprofile(None)\nspartito.stop()\n"
    )
    assert started(spartito, tmp_path, text)[0]["__main__:leaf"]["visits"] == 1000


def test_an_exception_of_a_signal_handler_gets_out_of_start(tmp_path):
    """A signal handler raises an exception during start(), while the cost of an event is calibrated. Another thread receives the
    signal."""
    text = (
        "import shutil, signal, sys, threading\nclass Hit(Exception): pass\nhits, caught = [], 0\n"
        "def handler(*a):\n    hits.append(1)\n    raise Hit\nsignal.signal(signal.SIGALRM, handler)\n"
        "def start():\n    while not hits[before:]:\n        spartito._measure.start('x', {})\n        spartito.stop()\n"
        # Python may miss a signal that another thread just received, until the main thread checks for signals
        "        signal.pthread_sigmask(signal.SIG_BLOCK, ())\n"
        "done = threading.Event()\nt = threading.Thread(target=done.wait, daemon=True)\nt.start()\n"
        "import os\nos.makedirs('x/raw')\n"
        # the first start imports modules, and the import system itself discards some exceptions
        "spartito._measure.start('x', {})\nspartito.stop()\n"
        "for i in range(50):\n    before = len(hits)\n    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.0003 + i * 0.00005)\n        start()\n"
        "    except Hit:\n        caught += 1\n    spartito.stop()\n"
        "done.set()\nassert caught == 50, caught\n"
        "assert len(hits) == 50, len(hits)\n"
    )
    done = plain(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, "")


def test_many_measurements_keep_no_memory(tmp_path):
    text = (
        "import shutil\nfunctions = {}\nfor i in range(500): exec(f'def f{i}(): pass', functions)\n"
        "def once():\n    spartito.start('x')\n    for i in range(500): functions[f'f{i}']()\n    spartito.stop()\n"
        "    shutil.rmtree('x')\n    return int(open('/proc/self/statm').read().split()[1]) * 4096\n"
        "for i in range(10): before = once()\nfor i in range(200): after = once()\n"
        "assert after - before < 2 << 20, (before, after)\n"
    )
    done = plain(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, "")


def test_start_and_stop(spartito, tmp_path):
    text = (
        "def f(): pass\nf()\nassert not spartito.active()\nspartito.start('a/x', trace=True, trace_memory='4M', depth=None)\n"
        "assert spartito.active()\nfor i in range(5): f()\nspartito.stop()\nf()\nspartito.stop()\n"
        "assert not spartito.active()\n"
    )
    done = plain(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, "")
    assert rows_of(spartito, tmp_path / "a/x")["__main__:f"]["visits"] == 5
    info = json.loads(run(spartito, "info", "--json", tmp_path / "a/x").stdout)
    assert [p["end"] for p in info["processes"]] == ["stopped"] and info["traced"]


def test_measure_twice_with_default_names(spartito, tmp_path):
    text = "def f(): pass\nfor i in range(2):\n    with spartito.measure():\n        f()\n"
    done = plain(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, "")
    found = sorted(p for p in tmp_path.iterdir() if p.is_dir())
    assert len(found) == 2 and all(p.name.startswith("spartito-program-") for p in found)
    for p in found:
        assert rows_of(spartito, p)["__main__:f"]["visits"] == 1


def test_measure_within_a_measured_run_changes_nothing(spartito, tmp_path):
    text = "def f(): pass\nwith spartito.measure():\n    f()\nf()\n"
    assert measured(spartito, tmp_path, text)["__main__:f"]["visits"] == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("start('x', trace_memroy=3)", "TypeError: unknown setting 'trace_memroy'; did you mean trace_memory?"),
        ("start('x', trace_memory='much')", "ValueError: trace_memory: 'much' is not a size"),
        ("start('x', when_full='halt')", "ValueError: when_full: 'halt' is neither flush nor stop"),
        ("start('x', filter=['numpy'])", "ValueError: filter: 'numpy' does not begin with +"),
        ("start('x', filter='-re:(')", "ValueError: filter: '(' is no regular expression"),
        ("start('x', hook='magic')", "ValueError: hook: 'magic' is not one of the hooks"),
        ("start('program.py')", "OSError"),
        ("start('/proc/spartito')", "OSError"),
        ("start('x'); spartito.start('y')", "ValueError: measuring already"),
    ],
)
def test_start_refuses(tmp_path, call, message):
    done = plain(tmp_path, f"spartito.{call}\n")
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "y").exists()


def test_import_is_light():
    code = "import sys; before = set(sys.modules); import spartito; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout == "['spartito', 'spartito._measure', 'spartito._version']\n", done.stderr


def test_greenlets_that_were_imported_before_the_start(tmp_path):
    pytest.importorskip("greenlet")
    analyse = pytest.importorskip("spartito._analyse")
    text = (
        "import greenlet\ndef ping():\n    for _ in range(5):\n        step()\n        other.switch()\n"
        "def pong():\n    while True:\n        step()\n        one.switch()\ndef step(): pass\n"
        "spartito.start('x')\none, other = greenlet.greenlet(ping), greenlet.greenlet(pong)\none.switch()\nspartito.stop()\n"
    )
    done = plain(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, "")
    (entry,) = analyse.Model(str(tmp_path / "x")).callers("__main__:step")
    assert {c["name"]: c["visits"] for c in entry["callers"]} == {"__main__:ping": 5, "__main__:pong": 5}


@pytest.mark.parametrize("hook", HOOKS)
def test_regions_left_open_above_a_coroutine(spartito, tmp_path, hook):
    """Two regions that are never left: one was entered during a pause, and ends when its coroutine is suspended; the other ends
    when its coroutine raises. The next event after a step may be the next step of the same task."""
    model, _ = recorded(
        spartito,
        tmp_path,
        """
import asyncio
import spartito
async def pauses():
    spartito.pause()
    spartito.region("of the pause").__enter__()
    spartito.resume()
    for _ in range(4):
        await asyncio.sleep(0)
async def raises():
    spartito.region("left open").__enter__()
    raise ValueError
async def main():
    await pauses()
asyncio.run(pauses())
asyncio.run(main())
try:
    asyncio.run(raises())
except ValueError:
    pass
""",
        "--only-mine",
        "--hook",
        hook,
    )
    found = model.tasks()
    reported = {name: (g["tasks"], g["steps"], g["states"]) for name, g in by_coroutine(found).items()}
    assert reported == {
        "pauses": (1, 5, {"returned": 1}),
        "main": (1, 5, {"returned": 1}),
        "raises": (1, 1, {"raised": 1}),
    }


AWAITING = """
import asyncio
import spartito

async def leaf():
    await asyncio.sleep(0.001)

async def middle():
    with spartito.region("inner"):
        await leaf()

async def main():
    with spartito.region("outer"), spartito.region("second"):
        await middle()
        await asyncio.sleep(0.001)

asyncio.run(main())
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_waits_in_user_regions_name_the_innermost_coroutine(spartito, tmp_path, hook):
    model, _ = recorded(spartito, tmp_path, AWAITING, "--hook", hook)
    (main,) = of(model.tasks(), "main")
    assert (main["steps"], main["state"]) == (3, "returned")
    assert {where: w["count"] for where, w in waits(main).items()} == {"sleep": 2}
