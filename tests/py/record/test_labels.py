# SPDX-License-Identifier: BSD-3-Clause
"""Labels name regions after the arguments, the file and the line of a call, under every hook. Their number is bounded, and building
one runs no code of the program's objects."""

import re
import shlex
import subprocess
import sys
from collections import Counter

import pytest
from commandline import run
from conftest import ROOT
from programs import HOOKS, all_programs
from rawfile import Raw
from spartito._analyse import Model
from test_programs import run as run_program


class Measured:
    """measured(source, option…) runs a program and returns (its Model, its standard output)."""

    def __init__(self, spartito, path):
        self.spartito, self.path, self.runs = spartito, path, 0

    def __call__(self, source, *options, only_mine=True):
        self.runs += 1
        directory, program = self.path / f"run{self.runs}", self.path / "program.py"
        program.write_text(source, encoding="utf-8")
        mine = ["--only-mine"] if only_mine else []
        done = run(self.spartito, "run", "-q", *mine, *options, "-o", directory, "--", sys.executable, program)
        assert (done.returncode, done.stderr) == (0, "")
        return Model(str(directory)), done.stdout


@pytest.fixture
def measured(spartito, tmp_path):
    return Measured(spartito, tmp_path)


def visits(model, but=("<module>", "comp>")):
    """{label: calls} of the program's functions."""
    rows = [row for row in model.flat() if row["file"].endswith("program.py")]
    return {row["qualname"]: row["visits"] for row in rows if not any(word in row["qualname"] for word in but)}


def losses(model):
    return [p["lost"] for p in model.info()["processes"]], [p["meta"] for p in model.info()["processes"]]


FORMS = "class C:\n    def m(self, n):\n        return n\n\n\ndef f():\n    pass\n\n\nC().m(5)\nf()\n"


@pytest.mark.parametrize(
    ("words", "method", "function"),
    [
        ("args", "C.m(self=<C>, n=5)", "f()"),
        ("line", "C.m:2", "f:6"),
        ("file", "[C.m][program.py]", "[f][program.py]"),
        ("file,line", "[C.m][program.py:2]", "[f][program.py:6]"),
        ("args,line", "C.m(self=<C>, n=5):2", "f():6"),
        ("args,file", "[C.m(self=<C>, n=5)][program.py]", "[f()][program.py]"),
        ("args,file,line", "[C.m(self=<C>, n=5)][program.py:2]", "[f()][program.py:6]"),
        ("path", "[C.m][{path}]", "[f][{path}]"),
        ("path,line", "[C.m][{path}:2]", "[f][{path}:6]"),
    ],
)
def test_forms(words, method, function, measured, tmp_path):
    model, _ = measured(FORMS, "--label", words)
    path = str(tmp_path / "program.py")
    found = {name: n for name, n in visits(model).items() if not name.startswith(("C(", "C:", "[C(", "[C]"))}
    assert found == {method.format(path=path): 1, function.format(path=path): 1}
    row = next(row for row in model.flat() if row["qualname"].startswith((function[:2], "[f")))
    assert (row["module"], row["file"], row["line"]) == ("__main__", path, 6)
    table = model.table("trip_count", max_width=0)
    assert method.replace("C.m", "m").format(path=path) in table and "C.m" not in table


def test_table_is_the_known_one(measured):
    """Prints the same table as Omnitrace's documentation for this program."""
    source = (
        "def fib(n):\n    return n if n < 2 else (fib(n - 1) + fib(n - 2))\n\n\n"
        "def inefficient(n):\n    return n\n\n\ndef run(n):\n    return fib(n) + inefficient(n)\n\n\nrun(5)\n"
    )
    model, _ = measured(source, "--label", "args", "--include", "function:fib", "--include", "function:run", only_mine=False)
    assert model.table("trip_count") == (ROOT / "tests/golden/trip_count_args.txt").read_text(encoding="utf-8")


