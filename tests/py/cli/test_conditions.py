# SPDX-License-Identifier: BSD-3-Clause
"""Reported differences between two runs other than the program's: experiments recorded with different options."""

import copy
import functools
import json
import subprocess
import sys

import pytest
import written
from spartito.analysis import Model
from spartito.compare import conditions
from spartito.experiments import cost
from spartito.options import cellpatterns

PROGRAM = "def f(n): return sum(range(n))\nfor i in range(20): f(i)\n"
CALLERS = ": what is not recorded is in the time of its caller"


@functools.cache
def recorded(*options, argument="1"):
    """(directory, info) of a run with these options."""
    place = written.scratch() / "conditions"
    place.mkdir(exist_ok=True)
    (place / "prog.py").write_text(PROGRAM)
    target = place / f"x{len(list(place.iterdir()))}"
    command = [sys.executable, "-m", "spartito", "run", "-q", *options, "-o", target, "--", sys.executable, place / "prog.py"]
    subprocess.run([*command, argument], check=True, timeout=200)
    return str(target), Model(str(target)).info()


def sides(a, b):
    return [("A", [a] if isinstance(a, tuple) else a), ("B", [b] if isinstance(b, tuple) else b)]


def unlike(a, b):
    return conditions.unlike(sides(a, b))


def headline(a, b):
    return conditions.headline(sides(a, b))


def cell(number, **given):
    """A result of a cell with these settings, as a notebook leaves it."""
    place = written.scratch() / f"cell{len(list(written.scratch().iterdir()))}"
    place.mkdir()
    (place / "experiment.json").write_text(json.dumps({"command": [f"In[{number}]"]}))
    info = copy.deepcopy(recorded()[1])
    texts = {key: "\n".join(texts) for key, texts in given.items()}
    texts["filter"] = "\n".join([*cellpatterns.BETWEEN, *given.get("filter", ())])
    info["processes"][0]["meta"]["settings"] = "\n".join(f"{key}={text}" for key, text in texts.items())
    return str(place), info


def test_the_same_twice_is_alike():
    assert unlike(recorded(), recorded()) == []
    # the size of the trace buffer does not affect times
    assert unlike(recorded("--trace"), recorded("--trace", "--trace-memory", "64M")) == []


@pytest.mark.parametrize(
    ("options", "message", "tail"),
    [
        (["--trace"], "--trace", ""),
        (["--depth", "5"], "--depth 5", CALLERS),
        (["--exclude", "re:^z", "--include", "f"], "--exclude 're:^z', --include f", CALLERS),
        # --include implies that all else is excluded: this is not mentioned
        (["--include", "__main__:*"], "--include '__main__:*'", CALLERS),
        (["--lines", "f", "--lines", "g:*"], "--lines f, --lines 'g:*'", ""),
        (["--io"], "--io", CALLERS),
        (["--metric", "rusage:ru_utime"], "--metric rusage:ru_utime", ""),
        (["--label", "args"], "--label args", ""),
        (["--gil"], "--gil", ""),
    ],
)
def test_options(options, message, tail):
    assert unlike(recorded(), recorded(*options)) == [f"B was recorded with {message}, A without{tail}"]
    assert unlike(recorded(*options), recorded()) == [f"A was recorded with {message}, B without{tail}"]
    assert headline(recorded(), recorded(*options)) == "not recorded alike"
    assert conditions.chosen_alike(sides(recorded(), recorded(*options))) is (tail == "")


def test_a_long_list_of_patterns():
    """A long list is complete, and so are the settings after it."""
    names = [f"some.package.module_{n}" for n in range(300)]
    options = [word for name in names for word in ("--exclude", name)]
    assert unlike(recorded(), recorded(*options, "--depth", "5")) == [
        f"B was recorded with {', '.join(f'--exclude {name}' for name in names)}, --depth 5, A without{CALLERS}"
    ]


def test_both_have_options_of_their_own():
    (first, *_) = unlike(recorded("--trace", "--gil"), recorded("--trace", "--depth", "5"))
    assert first.startswith("A was recorded with --gil, B with --depth 5")


