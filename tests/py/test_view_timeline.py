# SPDX-License-Identifier: BSD-3-Clause
"""What a time line is given (kinds timeline and overview of Model.view), held against the numbers of the profile."""

import math
import sys
from collections import Counter

import pytest
from spartito.analysis import Model
from spartito.view import kinds, payload
from test_cli_helpers import run

PROGRAM = """
import threading
def leaf(n):
    return sum(range(n))
def branch(n):
    for i in range(n):
        leaf(i)
def numbers(n):
    for i in range(n):
        yield leaf(i)
def work():
    for n in range(30):
        branch(n)
    return list(numbers(50))
threads = [threading.Thread(target=work, name=f"helper {i}") for i in range(2)]
for t in threads:
    t.start()
work()
for t in threads:
    t.join()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    place = tmp_path_factory.mktemp("timeline")
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "spartito"]
    done = run(command, "run", "--trace", "-o", place / "x", "--", sys.executable, place / "program.py")
    assert done.returncode == 0, done.stderr
    return place / "x"


def view(model, kind, **parameters):
    return payload.unpack(model.view(kind, **parameters))


@pytest.mark.parametrize("pixels", [1, 7, 1000])
def test_every_call_is_in_a_row(recorded, pixels):
    model = Model(recorded)
    for location in range(3):
        meta, rows = view(model, "timeline", location=location, pixels=pixels)
        tree = view(model, "tree", location=location)[1]
        calls = sum(tree["visits"]) + sum(tree.get("resumed", [0]))
        assert sum(rows["calls"]) == calls, "each call once"
        assert meta["exact"] == (len(rows["calls"]) == calls)
        filled = sum((e - b) * s for b, e, s in zip(rows["begin"], rows["end"], rows["busy"]))
        assert math.isclose(filled, sum(tree["incl"]), rel_tol=1e-5, abs_tol=1e-6), "and all its time"
        pixel = (meta["end"] - meta["begin"]) / pixels
        assert max(rows["depth"]) + 1 == meta["depth"]
        keys = list(zip(rows["depth"], rows["begin"]))
        assert keys == sorted(keys)
        for begin, end, n in zip(rows["begin"], rows["end"], rows["calls"]):
            assert end - begin <= pixel * (1 + 1e-9) or n == 1


def test_a_call_that_is_wide_enough_is_itself(recorded):
    model = Model(recorded)
    names = view(model, "regions")[0]["names"]
    whole = view(model, "timeline", location=0)[1]
    begin, end = next((b, e) for b, e, r in zip(whole["begin"], whole["end"], whole["region"]) if names[r].endswith(":work"))
    meta, rows = view(model, "timeline", location=0, begin=begin + (end - begin) / 2, end=begin + (end - begin) / 2, levels=2)
    found = [names[r].rpartition(":")[2] for r in rows["region"]]
    assert found == ["<module>", "work"] and list(rows["calls"]) == [1, 1], "what is open at a moment, down to that level"
    assert (rows["begin"][1], rows["end"][1]) == (begin, end), "also beyond the viewport"
    assert meta["depth"] >= 2


def test_overview_has_the_region_that_ran_longest(recorded):
    model = Model(recorded)
    meta, one = view(model, "overview", pixels=1)
    assert (meta["rows"], list(one["location"]), list(one["bucket"])) == (3, [0, 1, 2], [0, 0, 0])
    for location in range(3):
        tree = view(model, "tree", location=location)[1]
        own = Counter()
        for region, excl in zip(tree["region"], tree["excl"]):
            own[region] += excl
        (region, most), *_ = own.most_common()
        assert one["region"][location] == region
        assert math.isclose(one["share"][location], most / (meta["end"] - meta["begin"]), rel_tol=1e-5, abs_tol=1e-6)
    _, many = view(model, "overview", pixels=300)
    assert max(many["share"]) <= 1
    for location in range(3):
        mine = [i for i, where in enumerate(many["location"]) if where == location]
        assert sum(many["events"][i] for i in mine) == one["events"][location]
        assert [many["bucket"][i] for i in mine] == sorted({many["bucket"][i] for i in mine})
    _, some = view(model, "overview", pixels=300, rows="1-1")
    assert list(some["region"]) == [many["region"][i] for i, where in enumerate(many["location"]) if where == 1]


def test_questions_that_cannot_be_answered(recorded):
    asked = kinds.Experiment(Model(recorded), str(recorded))
    for kind, given, said in (
        ("timeline", {}, "location is missing"),
        ("timeline", {"location": "0", "pixels": "20000"}, "more than 16384"),
        ("overview", {"rows": "5"}, "rows cannot be 5"),
        ("overview", {"rows": "3-1"}, "rows cannot be 3-1"),
        ("overview", {"levels": "3"}, "takes no levels"),
    ):
        with pytest.raises(Exception, match=said):
            asked.get(kind, given)