# each call prints the label that `inspect` would build
VALUES = """\
import inspect


def show():
    frame = inspect.currentframe().f_back
    print(frame.f_code.co_name + inspect.formatargvalues(*inspect.getargvalues(frame)))


def one(n):
    show()


def many(a, b=2.5, c="x'y", *more, d=None, e=..., **rest):
    show()


def only(*, k):
    show()


def cell(n, m):
    show()
    return lambda: (n, m)


def pair(a, /, b):
    show()


NUMBERS = (0, -1, 2**63 - 1, 2**63, -(2**63), -(2**70), 10**76, True, False, None, 1.0, -0.0, 1e300, float("nan"), float("inf"), 3j)
TEXTS = ("", "a", "é", "\\u20ac", "\\U0001f600", "it's", 'say "x"', "\\ud800", "line\\nfeed", "x" * 60)
BYTES = (b"", b"\\x00a'", bytearray(b"q"))
CONTAINERS = ((), (1,), (1, "a"), [], [1, [2, [3]]], {}, {"a": 1, 2: (3,)}, set(), {1}, {"k"}, frozenset(), frozenset({2.5}))
OTHERS = (-0j, complex(1, -2), range(3), range(1, 9, 2), slice(None, 3), slice(1, 2, "s"), ..., int, inspect.Signature)
for value in (*NUMBERS, *TEXTS, *BYTES, *CONTAINERS, *OTHERS, (None, True, 1.5, b"b", "s", 2j, ())):
    one(value)
many(1)
many(1, 2, 3, 4, 5, d=6, x=7, y="z")
only(k=[])
cell("n", ("m",))
pair(1, b=2)
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_values_are_written_as_inspect_does(hook, measured):
    model, printed = measured(VALUES, "--label", "args", "--hook", hook)
    wanted = printed.replace("\n\\n", "\\n").splitlines()
    found = visits(model, but=("<module>", "show", "lambda"))
    assert sorted(found) == sorted(set(wanted)) and len(wanted) == 56
    assert all(n == wanted.count(label) for label, n in found.items())


def test_long_values_are_cut(measured):
    source = (
        "def f(v):\n    pass\n\n\ndef g(a, b, c, d, e, f, g, h, i, j):\n    pass\n\n\n"
        "f('x' * 61)\nf('x' * 1000)\nf(b'y' * 99)\nf(list(range(100)))\nf({i: i for i in range(100)})\nf(set(range(100)))\n"
        "f(10**1000)\nf(10**1000 + 1)\nf([[[[[[[1]]]]]]])\ndeep = []\ndeep.append(deep)\nf(deep)\n"
        "g(*['z' * 60] * 10)\nf([['z' * 60] * 8] * 8)\n"
    )
    found = visits(measured(source, "--label", "args")[0])
    eight = ", ".join(map(str, range(8)))
    assert found.pop(f"f(v='{'x' * 60}'...)") == 2  # values that differ only behind the cut have one label
    assert found.pop(f"f(v=b'{'y' * 60}'...)") == found.pop(f"f(v=[{eight}, ...])") == found.pop(f"f(v={{{eight}, ...}})") == 1
    assert found.pop("f(v={" + ", ".join(f"{i}: {i}" for i in range(8)) + ", ...})") == 1
    assert found.pop("f(v=<int of 3322 bits>)") == 2
    assert found.pop("f(v=[[[[[[...]]]]]])") == 2
    several, nested = sorted(found, key=lambda label: label[0], reverse=True)
    assert several.startswith(f"g(a='{'z' * 60}', b=") and several.endswith("...)") and len(several) < 700
    assert nested.startswith("f(v=[['zzz") and nested.endswith("...]])") and len(nested) < 700


HOSTILE = """\
log = []


class Hostile:
    def __repr__(self):
        log.append("repr")
        raise SystemExit("no")

    __str__ = __hash__ = __eq__ = __format__ = __repr__

    def __getattr__(self, name):
        log.append(name)
        raise AttributeError(name)


class Text(str):
    __repr__ = __str__ = __len__ = __iter__ = Hostile.__repr__


