# SPDX-License-Identifier: BSD-3-Clause
"""`spartito diff`: numbers of two models, the words of its sentences, statistics over copies of two runs, and the exit status for
CI."""

import contextlib
import functools
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter

import pytest
import written
from commandline import run
from spartito._analyse import Model
from spartito.base.text import local_time
from spartito.compare.difference import percent, sentence, word
from spartito.compare.pathnames import namer
from spartito.experiments.cost import measuring_cost

BEFORE = """
import helper
def same(): helper.twice(1)
def gone(): return 1
def slow(): return 2
for i in range(3): same()
gone(); slow()
"""
AFTER = """
import time
import assistant
def fresh(): time.sleep(0.2)
def same(): assistant.twice(1)
def slow(): time.sleep(LONG)
for i in range(5): same()
slow(); fresh()
"""
HELPER = "def twice(n): return thrice(n)\ndef thrice(n): return n\n"


@functools.cache
def experiments():
    """Two experiments, before and after; in the second one the module helper is renamed assistant. Its slow() sleeps longer than
    the whole first run took, even on a busy machine."""
    found, long = [], 0.3
    for name, program, module in (("one", BEFORE, "helper"), ("two", AFTER, "assistant")):
        place = written.scratch() / f"diff-{name}"
        place.mkdir()
        (place / "prog.py").write_text(program.replace("LONG", str(long)))
        (place / f"{module}.py").write_text(HELPER)
        command = [sys.executable, "-m", "spartito", "run", "-q", "-o", place / "exp", "--", sys.executable, place / "prog.py"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        found.append(place / "exp")
        long += 2 * sum(row["excl"] for row in Model(str(place / "exp")).flat())
    return found


def copies(i, n):
    """n copies of the same experiment."""
    places = [experiments()[i].with_name(f"exp-{k}") for k in range(n)]
    for place in places:
        if not place.exists():
            shutil.copytree(experiments()[i], place)
    return places


@functools.cache
def flat(i):
    return {row["name"]: row for row in Model(str(experiments()[i])).flat()}


def diff(spartito, *words):
    done = run(spartito, "diff", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def without_preemption(row, of="excl"):
    """The time of a row of flat() in s without preemption, which a comparison leaves out."""
    return row[of] - row["metrics"]["preempted"][of] * 1e-9


def compared(spartito, *words):
    found = json.loads(diff(spartito, *words, "--json", "--limit", "0"))
    return found, {row["name"]: row for row in found["rows"]}


def test_numbers_are_those_of_both(spartito):
    found, rows = compared(spartito, *experiments())
    before, after = flat(0), flat(1)
    names = {"__main__:same", "__main__:slow", "__main__:<module>"}
    for name in names:
        for side, of in zip(rows[name]["sides"], (before, after)):
            assert (side["visits"], side["excl"], side["incl"]) == (
                of[name]["visits"],
                pytest.approx(without_preemption(of[name]), rel=1e-9),
                pytest.approx(without_preemption(of[name], "incl"), rel=1e-9),
            )
        change = without_preemption(after[name]) - without_preemption(before[name])
        assert rows[name]["changes"][0]["excl"] == pytest.approx(change, rel=1e-9)
    for i, directory in enumerate(experiments()):
        total = sum(map(without_preemption, Model(str(directory)).flat()))
        assert found["all"]["sides"][i]["excl"] == pytest.approx(total, rel=1e-9, abs=1e-6)
    assert rows["__main__:gone"]["what"] == ["gone"] and rows["__main__:gone"]["percent"] == [pytest.approx(-100)]
    assert rows["__main__:fresh"]["what"] == ["new"] and rows["__main__:fresh"]["percent"] == [None]
    assert rows["__main__:slow"]["what"] == ["slower"]


ONE_PROCESSOR = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
COMPUTES = """
def part():
    while os.times().user < 0.5: work()
def work(): return sum(range(1000))
part()
"""


def test_preemption_is_left_out_and_stated(spartito, tmp_path):
    """During the second run another process computes on the same processor."""
    (tmp_path / "prog.py").write_text(ONE_PROCESSOR + COMPUTES)
    places = [tmp_path / name for name in ("alone", "crowded", "samples")]
    for place, options in zip(places, ((), (), ("--sample",))):
        command = [*spartito, "run", "-q", *options, "-o", place, "--", sys.executable, tmp_path / "prog.py"]
        with contextlib.ExitStack() as stack:
            if place == places[1]:
                rival = stack.enter_context(subprocess.Popen([sys.executable, "-c", ONE_PROCESSOR + "while True: pass"]))
                stack.callback(rival.kill)
            subprocess.run(command, check=True, timeout=200)
    for by in ("region", "path"):
        found, rows = compared(spartito, *places[:2], "--by", by)
        for i, place in enumerate(places[:2]):
            every = Model(str(place)).flat()
            assert found["preempted"][i] == pytest.approx(sum(row["metrics"]["preempted"]["excl"] for row in every) * 1e-9)
            assert found["all"]["sides"][i]["excl"] == pytest.approx(sum(map(without_preemption, every)))
            (part,) = (row for row in every if row["name"] == "__main__:part")
            assert rows["__main__:part"]["sides"][i]["incl"] == pytest.approx(without_preemption(part, "incl"))
        assert found["preempted"][1] > 0
        assert any(note.startswith("no time contains preemption, when others had the processor: ") for note in found["notes"])
    # samples know nothing of it: then all times contain it
    found, rows = compared(spartito, places[2], places[1])
    assert found["preempted"] is None and not any("preemption" in note for note in found["notes"])
    assert found["all"]["sides"][1]["excl"] == pytest.approx(sum(row["excl"] for row in every))


def test_a_renamed_module_is_found(spartito):
    found, rows = compared(spartito, *experiments())
    assert "assistant:twice" not in rows
    assert [side["visits"] for side in rows["helper:twice"]["sides"]] == [3, 5]
    (module,) = found["modules"]
    assert (module["before"], module["after"], module["functions"]) == ("helper", "assistant", 3)
    assert any(n.startswith("module helper is now called assistant") for n in found["notes"])
    places = {f["after"].rsplit("/", 1)[1]: f["before"].rsplit("/", 1)[1] for f in found["files"]}
    assert places["assistant.py"] == "helper.py" and places["prog.py"] == "prog.py"


def test_call_paths(spartito):
    found, _ = compared(spartito, *experiments(), "--by", "path", "--match", "thrice")
    (row,) = found["rows"]
    assert row["stack"] == ["__main__:<module>", "__main__:same", "helper:twice", "helper:thrice"]
    assert [side["visits"] for side in row["sides"]] == [3, 5]


def test_table_and_words(spartito):
    text = diff(spartito, *experiments(), "--match", "__main__:")
    lines = text.splitlines()
    assert lines[0].startswith("A  ") and lines[1].startswith("B  ")
    assert any(line.startswith("__main__:slow got slower: ") and line.endswith("called 1 time as before") for line in lines)
    assert any(line.startswith("__main__:fresh is new: ") and line.endswith("in 1 call") for line in lines)
    head = next(line for line in lines if line.lstrip().startswith("self A"))
    titles = ["self", "A", "self", "B", "change", "%", "total", "change", "calls", "what", "function", "defined", "at"]
    assert head.split() == titles
    assert "spartito diff A1 A2 A3 --with B1 B2 B3" in lines[-1]
    assert len(diff(spartito, *experiments(), "--match", "__main__:", "--limit", "2").splitlines()) < len(lines)
    back = diff(spartito, *reversed(experiments()), "--match", "slow")
    assert "__main__:slow got faster: " in back


@pytest.mark.parametrize("change, text", [
    (None, ""), (12.34, "+12.3"), (999.94, "+999.9"), (1000, "×11"), (99960, "×1,000"), (9843100, "×98,400"),
    (99970000, "×1 million"), (123456789, "×1.23 million"), (123456789e6, "×1,230,000 million"),
])  # fmt: skip
def test_a_large_change_is_a_factor(change, text):
    assert percent(change) == text


def test_what_else_differs_comes_first(spartito, tmp_path):
    a, b = experiments()
    command = [sys.executable, "-m", "spartito", "run", "-q", "--c-calls", "-o", tmp_path / "x", "--", sys.executable]
    subprocess.run([*command, a.parent / "prog.py"], check=True, timeout=200)
    lines = diff(spartito, a, tmp_path / "x", "--match", "slow").splitlines()
    begun = local_time(Model(str(a)).info()["begin"])
    assert lines[0] == f"A  {a} (prog.py; {begun})" and lines[1].startswith(f"B  {tmp_path / 'x'} (")
    assert lines[2].startswith("B was recorded with --c-calls, A without: ")
    assert any(line.startswith("measuring took about ") and line.endswith("--compensate takes it out") for line in lines)
    found = compared(spartito, a, tmp_path / "x")[0]
    assert found["unlike"][0] == lines[2]
    warning = "what got slower or faster, is new or gone may come from the other options instead of the program"
    assert found["notes"][1] == warning and warning in lines
    assert warning not in diff(spartito, a, b)
    infos = [Model(str(one)).info() for one in (a, tmp_path / "x")]
    assert found["costs"] == [[pytest.approx(measuring_cost(info))] for info in infos] and found["costs"][0][0] > 0
    assert compared(spartito, a, b)[0]["unlike"] == []


def test_compensated(spartito):
    found, rows = compared(spartito, *experiments(), "--compensate")
    assert found["compensated"] and any("has been taken out" in note for note in found["notes"])
    for i, one in enumerate(experiments()):
        times = {row["name"]: without_preemption(row) for row in Model(str(one), compensate=True).flat()}
        plain = {row["name"]: without_preemption(row) for row in Model(str(one)).flat()}
        (process,) = Model(str(one)).info()["processes"]
        for name, visits, calls in (("same", (3, 5)[i], (3, 5)[i]), ("slow", 1, 0)):
            cost = visits * process["cost_in"] + calls * process["cost_out"]
            assert times[f"__main__:{name}"] == pytest.approx(max(0, plain[f"__main__:{name}"] - cost), rel=1e-6, abs=1e-11)
            assert rows[f"__main__:{name}"]["sides"][i]["excl"] == pytest.approx(times[f"__main__:{name}"], rel=1e-9)


def test_sorting(spartito):
    rows = json.loads(diff(spartito, *experiments(), "--json", "--sort", "name", "--limit", "0"))["rows"]
    assert [r["name"] for r in rows] == sorted((r["name"] for r in rows), key=os.fsencode)
    for key, number in (
        ("change", lambda r: abs(r["changes"][0]["excl"])),
        ("total", lambda r: abs(r["changes"][0]["incl"])),
        ("visits", lambda r: abs(r["sides"][1]["visits"] - r["sides"][0]["visits"])),
        ("incl", lambda r: max(s["incl"] for s in r["sides"])),
        ("excl", lambda r: max(s["excl"] for s in r["sides"])),
    ):
        rows = json.loads(diff(spartito, *experiments(), "--json", "--sort", key))["rows"]
        assert len(rows) == 20 and [number(r) for r in rows] == sorted(map(number, rows), reverse=True)


def test_more_than_two(spartito):
    (a, c), (b, *_) = copies(0, 2), copies(1, 1)
    text = diff(spartito, a, b, c, "--match", "slow")
    assert text.splitlines()[2].startswith("C  ") and "C took" in text
    _, rows = compared(spartito, a, b, c)
    assert rows["__main__:slow"]["what"] == ["slower", "same"]


def side(excl, visits=60.0, visits_std=0.0):
    return {"excl": excl, "incl": excl, "visits": visits, "visits_std": visits_std}


def entry(before, after, p=None):
    change = {"excl": after["excl"] - before["excl"], "p": p, "p_corrected": p, "judged": True}
    return {"name": "f", "sides": [before, after], "changes": [change]}


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (0.3, 0.2999, "same"),  # less than 1 % of its exclusive time
        (0.3, 0.3031, "slower"),
        (0.0031, 0.003, "small"),  # 3 % of its exclusive time, but less than 0.1 % of the run (1 s)
        (0.003, 0.0016, "faster"),
        (0.0, 0.0, "same"),
    ],
)
def test_what_a_single_run_a_side_can_tell(before, after, what):
    assert word(entry(side(before), side(after)), 1, 1.0) == what
    repeated = word(entry(side(before), side(after), p=0.01), 1, 1.0)
    # with several runs the statistical test decides
    assert repeated == ("slower" if after > before else "faster" if after < before else "same")


