# SPDX-License-Identifier: BSD-3-Clause
"""The sentences of the summary: each is true for the numbers, and without a finding there is no sentence."""

import re
import shutil
import sys
from collections import Counter

import pytest
import waiting
from commandline import run
from conftest import ROOT
from spartito.analysis import Model
from spartito.report import locktable
from spartito.view import facts, words


def row(name, excl, incl=None, visits=1, kind="python", file="", line=0, **more):
    qualname = name.split(":")[-1]
    keys = {"name": name, "qualname": qualname, "excl": excl, "incl": excl if incl is None else incl, "visits": visits}
    return {**keys, "running": excl, "kind": kind, "file": file, "line": line, **more}


class FixedModel:
    """A model of given numbers."""

    def __init__(self, tree=(), lines=(), mpi=()):
        self._tree, self._lines, self._mpi = list(tree), list(lines), list(mpi)

    def tree(self, *, threshold):
        return self._tree

    def lines(self):
        return self._lines

    def flat(self, *, process, match, limit):
        assert match == "MPI_*"
        return self._mpi[:limit]


def experiment(busy, mpi=None, processes=1, ranks=False, visits=10):
    n = len(busy)
    role = {"role": "", "helper": False}
    process = {"sampled": False, "label": "", "command": "", **role}
    return {
        "locations": [
            {"process": i % processes, "name": f"t{i}", "busy": b, "running": b, "mpi": m, "visits": visits, "runs": "m:f", **role}
            for i, (b, m) in enumerate(zip(busy, mpi or [0.0] * n))
        ],
        "processes": [
            {"pid": 100 + i, "rank": rank, "world": None if rank is None else 0, **process}
            for i, rank in enumerate(range(processes) if ranks else [None] * processes)
        ],
        "metrics": [],
        "worlds": [processes] if ranks else [],
    }


def sentences_of(info, rows, model=None, cost=0.0):
    return [s.text for s in words.sentences(model or FixedModel(), info, list(enumerate(rows, 1)), cost)]


def test_one_function_takes_the_time():
    rows = [row("solver:step", 1.984, visits=1200, file="/x/solver.py", line=41), row("solver:halo", 0.5), row("solver:rest", 0.1)]
    assert sentences_of(experiment([3.2]), rows) == [
        "62 % of 3.200 s is spent in solver:step (solver.py:41) itself, in 1,200 calls.",
        "Next: solver:halo (16 %).",
    ]


def test_a_sentence_begins_with_a_capital():
    tree = [row("m:main", 0.0, 1.0, parent=0, path=1), row("m:solve", 0.1, 0.999, parent=1, path=2)]
    text = sentences_of(experiment([1.0]), [row("m:step", 0.999)], FixedModel(tree))
    assert text[0].startswith("Over 99 % of 1.000 s ") and text[1].startswith("Over 99 % passes through m:main > m:solve")


def test_what_a_notebook_does_for_a_cell_is_no_part_of_it():
    cell = row("In[3]", 0.1, 1.0, kind="user", file="In[3]", line=1, parent=0, path=1)
    module = row("In[3]:<module>", 0.0, 0.9, qualname="<module>", file="In[3]", line=1, parent=1, path=2)
    solve = row("In[2]:solve", 0.05, 0.27, file="In[2]", line=1, parent=2, path=3)
    step, shown = row("In[2]:step", 0.25, file="In[2]", line=4), row("display", 0.6, kind="user", file="In[3]", line=2)
    rows = [shown, step, cell, solve]
    # of the remaining 0.3 s; a function that all time of a cell passes through is not mentioned
    text = sentences_of(experiment([1.0]), rows, FixedModel([cell, module]))
    assert text == [
        "83 % of 300.0 ms is spent in In[2]:step (In[2]:4) itself, in 1 call.",
        "Next: In[2]:solve (17 %).",
    ]
    text = sentences_of(experiment([1.0]), rows, FixedModel([cell, module, solve]))
    assert text[-1] == "90 % passes through In[3] > In[3]:<module> > In[2]:solve (In[2]:1)."


def test_no_function_stands_out():
    text = sentences_of(experiment([10.0]), [row("a:f", 0.4, file="<string>", line=3), row("a:g", 0.3)])
    assert text == ["No function stands out: the longest is 4.0 % of 10.00 s, in a:f."]


def test_code_outside_of_functions():
    rows = [row("__main__:<module>", 0.5, file="/x/prog.py", line=1)]
    expected = "50 % of 1.000 s is spent in prog.py outside of functions (__main__:<module>)."
    assert sentences_of(experiment([1.0]), rows) == [expected]