class Number(int):
    __repr__ = __str__ = __index__ = __int__ = Hostile.__repr__


class Many(list):
    __repr__ = __len__ = __iter__ = __getitem__ = Hostile.__repr__


class Table(dict):
    __repr__ = __len__ = __iter__ = keys = items = Hostile.__repr__


class Meta(type):
    def __repr__(cls):
        log.append("meta")
        return "x"


class Made(metaclass=Meta):
    pass


def f(a):
    pass


for value in (Hostile(), Text("a"), Number(3), Many([1]), Table(a=1), Made(), Made, [Hostile()]):
    f(value)
print(log)
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_no_code_of_the_program_is_run(hook, measured):
    model, printed = measured(HOSTILE, "--label", "args", "--hook", hook)
    assert printed == "[]\n"
    names = ["<Hostile>", "<Text>", "<Number>", "<Many>", "<Table>", "<Made>", "<Meta>", "[<Hostile>]"]
    labels = [label for label in visits(model) if label.startswith("f(")]
    assert sorted(labels) == sorted(f"f(a={name})" for name in names)


GENERATORS = """\
import asyncio


def count(n):
    first = n
    n = "changed"
    yield first
    n = "again"
    yield first + 1


async def wait(n):
    n += 1
    await asyncio.sleep(0)
    n += 1
    return n


async def main():
    return await asyncio.gather(wait(1), wait(2), wait(1))


for n in (1, 2, 1):
    list(count(n))
a, b = count(8), count(9)
for g in (a, b, a, b):
    next(g)
list(a), list(b)
asyncio.run(main())
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_generators_keep_their_label(hook, measured):
    model, _ = measured(GENERATORS, "--label", "args", "--hook", hook)
    rows = {row["qualname"]: (row["visits"], row["resumed"]) for row in model.flat() if row["file"].endswith("program.py")}
    assert {name: n for name, n in rows.items() if name.startswith("count")} == {
        "count(n=1)": (2, 4),
        "count(n=2)": (1, 2),
        "count(n=8)": (1, 2),
        "count(n=9)": (1, 2),
    }
    assert {name: n for name, n in rows.items() if name.startswith("wait")} == {"wait(n=1)": (2, 2), "wait(n=2)": (1, 1)}


THREADS = """\
import threading


def down(n, who):
    return n and down(n - 1, who)


threads = [threading.Thread(target=down, args=(50, k)) for k in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_recursion_in_threads(hook, measured):
    model, _ = measured(THREADS, "--label", "args", "--hook", hook)
    assert visits(model) == {f"down(n={n}, who={who})": 1 for n in range(51) for who in range(4)}


def test_a_label_is_made_once(measured):
    """One region is defined for each distinct label, however many calls there are."""
    source = "def f(n):\n    pass\n\n\nfor i in range(COUNT):\n    f(i % 7)\n"
    few, many = (measured(source.replace("COUNT", str(n)), "--label", "args")[0] for n in (7, 70_000))
    assert visits(few) == {f"f(n={i})": 1 for i in range(7)}
    assert visits(many) == {f"f(n={i})": 10_000 for i in range(7)}
    defined = [len(Raw(next((measured.path / name / "raw").iterdir())).regions) for name in ("run1", "run2")]
    assert defined[0] == defined[1]


LIMITED = """\
import os
import signal


def f(n):
    pass


for i in range(20):
    f(i)
for i in range(3):
    f(i)
"""


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGKILL)\n"])
def test_limit(end, spartito, tmp_path):
    (tmp_path / "program.py").write_text(LIMITED + end, encoding="utf-8")
    options = ["--only-mine", "--label", "args", "--label-limit", "5", "-o", tmp_path / "run"]
    run(spartito, "run", "-q", *options, "--", sys.executable, tmp_path / "program.py")
    assert visits(Model(str(tmp_path / "run"))) == {**{f"f(n={i})": 2 if i < 3 else 1 for i in range(5)}, "f": 15}
    done = run(spartito, "report", tmp_path / "run")
    message = "labels of calls beyond the 5 of --label-limit; calls that are shown without their arguments: 15"
    assert [line for line in done.stderr.splitlines() if "label" in line and line.endswith(message)]