def test_as_often_as_before_holds_of_all_runs():
    def text_of(*sides):
        return sentence(entry(*sides), 1, namer([]), "slower").rsplit(", ", 1)[1]

    assert text_of(side(1), side(2)) == "called 60 times as before"
    assert text_of(side(1), side(2, 181 / 3, 3**-0.5)) == "called about 60 times on both sides"  # 61, 60, 60
    assert text_of(side(1), side(2, 62)) == "called 62 times instead of 60"


def test_spread_is_shown_of_repeated_runs_alone(spartito):
    (a, c), (b, *_) = copies(0, 2), copies(1, 1)

    def heads(*words):
        head = next(line for line in diff(spartito, *words, "--match", "slow").splitlines() if line.lstrip().startswith("self A"))
        return head.split("total")[0].split()

    assert heads(b, "--with", a, c) == ["self", "A", "self", "B", "±", "change", "%"]
    assert heads(a, c, "--with", b) == ["self", "A", "±", "self", "B", "change", "%"]


def test_statistics_over_runs(spartito):
    """Runs a, b, a compared with b, a, b: the means differ by a third of the difference of a and b, so t is sqrt(1/2) with 4
    degrees of freedom."""
    (a, c, e), (b, d, f) = copies(0, 3), copies(1, 3)
    found, rows = compared(spartito, a, b, c, "--with", d, e, f)
    row = rows["__main__:slow"]
    x, y = (without_preemption(flat(i)["__main__:slow"]) for i in (0, 1))
    assert row["sides"][0]["excl"] == pytest.approx((2 * x + y) / 3)
    assert row["sides"][1]["excl_std"] == pytest.approx(abs(y - x) / 3**0.5)
    assert row["changes"][0]["p"] == pytest.approx(14 / 27) and row["what"] == ["noise"]
    assert "within the noise (p = 0.52)" in found["notes"][0]
    text = diff(spartito, a, c, "--with", b, d)  # equal runs on each side: no noise
    assert "more than the noise (p = 0)" in text and "__main__:slow got slower" in text
    assert "Welch" in text.splitlines()[-1]