def test_c_calls():
    """In some versions of Python, C calls need another hook."""
    messages = unlike(recorded(), recorded("--c-calls"))
    assert messages[0] == f"B was recorded with --c-calls, A without{CALLERS}"
    hooks = [one[1]["processes"][0]["meta"]["hook"] for one in (recorded(), recorded("--c-calls"))]
    assert messages[1:] == ([] if hooks[0] == hooks[1] else [f"the hooks differ: A: {hooks[0]}; B: {hooks[1]}"])


def test_repeated_runs_that_are_not_alike():
    plain, gil = recorded(), recorded("--gil")
    assert unlike([plain, gil, plain], [plain, plain]) == ["A was recorded with --gil (1 of 3 runs), B without"]
    assert unlike([gil, gil], [gil]) == []


def test_commands():
    other = recorded(argument="2 b")
    assert unlike(recorded(), other) == ["the commands differ: A: prog.py 1; B: prog.py '2 b'"]
    assert headline(recorded(), other) == "other command"
    assert headline(recorded("--gil"), other) == "not recorded alike"


def test_patterns_of_cells_are_those_that_were_typed():
    """The cell's own name is shown as a dot, whatever its number. Exclusions that apply to every cell are not shown."""
    own = [cell(n, lines=cellpatterns.line_patterns(".", f"In[{n}]")) for n in (4, 5)]
    assert unlike(*own) == []
    assert unlike(cell(3), own[0]) == ["B was recorded with --lines ., A without"]
    assert unlike(cell(3), cell(6, lines=cellpatterns.line_patterns("In[4]", "In[6]"))) == [
        "B was recorded with --lines 'In[4]', A without"
    ]
    chosen = cell(7, filter=["-*", "+" + cellpatterns.pattern(".", "In[7]"), "-" + cellpatterns.pattern("In[2]:f", "In[7]")])
    assert unlike(cell(3), chosen) == [f"B was recorded with --include ., --exclude 'In[2]:f', A without{CALLERS}"]
    (message,) = unlike((recorded("--gil")[0], recorded("--gil")[1]), cell(3))
    assert "--exclude" not in message and "--gil" in message


def test_machines_and_shapes():
    directory, info = recorded()
    other = copy.deepcopy(info)
    process = other["processes"][0]
    process["host"] = "elsewhere"
    process["meta"].update(python="3.99.1", cpu="Abacus 2")
    other["locations"] = other["locations"] * 3
    here = info["processes"][0]
    assert unlike((directory, info), (directory, other)) == [
        f"the versions of Python differ: A: {here['meta']['python']}; B: 3.99.1",
        f"the hosts differ: A: {here['host']}; B: elsewhere",
        f"the processors differ: A: {here['meta']['cpu']}; B: Abacus 2",
        "A has 1 thread, B 3 threads: times are sums over all of them",
    ]
    process["meta"].clear()  # written by a tool that does not record the host's facts
    other["locations"], process["host"] = info["locations"], here["host"]
    assert unlike((directory, info), (directory, other)) == []
    assert headline((directory, info), (directory, other)) == ""
    other["locations"] = other["locations"] * 3
    assert headline((directory, info), (directory, other)) == "not as parallel"


def test_costs():
    _, info = recorded()
    (location,) = info["locations"]
    (process,) = info["processes"]
    taken = (process["cost_in"] + process["cost_out"]) * location["visits"]
    assert cost.cost(info, False) == (pytest.approx(taken), pytest.approx(taken / location["running"]))
    less = Model(recorded()[0], compensate=True).info()
    assert cost.cost(less, True)[1] == pytest.approx(taken / (less["locations"][0]["running"] + taken))
    (message,) = conditions.costs([("A", [recorded()]), ("B", [recorded(), recorded()])], False)
    assert message.startswith("measuring took about ") and message.endswith("which is in the times; --compensate takes it out")
    assert f"of A, {message.split('about ')[1].split(' of A')[0]} of B" in message
    (message,) = conditions.costs([("A", [recorded()]), ("B", [recorded()])], True)
    assert message.endswith("which has been taken out of the times")
    nothing = recorded("--exclude", "*")
    assert conditions.costs([("A", [nothing]), ("B", [nothing])], False) == []