FORK = """\
import os


def f(n):
    pass


f(1)
f(2)
if os.fork() == 0:
    f(1)
    f(3)
    f(4)
    os._exit(0)
os.wait()
f(3)
"""


def test_children_of_fork_know_the_labels(measured):
    model, _ = measured(FORK, "--label", "args", "--label-limit", "3")
    assert visits(model) == {"f(n=1)": 2, "f(n=2)": 1, "f(n=3)": 2, "f": 1}
    by_process = [
        {row["qualname"]: row["visits"] for row in model.flat(process=i) if row["qualname"].startswith("f") and row["visits"]}
        for i in range(2)
    ]
    assert by_process == [{"f(n=1)": 1, "f(n=2)": 1, "f(n=3)": 1}, {"f(n=1)": 1, "f(n=3)": 1, "f": 1}]
    _, (parent, child) = losses(model)
    assert "missing_labels" not in parent and child["missing_labels"].split()[-1] == "1"


CHANGED = """\
import spartito
from spartito import _measure


def f(n):
    pass


def again():
    _measure.label(WORDS)
    import sys
    if sys.version_info >= (3, 12):
        sys.monitoring.restart_events()


f(1)
for WORDS in ("args", "line", ""):
    again()
    f(1)
try:
    _measure.label("argsx")
except ValueError as e:
    print(e)
"""


@pytest.mark.parametrize("hook", HOOKS)
def test_labels_change_while_the_program_runs(hook, measured):
    model, printed = measured(CHANGED, "--hook", hook)
    assert {name: n for name, n in visits(model).items() if name[0] == "f"} == {"f": 2, "f(n=1)": 1, "f:5": 1}
    assert printed == "label: 'argsx' is not one of args, file, path, line\n"


def test_every_output_has_the_labels(measured, tmp_path):
    source = "import time\n\n\ndef f(n):\n    time.sleep(0.001)\n\n\nf('x')\n"
    model, _ = measured(source, "--label", "args,file", "--trace")
    for name in ("json", "folded", "callgrind", "pstats", "speedscope", "text", "tau"):
        model.convert(name, str(tmp_path / name))
        files = [tmp_path / name] if (tmp_path / name).is_file() else [p for p in (tmp_path / name).rglob("*") if p.is_file()]
        assert any(b"[f(n=" in p.read_bytes() for p in files), name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--label", "arg"], "--label: 'arg' is not one of args, file, path, line; did you mean args?"),
        (["--label-repr", "a-b"], "--label-repr: 'a-b' is no name of a type"),
        (["--label-limit", "x"], "--label-limit: 'x' is not a whole number"),
    ],
)
def test_what_cannot_be_is_refused(given, message, spartito, tmp_path):
    done = run(spartito, "run", *given, "-o", tmp_path / "run", "--", sys.executable, "-c", "pass")
    assert done.returncode == 2 and message in done.stderr and not (tmp_path / "run").exists()


def test_settings_come_from_everywhere(spartito, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.spartito]\nlabel = ["file", "args"]\nlabel_repr = ["Grid"]\n', encoding="utf-8")
    assert "label" in (config := run(spartito, "config", cwd=tmp_path).stdout) and "args,file" in config and "Grid" in config
    monkeypatch.setenv("SPARTITO_LABEL", "line")
    lines = run(spartito, "config", cwd=tmp_path).stdout.splitlines()
    assert "line" in next(line for line in lines if line.split()[:1] == ["label"])
    code = "import spartito\nspartito.start('x', label='args', label_limit=3)\n(lambda q: 0)(1)\nspartito.stop()\n"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert any(row["qualname"] == "<lambda>(q=1)" for row in Model(str(tmp_path / "x")).flat())