def test_calls_have_no_noise(spartito, tmp_path):
    """Times of B are within those of A, however long a sleep takes. Each run of B calls one function more often, some runs the
    other."""
    (tmp_path / "prog.py").write_text(
        "import sys, time\ndef steady(t): time.sleep(t)\ndef unsteady(t): time.sleep(t)\n"
        "n, m, t, u = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])\n"
        "for i in range(n): steady(t / n)\nfor i in range(m): unsteady(u / m)\n"
    )
    both = Counter()  # sum over the runs of B
    for name, n, m, t in (("b1", 5, 3, 0.03), ("b2", 5, 7, 0.39), ("a1", 3, 3, 0.02), ("a2", 3, 3, None)):
        times = [t or both[f"__main__:{function}"] for function in ("steady", "unsteady")]
        command = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / name, "--", sys.executable, tmp_path / "prog.py"]
        subprocess.run([*command, *map(str, (n, m, *times))], check=True, timeout=200)
        if name in ("b1", "b2"):
            both.update({row["name"]: without_preemption(row) for row in Model(str(tmp_path / name)).flat()})
    places = [tmp_path / name for name in ("a1", "a2", "b1", "b2")]
    found, rows = compared(spartito, *places[:2], "--with", *places[2:])
    assert [rows[f"__main__:{name}"]["what"] for name in ("steady", "unsteady")] == [["noise"], ["noise"]]
    assert [side["visits_std"] for side in rows["__main__:steady"]["sides"]] == [0, 0]
    assert [side["visits_std"] for side in rows["__main__:unsteady"]["sides"]] == [0, pytest.approx(8**0.5)]
    messages = [note for note in found["notes"] if "in every run" in note]
    assert messages == ["__main__:steady was called 5 times instead of 3 in every run, though its time is within the noise"]


