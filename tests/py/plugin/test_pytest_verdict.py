# SPDX-License-Identifier: BSD-3-Clause
"""The runs of tests, and their comparison with a baseline."""

import math
import types

import pytest
from spartito import _analyse
from spartito.pytest.durations import Baseline, Durations, save
from spartito.pytest.regions import test_name as name_of
from spartito.pytest.verdict import judge


def durations(**tests):
    """tests: the calls of each test in s, one for each run."""
    made = Durations()
    for test, calls in tests.items():
        for call in calls:
            for when, seconds in (("setup", 0.5), ("call", call), ("teardown", 0.25)):
                made.add(types.SimpleNamespace(nodeid=test, when=when, duration=seconds, passed=True))
    return made


def baseline(tmp_path, *files):
    paths = [str(tmp_path / f"{i}.json") for i in range(len(files))]
    for path, tests in zip(paths, files):
        save(path, durations(**tests))
    return Baseline(paths)


def test_welch_and_holm():
    """With equal variances and two runs a side, there are two degrees of freedom: p = 1 - t / sqrt(2 + t^2)."""
    first, second = 1 - 2 / math.sqrt(6), 1 - 20 / math.sqrt(402)
    pairs = [(1.0, 1.0, 2, 3.0, 1.0, 2), (0.0, 0.0, 1, 9.0, 1.0, 2), (1.0, 1.0, 2, 21.0, 1.0, 2)]
    assert _analyse.welch(pairs) == [pytest.approx(first), None, pytest.approx(2 * second)]
    assert _analyse.welch([]) == []
    with pytest.raises(TypeError):
        _analyse.welch([1])


def test_repeated_runs_are_judged_beyond_their_noise(tmp_path):
    base = baseline(tmp_path, {"a": [1.0, 1.1], "b": [1.0, 3.0]}, {"a": [1.05], "b": [2.0]})
    verdict = judge(base, durations(a=[2.0, 2.1, 2.05], b=[1.0, 5.0, 3.0]), 20)
    assert [line.partition(" took")[0] for line in verdict.exceeded] == ["the calls of 2 compared tests", "a"]
    assert any(line.startswith("b took 50.0 % more") and "within the noise (p = " in line for line in verdict.notes)


def test_short_calls_are_judged_together(tmp_path):
    base = baseline(tmp_path, {f"t{i}": [0.002] for i in range(9)})
    verdict = judge(base, durations(**{f"t{i}": [0.004] for i in range(9)}), 50)
    assert verdict.exceeded == ["the calls of 9 compared tests took 100.0 % more (18.00 ms → 36.00 ms), above 50 %"]
    assert "9 tests below 10.00 ms not judged one by one" in verdict.notes
    assert not judge(base, durations(t1=[0.004]), None).exceeded


def test_only_runs_that_passed_count(tmp_path):
    made = durations(a=[1.0])
    made.add(types.SimpleNamespace(nodeid="a", when="setup", duration=0.1, passed=True))
    made.add(types.SimpleNamespace(nodeid="a", when="call", duration=9.0, passed=False))
    assert len(made.runs["a"]) == 2 and [run.call for run in made.passed()["a"]] == [1.0]
    failed = durations()
    failed.add(types.SimpleNamespace(nodeid="a", when="setup", duration=0.1, passed=False))
    verdict = judge(baseline(tmp_path, {"a": [1.0], "b": [1.0]}), failed, 5)
    assert not verdict.exceeded
    assert verdict.notes == ["1 test of the baseline did not run: b", "1 test of the baseline did not pass: a"]


WRONG_TIME = '{"spartito_pytest": 1, "python": "", "host": "", "tests": {"a": [[0, -1, 0]]}}'


@pytest.mark.parametrize("content", ["[]", '{"tests": {}}', WRONG_TIME])
def test_damaged_baselines_are_refused(tmp_path, content):
    (tmp_path / "base.json").write_text(content)
    with pytest.raises(pytest.UsageError, match="base.json is not a file that --spartito-save wrote"):
        Baseline([str(tmp_path / "base.json")])


@pytest.mark.parametrize(
    ("node", "step", "expected"),
    [
        ("a.py::test_x", None, "a.py::test_x"),
        ("a.py::test_x[2-4]", 1, "a.py::test_x"),
        ("a.py::test_x[1-1-4]", 0, "a.py::test_x[1]"),
        ("a.py::test_x[a-b-3-4]", 2, "a.py::test_x[a-b]"),
    ],
)
def test_repetitions_of_pytest_repeat_have_one_name(node, step, expected):
    params = {} if step is None else {"__pytest_repeat_step_number": step}
    assert name_of(types.SimpleNamespace(nodeid=node, callspec=types.SimpleNamespace(params=params))) == expected