NAMES = """async_generators callbacks closures code_replaced code_reuse coroutines deep_recursion exceptions fork functions
generators hostile_objects methods odd_names own_greenlet recursion recursion_error sub_interpreter tasks threads"""
PROGRAMS = [program for program in all_programs() if program.name in NAMES.split() and not program.wrong_python()]


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS])
def test_programs_do_and_count_the_same(program, tmp_path):
    """Programs of tests/programs with labels print the same, exit with the same status, and their calls add up over all labels."""
    for module in program.values.get("needs", "").split():
        pytest.importorskip(module)
    command = [sys.executable, str(program.path), *shlex.split(program.values.get("args", ""))]
    options = ["--label", "args,line", "--label-limit", "100000", *shlex.split(program.values.get("options", ""))]
    measured = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", str(tmp_path / "run"), "--", *command]
    plain, under = (run_program(c, tmp_path / "cwd", program, tmp_path / "run") for c in (command, measured))
    assert under[:2] == plain[:2] and (under[2] == plain[2] or program.values.get("stderr") == "any")
    model = Model(str(tmp_path / "run"))
    visits, resumed = Counter(), Counter()
    for row in model.flat():
        name = re.sub(r"\(.*$", "", row["name"], flags=re.DOTALL) if row["kind"] == "python" else row["name"]
        visits[name] += row["visits"]
        resumed[name] += row["resumed"]
    names = {name for name in program.counts["visits"] if "(" not in name}
    assert {name: visits[name] for name in names} == {name: program.counts["visits"][name] for name in names}
    assert {name: resumed[name] for name in program.counts["resumed"]} == program.counts["resumed"]
    for process in model.info()["processes"]:
        assert not {k: v for k, v in process["lost"].items() if v and k != "deeper"} and "missing_labels" not in process["meta"]


WHERE = """\
import sys


def show(n):
    return n


for i in range(3):
    show(i)
sys.path[:0] = [HERE, HERE + "/site-packages"]
import asyncio, json, mine, theirs

json.dumps(5)
theirs.table("now")
theirs.table("at import")
"""
MODULE = "def table(n):\n    return [n]\n\n\nTABLE = table('at import'), table('too')\n"


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("options", [(), ("--include", "*")], ids=["own", "chosen"])
def test_whose_functions_have_labels(hook, options, measured, tmp_path):
    """Functions of the program always have labels, functions of packages except during their import, functions of the standard
    library only where a filter includes them."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "mine.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "site-packages" / "theirs.py").write_text(MODULE, encoding="utf-8")
    limit = ["--label-limit", "100000"] if options else ["--label-limit", "6"]
    source = WHERE.replace("HERE", repr(str(tmp_path)))
    model, _ = measured(source, "--label", "args", "--hook", hook, *limit, *options, only_mine=False)
    rows = {row["name"]: row["visits"] for row in model.flat()}
    assert {name: n for name, n in rows.items() if name.startswith("__main__:show")} == {
        f"__main__:show(n={i})": 1 for i in range(3)
    }
    own = {"mine:table(n='at import')": 1, "mine:table(n='too')": 1}
    assert {name: n for name, n in rows.items() if name.startswith("mine:table")} == own
    theirs = {name: n for name, n in rows.items() if name.startswith("theirs:table")}
    dumps = [name for name in rows if name.startswith("json:dumps")]
    if options:
        assert theirs == {"theirs:table(n='at import')": 2, "theirs:table(n='too')": 1, "theirs:table(n='now')": 1}
        assert dumps[0].startswith("json:dumps(obj=5, ")
        assert any(":_find_and_load(name='asyncio', " in name for name in rows)
    else:
        # The limit of 6 leaves 1 after 3 + 2 labels of the program: neither interpreter start-up nor imports used it.
        assert theirs == {"theirs:table": 3, "theirs:table(n='now')": 1} and dumps == ["json:dumps"]
        assert not any(":_find_and_load(" in name for name in rows)
        _, (meta,) = losses(model)
        assert meta["missing_labels"].split()[-1] == "1"