def test_status_for_ci(spartito):
    a, b = experiments()
    done = run(spartito, "diff", a, b, "--fail-above", "5%")
    assert done.returncode == 3
    messages = done.stderr.splitlines()
    # on a busy machine many functions are slower: further ones are only counted
    assert all(line.startswith("spartito diff: ") for line in messages), messages
    assert all(line.endswith(("above 5 %", "--json lists all")) for line in messages[:-1]), messages
    assert messages[-1].startswith("spartito diff: with one run on a side the noise is not known")
    assert any(line.startswith("spartito diff: everything took ") for line in messages)
    assert any(line.startswith("spartito diff: __main__:slow itself took ") for line in messages)
    assert not any("fresh" in line for line in messages)  # a new function has no earlier time
    assert run(spartito, "diff", a, *copies(0, 1), "--fail-above", "0").returncode == 0
    assert run(spartito, "diff", b, a, "--fail-above", "5", "--match", "slow").returncode == 0
    # not judged: functions below the share, and differences that are not significant
    done = run(spartito, "diff", a, b, "--fail-above", "5%", "--share", "100", "--json")
    assert done.returncode == 3 and [x.split()[0] for x in json.loads(done.stdout)["exceeded"]] == ["everything"]
    # the means differ by d/3, the variances are d²/3: the margin is Student's t for 4 degrees of freedom times √(2/9) d
    (c, d), (e, f) = copies(0, 2), copies(1, 2)
    done = run(spartito, "diff", a, b, c, "--with", e, d, f, "--fail-above", "5%", "--json")
    found = json.loads(done.stdout)
    (before, _), (change,) = found["all"]["sides"], found["all"]["changes"]
    assert change["margin"] == pytest.approx(2.7764451051977987 * 3 * change["excl"] * (2 / 9) ** 0.5)
    assert done.returncode == 0 and found["exceeded"] == []
    (text,) = found["undecided"]
    assert done.stderr == f"spartito diff: {text}\n"
    much = (change["excl"] + change["margin"]) / before["excl"]
    assert f" B may also have taken {f'×{1 + much:.3g} as much' if much >= 10 else f'{100 * much:.1f} % more'} in total; " in text
    assert f"(±{100 * change['margin'] / before['excl']:.0f} %), which is within the noise" in found["notes"][0]
    quiet = run(spartito, "diff", a, c, "--with", *copies(0, 4)[2:], "--fail-above", "5%")  # the same time in all runs
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_one_run_twice_on_a_side(spartito):
    a, b = experiments()
    done = run(spartito, "diff", a, a.parent / "." / "exp", a, "--with", b, copies(0, 1)[0])
    assert done.returncode == 0
    assert done.stderr == f"spartito diff: {a} is more than once in A: the noise looks smaller than it is\n"
    done = run(spartito, "diff", a, b, "--with", a, copies(1, 1)[0])
    assert done.returncode == 0
    assert done.stderr == f"spartito diff: {a} is in A and in B: the change looks smaller than it is\n"