def test_the_call_path_is_named_where_it_adds_information():
    tree = [
        row("m:main", 0.0, 1.0, parent=0, path=1),
        row("m:solve", 0.1, 0.9, parent=1, path=2, file="/x/m.py", line=7),
    ]
    rows = [row("m:step", 0.4), row("m:halo", 0.35)]
    text = "90 % passes through m:main > m:solve (m.py:7)."
    assert text in sentences_of(experiment([1.0]), rows, FixedModel(tree))
    assert text not in sentences_of(experiment([1.0]), [row("m:solve", 0.9)], FixedModel(tree))
    assert not any("passes" in s for s in sentences_of(experiment([1.0]), rows, FixedModel(tree[:1])))


def test_ranks_and_what_they_wait_in():
    info = experiment([4.0, 4.0], [0.4, 1.6], processes=2, ranks=True)
    text = sentences_of(info, [row("m:step", 6.0)], FixedModel(mpi=[row("MPI_Recv", 1.5, kind="mpi")]))
    assert text[0].startswith("75 % of the 8.000 s of all 2 ranks together is spent in m:step itself")
    assert text[1:] == [
        "MPI takes 25 % of the time of all ranks together.",
        "The rank with the largest share of MPI is rank 1: 40 % of its time, 38 % in MPI_Recv alone.",
        "Rank 0 is the busiest of 2 ranks outside of MPI: 3.600 s, the mean is 3.000 s.",
    ]
    assert sentences_of(experiment([4.0, 4.0], [0.0, 0.1], 2, True), [])[0] == "MPI takes 1.2 % of the time."


def test_even_and_uneven_work():
    even = "The work is even over 2 {}: the busiest has {} % more than the mean."
    assert sentences_of(experiment([1.0, 1.04]), [])[-1] == even.format("threads", "2.0")
    assert sentences_of(experiment([1.0, 1.0], processes=2), [])[-1] == even.format("processes", "0")
    assert sentences_of(experiment([3.0, 1.0]), [])[-1] == "Thread t0 is the busiest of 2 threads: 3.000 s, the mean is 2.000 s."
    assert sentences_of(experiment([1.0]), []) == []


def test_lines_alone_speak_for_themselves():
    lines = [{"name": "m:f", "excl": 1.5, "callees": 0.5, "lines": [(3, 10, 0.1, 0.0), (4, 10, 1.2, 0.3)]}]
    assert sentences_of(experiment([2.0], visits=0), [row("m:f", 2.0)], FixedModel(lines=lines)) == [
        "The longest line is 4 of m:f: 75 % of that function's 2.000 s."
    ]
    # the line that calls the main function is not the one that takes the time
    module = {"name": "m:<module>", "excl": 0.2, "callees": 3.0, "lines": [(9, 1, 0.1, 3.0), (10, 1, 0.1, 0.0)]}
    text = sentences_of(experiment([3.0], visits=0), [row("m:f", 2.0)], FixedModel(lines=[module, *lines]))
    assert text == ["The longest line is 4 of m:f: 75 % of that function's 2.000 s."]
    module["lines"].append((11, 99, 2.5, 0.0))
    text = sentences_of(experiment([3.0], visits=0), [row("m:f", 2.0)], FixedModel(lines=[module]))
    assert text == ["The longest line is 11 of m:<module>: 78 % of that function's 3.200 s."]


def test_nothing_off_and_costly():
    assert sentences_of(experiment([], visits=0), []) == ["Nothing was recorded: no function was called while recording was on."]
    text = sentences_of(experiment([1.0]), [row("off", 0.6, kind="off"), row("m:f", 0.3)], cost=0.25)
    assert text[0].startswith("30 % of 1.000 s is spent in m:f")
    assert text[1:] == [
        "For 60 % of the time recording was off.",
        "Measuring took about 25 % of it: functions called very often appear longer than they are.",
    ]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0.0, "0.0 %"),
        (0.0001, "less than 0.1 %"),
        (0.05, "5.0 %"),
        (0.0994, "9.9 %"),
        (0.0996, "10 %"),
        (0.999, "over 99 %"),
        (1.0, "100 %"),
    ],
)
def test_shares_never_say_all_or_nothing(part, text):
    assert words.share(part, 1.0) == text


