# SPDX-License-Identifier: BSD-3-Clause
"""Line profiles: hits are exact. Times are at least what a line sleeps, and at most the length of the run."""

import json
import os
import signal
import subprocess
import sys

import pytest
import spartito as package
from commandline import run
from programs import HOOKS
from spartito._analyse import Model

WAYS = ((), ("--lines-only",), ("--c-calls",), ("--trace",))
NAP = 0.03


def recorded(spartito, tmp_path, text, *options, status=0, message=""):
    """Runs a program with line profiles of the functions in the options; returns its model."""
    (tmp_path / "program.py").write_text(text)
    done = run(spartito, "run", "-q", "-o", "x", *options, "--", sys.executable, "program.py", cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert done.stderr == message
    return Model(str(tmp_path / "x"))


def lines_of(model, **which):
    """{function: {line: (hits, self, callees)}}"""
    return {f["function"]: {line: (h, o, c) for line, h, o, c in f["lines"]} for f in model.lines(**which)}


def hits_of(model, **which):
    return {name: {line: row[0] for line, row in of.items()} for name, of in lines_of(model, **which).items()}


def length(model):
    info = model.info()
    return info["end"] - info["begin"]


PROGRAM = f"""\
import time
def nap():
    time.sleep({NAP})
class Solver:
    def step(self, n):
        total = 0
        for i in range(n):
            total += i
        nap(); nap()
        time.sleep({NAP})
        return [x for x in range(total)]
    @staticmethod
    def other():
        return 1
def factorial(n):
    if n > 1:
        time.sleep({NAP}); return n * factorial(n - 1)
    return 1
def items(n):
    for i in range(n):
        yield i
    return
def consume():
    for i in items(4):
        time.sleep({NAP})
def fails(n):
    if n:
        fails(n - 1)
    raise KeyError(n)
def beside():
    return 1
Solver().step(5)
Solver.other()
assert factorial(4) == 24
consume()
for i in range(3):
    beside()
    try:
        fails(2)
    except KeyError:
        pass
"""


@pytest.mark.parametrize("options", WAYS, ids=lambda o: o[0] if o else "profile")
def test_hits_and_times(spartito, tmp_path, options):
    chosen = ["Solver", "factorial", "items", "consume", "function:fails"]
    model = recorded(spartito, tmp_path, PROGRAM, *options, *[w for c in chosen for w in ("--lines", c)])
    # before Python 3.12 a comprehension is a separate function
    hits = hits_of(model)
    assert {name: of for name, of in hits.items() if "<" not in name} == {
        "Solver.step": {6: 1, 7: 6, 8: 5, 9: 1, 10: 1, 11: hits["Solver.step"][11]},
        "Solver.other": {14: 1},
        "factorial": {16: 4, 17: 3, 18: 1},
        "items": {20: 5, 21: 4, 22: 1},
        "consume": {24: 5, 25: 4},
        "fails": {27: 9, 28: 6, 29: 3},
    }
    of = lines_of(model)
    assert of["Solver.step"][9][2] >= 2 * NAP
    assert of["Solver.step"][10][2 if options == ("--c-calls",) else 1] >= NAP
    # time of a recursive call counts only in the lines of the inner call
    times = [sum(row[1] + row[2] for row in lines.values()) for lines in of.values()]
    assert 3 * NAP <= sum(row[1] + row[2] for row in of["factorial"].values()) <= length(model)
    assert all(t <= length(model) for t in times)
    # a suspended generator spends no time
    assert sum(row[1] + row[2] for row in of["items"].values()) + 4 * NAP <= length(model)
    assert of["consume"][25][1] + of["consume"][25][2] >= 4 * NAP
    assert not model.info()["problems"]
    names = {row["name"] for row in model.flat()}
    assert ("__main__:beside" in names) == (options != ("--lines-only",))


def test_coroutines_threads_and_children(spartito, tmp_path):
    text = """\
import asyncio, multiprocessing, os, threading
async def one(n):
    await asyncio.sleep(0)
    for i in range(n):
        await asyncio.sleep(0)
    return n
async def all_of_them():
    return await asyncio.gather(one(2), one(3))
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
if __name__ == "__main__":
    assert asyncio.run(all_of_them()) == [2, 3]
    threads = [threading.Thread(target=work, args=(n,)) for n in (10, 20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for method in ("fork", "spawn"):
        p = multiprocessing.get_context(method).Process(target=work, args=(30,))
        p.start()
        p.join()
"""
    model = recorded(spartito, tmp_path, text, "--lines", "one", "--lines", "*:work", "--lines-only")
    hits = hits_of(model)
    assert hits["one"] == {3: 2, 4: 7, 5: 5, 6: 2}
    info = model.info()
    by_process = [hits_of(model, process=i).get("work") for i in range(len(info["processes"]))]
    child = {10: 1, 11: 31, 12: 30, 13: 1}
    assert by_process[0] == {10: 2, 11: 32, 12: 30, 13: 2}
    assert sorted(map(str, by_process[1:])) == sorted(map(str, [child, child] + [None] * (len(by_process) - 3)))
    by_thread = [hits_of(model, location=i).get("work") for i in range(len(info["locations"]))]
    assert {10: 1, 11: 11, 12: 10, 13: 1} in by_thread and {10: 1, 11: 21, 12: 20, 13: 1} in by_thread


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_what_is_open_when_the_process_ends(spartito, tmp_path, end):
    text = f"import os, time\ndef last():\n    time.sleep({NAP})\n    {end}\ndef first():\n    last()\nfirst()\n"
    (tmp_path / "program.py").write_text(text)
    words = ["--lines-only", "--lines", "first", "--lines", "last", "--", sys.executable, "program.py"]
    done = run(spartito, "run", "-q", "-o", "x", *words, cwd=tmp_path)
    assert done.returncode == (3 if "exit" in end else -signal.SIGKILL)
    of = lines_of(Model(str(tmp_path / "x")))
    assert of["last"][3][0] == of["last"][4][0] == of["first"][6][0] == 1
    assert of["last"][3][1] >= NAP and of["first"][6][2] >= NAP


TRACED = """\
import sys
seen = []
def tracer(frame, event, arg):
    if frame.f_code.co_filename == __file__:
        seen.append((event, frame.f_code.co_name, frame.f_lineno))
    return tracer
def leaf(n):
    x = n
    return x
def chosen(n):
    y = leaf(n)
    if n == 2:
        sys.settrace(None)
    y += 1
    return y
def late():
    sys.settrace(tracer)
    chosen(1)
    z = 1
    sys.settrace(None)
chosen(0)
sys.settrace(tracer)
assert sys.gettrace() is tracer
chosen(1)
chosen(2)
assert sys.gettrace() is None
late()
print(seen)
"""


def test_trace_functions_of_the_program_go_on(spartito, tmp_path):
    (tmp_path / "program.py").write_text(TRACED)
    plain = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    for n, chosen in enumerate((["chosen"], ["chosen", "late", "leaf"])):
        options = [w for c in chosen for w in ("--lines", c)]
        done = run(spartito, "run", "-q", "-o", f"x{n}", *options, "--", sys.executable, "program.py", cwd=tmp_path)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", plain.stdout)
        model = Model(str(tmp_path / f"x{n}"))
        rest = 4 if sys.version_info >= (3, 12) else 3
        assert hits_of(model)["chosen"] == {11: 4, 12: 4, 13: 1, 14: rest, 15: rest}
        messages = [p["meta"].get("missing_lines", "") for p in model.info()["processes"]]
        assert ("sys.settrace() was called" in messages[0]) == (rest == 3)


def test_names_of_functions_in_one_that_is_marked(spartito, tmp_path):
    text = """\
import spartito
@spartito.lines
def outer():
    def inner():
        return 1
    class K:
        def method(self):
            return inner()
    return K().method()
outer()
"""
    hits = hits_of(recorded(spartito, tmp_path, text, "--lines", "*inner", "--lines", "*method"))
    assert set(hits) == {"outer", "outer.<locals>.inner", "outer.<locals>.K.method"}


def test_c_function_that_runs_python_functions(spartito, tmp_path):
    text = f"""\
import time
def key(x):
    abs(x)
    time.sleep({NAP})
    return x
def work():
    return sorted([3, 2, 1], key=key)
work()
"""
    model = recorded(spartito, tmp_path, text, "--lines", "work", "--c-calls")
    hits, own, callees = lines_of(model)["work"][7]
    (work,) = [row for row in model.flat(limit=0) if row["name"] == "__main__:work"]
    assert hits == 1 and callees >= 3 * NAP and own + callees < work["incl"] + NAP  # no time counts twice


DEEP = """\
import sys, threading
sys.setrecursionlimit(10**6)
def down(n):
    return 0 if n == 0 else 1 + down(n - 1)
def beside():
    return 1
beside()
print(down(DEPTH))
""".replace("DEPTH", "50000" if sys.version_info >= (3, 11) else "5000")


@pytest.mark.parametrize("options", [["--lines-only"], [], *(["--hook", name] for name in HOOKS), ["--exclude", "down"]])
@pytest.mark.parametrize("chosen", ["down", "beside"])
def test_deep_recursion_ends_as_without_us(spartito, tmp_path, options, chosen):
    (tmp_path / "program.py").write_text(DEEP)
    done = run(spartito, "run", "-q", "-o", "x", "--lines", chosen, *options, "--", sys.executable, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "50000\n" if sys.version_info >= (3, 11) else "5000\n")
    hits = hits_of(Model(str(tmp_path / "x")))
    assert hits["down"][4] > 1000 if chosen == "down" else hits == {"beside": {6: 1}}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions have no stack that only our calls use")
def test_lines_after_a_deep_recursion_are_those_of_calls_that_began_before(spartito, tmp_path):
    text = """\
import sys
sys.setrecursionlimit(10**6)
def down(n):
    return 0 if n == 0 else 1 + down(n - 1)
def late():
    return 1
def work():
    late()
    down(50000)
    for i in range(5):
        late()
    return 1
work()
"""
    (tmp_path / "program.py").write_text(text)
    words = ["--lines", "work", "--lines", "late", "--", sys.executable, "program.py"]
    done = run(spartito, "run", "-q", "-o", "x", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = Model(str(tmp_path / "x"))
    assert "a recursion was so deep" in model.info()["processes"][0]["meta"]["missing_lines"]
    assert hits_of(model) == {"late": {6: 1}, "work": {8: 1, 9: 1, 10: 6, 11: 5, 12: 1}}


def test_exception_thrown_into_a_generator_that_did_not_begin(spartito, tmp_path):
    text = """\
def items():
    yield 1
try:
    items().throw(KeyError("mine"))
except KeyError as e:
    print(e.args)
list(items())
"""
    (tmp_path / "program.py").write_text(text)
    done = run(spartito, "run", "-q", "-o", "x", "--lines", "items", "--", sys.executable, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "('mine',)\n", "")
    assert hits_of(Model(str(tmp_path / "x")))["items"][2] == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is there from 3.12 on")
def test_tool_of_the_program_with_the_former_id_of_spartito(spartito, tmp_path):
    text = """\
import sys, spartito
mine = sys.monitoring
def named():
    return 1
spartito.start("x", lines=["named"])
named()
tools = {mine.get_tool(i): i for i in range(6)}
spartito.stop()
own = tools["spartito, functions"]
mine.use_tool_id(own, "theirs")
mine.set_events(own, mine.events.PY_START)
spartito.lines(named)
spartito.start("y")
named()
spartito.stop()
print(mine.get_tool(own), mine.get_events(own) == mine.events.PY_START)
"""
    (tmp_path / "program.py").write_text(text)
    done = run([sys.executable], "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "theirs True\n", "")


def test_pause(spartito, tmp_path):
    text = """\
import spartito
def work(n):
    for i in range(n):
        pass
def off():
    spartito.pause()
    work(10)
    spartito.resume()
    work(20)
    return 1
work(1)
off()
"""
    hits = hits_of(recorded(spartito, tmp_path, text, "--lines", "work", "--lines", "off"))
    assert hits["work"] == {3: 23, 4: 21}
    assert hits["off"][6] == 1 and 7 not in hits["off"] and hits["off"][10] == 1


MARKED = """\
import functools
import spartito
@spartito.lines
def plain(n):
    return n + 1
@spartito.lines
class Whole:
    def method(self):
        return 1
    @classmethod
    def of_class(cls):
        return 2
    @property
    def value(self):
        return 3
def later():
    return 4
for i in range(3):
    plain(i)
Whole().method(), Whole.of_class(), Whole().value
later()
assert spartito.lines(later) is later
later()
later()
cached = spartito.lines(functools.lru_cache(plain))
"""


@pytest.mark.parametrize("options", WAYS[:3], ids=lambda o: o[0] if o else "profile")
def test_decorator(spartito, tmp_path, options):
    hits = hits_of(recorded(spartito, tmp_path, MARKED, *options))
    assert hits == {
        "plain": {5: 3},
        "Whole.method": {9: 1},
        "Whole.of_class": {12: 1},
        "Whole.value": {15: 1},
        "later": {17: 2},
    }


def test_decorator_outside_of_a_measurement():
    def function():
        return 1

    assert package.lines(function) is function
    assert package.lines(str) is str
    with pytest.raises(TypeError, match="not int"):
        package.lines(3)


def test_started_by_the_program(tmp_path):
    text = """\
import spartito
@spartito.lines
def marked():
    return 1
def named(n):
    for i in range(n):
        marked()
named(1)
for name in ("x", "y"):
    spartito.start(name, lines=["named"], lines_only=True)
    named(3)
    spartito.stop()
    named(5)
"""
    (tmp_path / "program.py").write_text(text)
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True)
    for name in ("x", "y"):
        assert hits_of(Model(str(tmp_path / name))) == {"named": {6: 4, 7: 3}, "marked": {4: 3}}
    with pytest.raises(ValueError, match=r"lines: 'x\['.*unterminated.*position 1"):
        package.start(str(tmp_path / "z"), lines="re:x[")


def test_patterns(spartito, tmp_path):
    text = "class Solver:\n    def step(self):\n        pass\ndef unused():\n    pass\ndef main():\n    Solver().step()\nmain()\n"
    patterns = ["Solvr", "step", "unused", "__main__:Solver.st*", "re:^__main__:ma[i]n$", "nothing like it"]
    message = (
        "spartito: --lines 'Solvr': no function that ran matches it; did you mean Solver or Solver.step?\n"
        "spartito: --lines 'step': no function that ran matches it; did you mean Solver.step?\n"
        "spartito: --lines 'unused': it is in the script, but none of it ran\n"
        "spartito: --lines 'nothing like it': no function that ran matches it\n"
    )
    model = recorded(spartito, tmp_path, text, "--lines-only", *[w for p in patterns for w in ("--lines", p)], message=message)
    assert set(hits_of(model)) == {"Solver.step", "main"}
    for wrong, why in (("re:a(b", "position 1"), ("", "empty"), ("module:", "empty pattern")):
        done = run(spartito, "run", "--lines", wrong, "--", sys.executable, "program.py", cwd=tmp_path)
        assert done.returncode == 2 and "--lines" in done.stderr and why in done.stderr
        assert done.stderr.count("\n") == 1


def test_settings(spartito, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.spartito]\nlines = ['work', 'function:other']\nsource = false\n")
    text = "def work():\n    pass\ndef other():\n    pass\nwork()\nother()\n"
    assert hits_of(recorded(spartito, tmp_path, text)) == {"work": {2: 1}, "other": {4: 1}}
    assert not (tmp_path / "x" / "source").exists()
    monkeypatch.setenv("SPARTITO_LINES", "other")
    monkeypatch.setenv("SPARTITO_LINES_ONLY", "1")
    done = run(spartito, "run", "-o", "y", "--", sys.executable, "program.py", cwd=tmp_path)
    model = Model(str(tmp_path / "y"))
    assert hits_of(model) == {"other": {4: 1}} and not model.flat(match="work")
    assert "next: spartito report lines y" in done.stderr


def test_source_is_kept(spartito, tmp_path):
    text = """\
import linecache, os
def work():
    return "ä"
typed = "def from_notebook():\\n    return 1\\n"
linecache.cache["<cell 1>"] = (len(typed), None, typed.splitlines(True), "<cell 1>")
space = {"__name__": "cell"}
exec(compile(typed, "<cell 1>", "exec"), space)
space["from_notebook"]()
work()
if os.fork() == 0:
    work()
    os._exit(0)
os.wait()
os.remove(__file__)
"""
    recorded(spartito, tmp_path, text, "--lines", "work", "--lines", "from_notebook")
    index = json.loads((tmp_path / "x" / "source" / "index.json").read_text())["files"]
    assert set(index) == {"<cell 1>", str(tmp_path / "program.py")}
    kept = {file: (tmp_path / "x" / "source" / name).read_text(encoding="utf-8") for file, name in index.items()}
    assert kept == {str(tmp_path / "program.py"): text, "<cell 1>": "def from_notebook():\n    return 1\n"}
    assert sorted(os.listdir(tmp_path / "x" / "source")) == sorted(["index.json", *index.values()])
    recorded(spartito, tmp_path / "x", "def work():\n    pass\nwork()\n", "--lines", "work", "--no-source")
    assert not (tmp_path / "x" / "x" / "source").exists()


GREENLETS = """\
import greenlet, time
def ping(n):
    total = 0
    for i in range(n):
        total += beside(i)
        other.switch()
    deep(9)
    return total
def deep(n):
    if n:
        return deep(n - 1)
    other.switch()
    return 0
def pong():
    while True:
        time.sleep(NAP)
        one.switch()
def beside(i):
    return i
def killed():
    try:
        greenlet.getcurrent().parent.switch()
    finally:
        beside(0)
one, other = greenlet.greenlet(ping), greenlet.greenlet(pong)
one.switch(6)
third = greenlet.greenlet(killed)
third.switch()
third.throw()
print(one.dead, third.dead)
"""


@pytest.mark.parametrize("options", [["--lines-only"], [], ["--c-calls"]], ids=["alone", "calls", "c"])
def test_greenlets_take_turns(spartito, tmp_path, options):
    """Each line's hits are exact when greenlets switch stacks, and the times do not exceed the run."""
    pytest.importorskip("greenlet")
    chosen = [w for name in ("ping", "deep", "pong", "killed") for w in ("--lines", name)]
    model = recorded(spartito, tmp_path, GREENLETS.replace("NAP", str(NAP)), *options, *chosen)
    hits = hits_of(model)
    hits["pong"].pop(15, None)  # how often `while True` is a line event depends on the Python version
    assert hits == {
        "ping": {3: 1, 4: 7, 5: 6, 6: 6, 7: 1, 8: 1},
        "deep": {10: 10, 11: 9, 12: 1, 13: 1},
        "pong": {16: 7, 17: 7},
        "killed": {21: 1, 22: 1, 24: 1},
    }
    of = lines_of(model)
    assert sum(of["pong"][16][1:]) >= 7 * NAP
    assert all(sum(sum(row[1:]) for row in lines.values()) <= length(model) for lines in of.values())
    assert not model.info()["problems"] and not any(model.info()["processes"][0]["lost"].values())


def test_lines_alone_without_any(spartito, tmp_path):
    message = (
        "spartito: --lines-only: no call was recorded, and no line: name functions by --lines, or mark them with @spartito.lines\n"
    )
    recorded(spartito, tmp_path, "def f():\n    return 1\nf()\n", "--lines-only", message=message)
    text = "import spartito\n@spartito.lines\ndef f():\n    return 1\nf()\n"
    (tmp_path / "marked").mkdir()
    assert hits_of(recorded(spartito, tmp_path / "marked", text, "--lines-only")) == {"f": {4: 1}}