def test_call_paths_of_recursion_are_distinguished(spartito, tmp_path):
    program = "def fall(n): n and fall(n - 1)\ndef even(n): return n and odd(n - 1)\ndef odd(n): return n and even(n - 1)\n"
    (tmp_path / "prog.py").write_text(program + "fall(60); even(41)\n")
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "x", "--", sys.executable, tmp_path / "prog.py"]
    assert subprocess.run(command, timeout=200).returncode == 0
    shutil.copytree(tmp_path / "x", tmp_path / "y")
    text = diff(spartito, tmp_path / "x", tmp_path / "y", "--by", "path", "--limit", "0", "--match", "__main__:*")
    paths = [line.split("same  ")[1].strip() for line in text.splitlines() if "same  " in line]
    assert len(paths) == 1 + 61 + 42 == len(set(paths))
    assert "__main__:<module> > __main__:fall ×61" in paths
    assert "__main__:<module> > (__main__:even > __main__:odd) ×21" in paths


def test_names_of_paths():
    def row(*stack, **parameters):
        return {"stack": list(stack), "name": stack[-1], "parameters": [{"name": k, "value": v} for k, v in parameters.items()]}

    long = [f"function_{i}" for i in range(20)]
    rows = [row("a", "b"), row("a", *long), row("b", *long), row("a", "f", n=1), row("a", "f", n=2), row("a", "a", "b")]
    rows.append(row("a", "b"))
    assert list(map(namer(rows), rows)) == [
        "a > b (1 of 2, by values of parameters)",
        " > ".join(["a", *long]),
        " > ".join(["b", *long]),
        "a > f [n=1]",
        "a > f [n=2]",
        "a ×2 > b",
        "a > b (2 of 2, by values of parameters)",
    ]
    assert namer(rows[:2])(rows[1]) == "… 14 more > " + " > ".join(long[-7:])
    assert namer([])({"name": "f"}) == "f"