def test_damage_is_reported_once(tmp_path):
    (tmp_path / "raw").mkdir()
    whole = (ROOT / "tests/old-raw/v3-mpi-0.raw").read_bytes()
    (tmp_path / "raw" / "good.raw").write_bytes(whole)
    for i in range(8):
        (tmp_path / "raw" / f"bad-{i}.raw").write_bytes(b"nothing")
    model = Model(tmp_path)
    problems = model.info()["problems"]
    found = facts.facts(model, str(tmp_path), {})
    damage = [text for text in found["lost"] if text.startswith("damaged: ")]
    assert len(problems) == 8 and len(damage) == 7 and "more location" in damage[-1]
    assert len(found["problems"]) == 2 and not any(p in text for p in found["problems"] for text in found["lost"])


def test_real_runs(tmp_path):
    program = tmp_path / "sleepy.py"
    program.write_text("import time\ndef wait():\n    time.sleep(0.2)\nwait()\n")
    command = [sys.executable, "-m", "spartito"]
    done = run(command, "run", "--c-calls", "--only-mine", "-o", tmp_path / "x", "--", sys.executable, program)
    assert done.returncode == 0, done.stderr
    found = facts.facts(Model(tmp_path / "x"), str(tmp_path / "x"), {})
    where = " of it in time:<built-in method time.sleep> (sleep)."
    assert found["sentences"][0].startswith("The thread waited for ") and found["sentences"][0].endswith(where)
    assert found["title"] == "sleepy.py"
    (tmp_path / "mpi" / "raw").mkdir(parents=True)
    for rank in range(4):
        shutil.copy(ROOT / f"tests/old-raw/v3-mpi-{rank}.raw", tmp_path / "mpi" / "raw")
    found = facts.facts(Model(tmp_path / "mpi"), str(tmp_path / "mpi"), {})
    assert any("MPI takes " in s for s in found["sentences"]) and len(found["processes"]) == 4


DEADLOCK = """
import threading
from asleep import until_asleep
locks = threading.Lock(), threading.Lock()
ready = threading.Barrier(3)
def work(own, other):
    with own:
        ready.wait()
        with other:
            pass
names = (("first", locks), ("second", locks[::-1]))
threads = [threading.Thread(target=work, args=both, name=name, daemon=True) for name, both in names]
for t in threads:
    t.start()
ready.wait()
until_asleep(*threads)
"""


def test_a_deadlock_is_reported_first(spartito, tmp_path):
    waits = waiting.recorded(spartito, tmp_path, DEADLOCK)[0]
    sentences = facts.facts(waits, str(tmp_path / "x"), {})["sentences"]
    assert sentences[0] == "Deadlock at the end: 2 threads wait for each other."
    for sentence in sentences[1:3]:
        one, other = ("first", "second") if sentence.startswith("first") else ("second", "first")
        assert sentence.startswith(f"{one} waits for Lock made at ") and f", which {other} holds; at " in sentence
        assert sentence.endswith(" in __main__:work.")
    assert not sentences[3].startswith(("first", "second", "Deadlock"))
    assert sum("Threads waited " in sentence for sentence in sentences) == 1
    for sentence in sentences:
        assert sentence.endswith(".")


def test_of_waits_the_longest(spartito, tmp_path):
    text = waiting.HELD.replace("KIND", "Lock")
    model = waiting.recorded(spartito, tmp_path, text)[0]
    sentences = facts.facts(model, str(tmp_path / "x"), {})["sentences"]
    (sentence,) = [text for text in sentences if text.startswith("Threads waited ")]
    assert re.search(r" \(without sleeps and idle threads\), \d+\.\d+ \w+ of it for .+\.$", sentence)
    found, times = model.locks(), Counter()
    for wait in found["waits"]:
        if wait["kind"] != "sleep":
            times[wait["lock"]] += wait["time"]
    names = locktable.Names(found, model.info())
    (lock,) = (i for i in times if i is not None and names.of_lock(i).endswith(f"program.py:{waiting.line_of(text, 'made')}"))
    assert names.of_lock(lock).startswith("Lock made at ") and times[lock] > 0.3
    # on a busy machine it may be another lock: the interpreter's at the start or end of a thread
    assert sentence.endswith(f" of it for {names.of_lock(max(times, key=times.get))}.")
    assert not any("eadlock" in text for text in sentences)


def test_threads_without_any_time_have_no_waits():
    """As in a damaged file, whose calls have no time: no share can be computed."""
    assert words._waiting(None, {"locations": [{"busy": 0.0, "running": 0.0}], "metrics": []}) == []