def test_unrelated_scripts_are_not_renamed(spartito, tmp_path):
    """Each script has a <module> and a main: one is the moved script, one shares half of its functions."""
    found = {}
    for name, program in (
        ("one.py", "def main(): pass\ndef load(): pass\nmain(); load()\n"),
        ("two.py", "def main(): pass\ndef store(): pass\ndef check(): pass\nmain(); store(); check()\n"),
        ("three.py", "def main(): pass\ndef load(): pass\ndef new(): pass\nmain(); load(); new()\n"),
        ("away/one.py", "main = print\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(program)
        exp = tmp_path / name.replace("/", "-").replace(".py", "")
        command = [sys.executable, "-m", "spartito", "run", "-q", "-o", exp, "--", sys.executable, tmp_path / name]
        assert subprocess.run(command, timeout=200).returncode == 0
        if not found:
            shutil.copytree(exp, tmp_path / "first")
        files = compared(spartito, tmp_path / "first", exp)[0]["files"]
        found[name] = [os.path.relpath(f["after"], tmp_path) for f in files if f["before"] == str(tmp_path / "one.py")]
    assert found == {"one.py": [], "two.py": [], "three.py": ["three.py"], "away/one.py": ["away/one.py"]}


def test_incomplete_experiments_do_not_pass(spartito, tmp_path):
    """A damaged experiment fails the check, however small the difference."""
    a, _ = experiments()
    broken = tmp_path / "broken"
    shutil.copytree(a, broken)
    (broken / "raw" / "other.raw").write_bytes(b"SPARTITO")
    assert run(spartito, "diff", a, broken).returncode == 0
    done = run(spartito, "diff", a, broken, "--fail-above", "500%")
    assert done.returncode == 4
    damage, message = done.stderr.splitlines()
    assert "damaged: " in damage and "other.raw" in damage
    assert message.startswith(f"spartito diff: --fail-above: {broken} lacks time that was spent")
    done = run(spartito, "diff", broken, a, "--fail-above", "500%", "--json")
    assert done.returncode == 4 and json.loads(done.stdout)["incomplete"] == [str(broken)]
    assert damage.startswith(f"spartito: {broken}: damaged: ")
    assert json.loads(run(spartito, "diff", a, *copies(0, 1), "--fail-above", "1", "--json").stdout)["incomplete"] == []


def test_a_run_that_was_not_done_does_not_pass(spartito, tmp_path):
    """A run that is not complete, or was killed, took less time than a complete one would."""
    a, _ = experiments()
    (tmp_path / "prog.py").write_text("import time\ndef f(): pass\nf()\nprint('here', flush=True)\ntime.sleep(1000)\n")
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", tmp_path / "x", "--", sys.executable, tmp_path / "prog.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout.readline() == "here\n"
        done = run(spartito, "diff", a, tmp_path / "x", "--fail-above", "500%")
        assert run(spartito, "diff", a, tmp_path / "x").returncode == 0
        (program,) = Model(str(tmp_path / "x")).info()["processes"]
        os.kill(program["pid"], signal.SIGKILL)
    assert done.returncode == 4
    still, message = done.stderr.splitlines()
    assert still.startswith(f"spartito: {tmp_path / 'x'}: process {program['pid']} on ") and " still runs" in still
    assert message == f"spartito diff: --fail-above: {tmp_path / 'x'} still runs, so nothing follows from its times"
    done = run(spartito, "diff", a, tmp_path / "x", "--fail-above", "500%")
    assert done.returncode == 4 and "was ended before it was done, so nothing follows" in done.stderr


def test_what_cannot_be_compared(spartito, tmp_path):
    """Every command that compares prints one line of error and nothing else."""
    a, b = experiments()
    for place in ("newer", "cut", "bare", "void/raw"):
        (tmp_path / place).mkdir(parents=True)
    for place in ("newer", "cut"):
        shutil.copytree(a, tmp_path / place, dirs_exist_ok=True)
    (raw,) = (tmp_path / "newer" / "raw").iterdir()
    raw.write_bytes(raw.read_bytes()[:12] + b"\x63" + raw.read_bytes()[13:])
    (raw,) = (tmp_path / "cut" / "raw").iterdir()
    raw.write_bytes(raw.read_bytes()[:100])
    (tmp_path / "file").write_text("no directory")
    (tmp_path / "link").symlink_to(a)
    for place, message in (
        ("none", "none: there is no such experiment"),
        ("file", "file is not the directory of an experiment"),
        ("bare", "bare: not an experiment: there is no directory raw in it"),
        ("void", "void: no process was measured"),
        ("newer", "newer: raw/"),
        ("cut", "cut short within the header"),
        ("link", "is not compared with itself"),
    ):
        there = tmp_path / place
        for words in (
            ["diff", there, a],
            ["diff", b, a, "--with", there, b] if place != "link" else ["diff", b, a, there],
            ["html", "--compare", there, "-o", tmp_path / "page.html", a],
            ["view", "--no-browser", "--compare", there, a],
        ):
            done = run(spartito, *words)
            assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1, (words, done.stderr)
            assert done.stdout == "" and not (tmp_path / "page.html").exists()


def test_damage_is_reported_with_its_run(spartito, tmp_path):
    a, b = experiments()
    shutil.copytree(b, tmp_path / "broken")
    (tmp_path / "broken" / "raw" / "other.raw").write_bytes(b"SPARTITO")
    for words in (["diff", a, tmp_path / "broken"], ["html", "-o", tmp_path / "page.html", "--compare", tmp_path / "broken", a]):
        done = run(spartito, *words)
        assert done.returncode == 0 and done.stderr.startswith(f"spartito: {tmp_path / 'broken'}: damaged: raw/other.raw")


def test_a_narrow_pipe_and_damage(spartito, tmp_path):
    a, b = experiments()
    broken = tmp_path / "broken"
    shutil.copytree(b, broken)
    raw = next((broken / "raw").iterdir())
    raw.write_bytes(raw.read_bytes()[:100])
    done = run(spartito, "diff", a, broken)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and raw.name in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "two experiments or more are compared: spartito diff A B"),
        (["A"], 2, "two experiments or more are compared"),
        (["A", "--with"], 2, "--with needs a value: --with DIR…"),
        (["--with", "A", "B"], 2, "--with needs experiments on both sides"),
        (["A", "nowhere"], 1, "nowhere: there is no such experiment"),
        (["A", "B", "--fail-above", "much"], 2, "--fail-above: 'much' is not a percentage such as 5%"),
        (["A", "B", "--by", "line"], 2, "--by: 'line' is not one of region, path"),
        (["A", "B", "--match", "nobody"], 1, "--match: no recorded function matches 'nobody'"),
        (["", "B"], 2, "spartito diff: the name of the experiment is empty"),
        (["A", "B", "--match", ""], 2, "--match: the name is empty"),
        (["A", "B", "--limit", "-1"], 2, "--limit: '-1' is not a whole number from 0 up"),
        (["A", "B", "--json", "--markdown"], 2, "--json and --markdown exclude each other"),
        (["A", "B", "--sort", "time"], 2, "--sort: 'time' is not one of change, total"),
    ],
)
def test_mistakes(spartito, words, status, message):
    places = dict(zip("AB", map(str, experiments())))
    done = run(spartito, "diff", *(places.get(w, w) for w in words))
    assert done.returncode == status and message in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_markdown(spartito, tmp_path):
    """A renderer of Markdown reads the table with all names, and the result of --fail-above."""
    markdown_it = pytest.importorskip("markdown_it")
    work = "def work_a_lot(n):\n    for i in range(n): pass\n"
    main = "def main():\n    (lambda n: work_a_lot(n))(int(sys.argv[1]))\nmain()\n"
    (tmp_path / "program.py").write_text("import sys\n" + work + main)
    for place, n in (("before", 10_000), ("after", 3_000_000)):
        run(spartito, "run", "-q", "-o", place, "program.py", n, cwd=tmp_path)
    done = run(spartito, "diff", "--markdown", "--fail-above", "50", "before", "after", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    page = markdown_it.MarkdownIt().enable("table").render(done.stdout)
    page = html.unescape(page)
    assert page.startswith("<h3>Spartito: B compared with A</h3>") and "<strong>Above the limit of 50 %</strong>" in page
    assert "<li>__main__:work_a_lot itself took " in page.replace("\n", "")
    cells = set(re.findall(r"<td><code>(.*?)</code></td>", page))
    assert "__main__:work_a_lot" in cells and "__main__:main.<locals>.<lambda>" in cells
    assert "|" not in re.sub("<.*?>", "", page)  # no cell is torn
