# SPDX-License-Identifier: BSD-3-Clause
"""Answers for the timeline (kinds timeline and overview of Model.view) agree with the numbers of the profile."""

import math
import shutil
import sys
from collections import Counter

import pytest
from commandline import run
from conftest import ROOT
from spartito.analysis import Model
from spartito.view import kinds, payload

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
    work = names.index("__main__:work")
    first, last, mine = 0.0, view(model, "timeline", location=0)[0]["end"], []
    while not mine:  # on a busy machine the calls may cover a small part of the run
        whole = view(model, "timeline", location=0, begin=first, end=last, pixels=10000)[1]
        mine = [i for i, r in enumerate(whole["region"]) if r == work and whole["calls"][i] == 1]
        middle = (first + last) / 2
        if work in view(model, "flat", location=0, begin=first, end=middle)[1]["region"]:
            last = middle
        else:
            first = middle
    begin, end = whole["begin"][mine[0]], whole["end"][mine[0]]
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
        most = max(own.values())
        # trace times are truncated to whole ns: the differences add up like a random walk
        cut = 2e-9 * math.sqrt(one["events"][location])
        assert math.isclose(own[one["region"][location]], most, rel_tol=1e-6, abs_tol=cut)
        assert math.isclose(one["share"][location] * (meta["end"] - meta["begin"]), most, rel_tol=1e-6, abs_tol=cut)
    _, many = view(model, "overview", pixels=300)
    assert max(many["share"]) <= 1
    for location in range(3):
        mine = [i for i, where in enumerate(many["location"]) if where == location]
        assert sum(many["events"][i] for i in mine) == one["events"][location]
        assert [many["bucket"][i] for i in mine] == sorted({many["bucket"][i] for i in mine})
    _, some = view(model, "overview", pixels=300, rows="1-1")
    assert list(some["region"]) == [many["region"][i] for i, where in enumerate(many["location"]) if where == 1]


@pytest.mark.parametrize(
    ("groups", "members"), [(1, [(0, 1, 2)]), (2, [(0, 1), (2,)]), (3, [(0,), (1,), (2,)]), (9, [(0,), (1,), (2,)])]
)
def test_many_locations_stand_together_in_the_overview(recorded, groups, members):
    model = Model(recorded)
    names = ("location", "bucket", "region", "share", "events")
    rows = list(zip(*(view(model, "overview", pixels=40)[1][name] for name in names)))
    meta, columns = view(model, "overview", pixels=40, limit=groups)
    assert (meta["rows"], meta["groups"]) == (3, len(members))
    found = {(row[0], row[1]): row[2:] for row in zip(*(columns[name] for name in names))}
    want = {}
    for member in members:
        for bucket in range(40):
            mine = [row for row in rows if row[0] in member and row[1] == bucket]
            shares = Counter()
            for _, _, region, share, _ in mine:
                if region != payload.NONE:
                    shares[region] += share / len(member)
            if mine:
                want[member[0], bucket] = shares, sum(row[4] for row in mine)
    assert found.keys() == want.keys()
    for place, (region, share, events) in found.items():
        shares, all_events = want[place]
        assert events == all_events
        assert share == pytest.approx(max(shares.values(), default=0), rel=1e-5, abs=1e-6)
        assert region == payload.NONE if not shares else shares[region] == pytest.approx(share, rel=1e-5, abs=1e-6)


def test_chosen_locations_stand_together_in_the_overview(recorded):
    model = Model(recorded)
    _, rows = view(model, "overview", pixels=40)
    meta, columns = view(model, "overview", pixels=40, rows="0-0,2-2", limit=1)
    assert (meta["rows"], meta["groups"]) == (3, 1) and set(columns["location"]) == {0}
    waited, opened = Counter(), Counter()
    for location, bucket, share, waiting in zip(*(rows[name] for name in ("location", "bucket", "share", "waiting"))):
        if location != 1:
            waited[bucket] += waiting / 2
            opened[bucket] += share / 2  # of the function with the most time: others may have been open too
    assert set(columns["bucket"]) == set(waited)
    for bucket, waiting, is_open in zip(columns["bucket"], columns["waiting"], columns["open"]):
        assert waiting == pytest.approx(waited[bucket], rel=1e-5, abs=1e-6)
        assert opened[bucket] - 1e-5 <= is_open <= 1.00001
    # one part of the whole run: every call is within an outermost one
    meta, columns = view(model, "overview", pixels=1, limit=1)
    (share,), whole = columns["open"], meta["end"] - meta["begin"]
    assert share == pytest.approx(sum(view(model, "flat")[1]["excl"]) / 3 / whole, rel=1e-4)
    assert "open" not in view(model, "overview", pixels=40)[1]


def by_path(tree):
    """{path of regions: (visits, incl, excl)}"""
    paths, found = [], {}
    for parent, region, *numbers in zip(tree["parent"], tree["region"], tree["visits"], tree["incl"], tree["excl"]):
        paths.append((() if parent == payload.NONE else paths[parent]) + (region,))
        found[paths[-1]] = numbers
    return found


@pytest.mark.parametrize("selection", [{}, {"location": 1}, {"process": 0}], ids=str)
def test_the_whole_range_is_the_profile(recorded, selection):
    model = Model(recorded)
    meta, whole = view(model, "tree", **selection)
    end = view(model, "timeline", location=0)[0]["end"]
    ranged, rows = view(model, "tree", begin=0, end=end, **selection)
    assert (meta["clipped"], ranged["clipped"]) == (False, True)
    assert math.isclose(meta["total"], ranged["total"], rel_tol=1e-6, abs_tol=1e-6), "times of traces are whole ns"
    first, second = by_path(whole), by_path(rows)
    assert first.keys() == second.keys()
    for path, (visits, incl, excl) in first.items():
        assert second[path][0] == visits
        assert math.isclose(second[path][1], incl, rel_tol=1e-6, abs_tol=1e-6)
        assert math.isclose(second[path][2], excl, rel_tol=1e-6, abs_tol=1e-6)
    flat, clipped = (view(model, "flat", **selection, **r)[1] for r in ({}, {"begin": 0}))
    assert sorted(flat["region"]) == sorted(clipped["region"])
    order = {region: i for i, region in enumerate(clipped["region"])}
    for i, region in enumerate(flat["region"]):
        for key in ("visits", "mean", "min", "max", "std"):
            assert math.isclose(flat[key][i], clipped[key][order[region]], rel_tol=1e-4, abs_tol=1e-6), key


def test_parts_of_the_run_add_up_to_it(recorded):
    model = Model(recorded)
    end = view(model, "timeline", location=0)[0]["end"]
    edges = [end * i / 5 for i in range(6)]
    parts = [by_path(view(model, "tree", begin=a, end=b)[1]) for a, b in zip(edges, edges[1:])]
    for path, (visits, incl, _) in by_path(view(model, "tree", begin=0, end=end)[1]).items():
        assert sum(p.get(path, [0])[0] for p in parts) == visits
        assert math.isclose(sum(p.get(path, [0, 0])[1] for p in parts), incl, rel_tol=1e-6, abs_tol=5e-8)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Models of traces written by older recorders: all ranks of an MPI program, and one process with all kinds of events."""
    found = []
    for pattern in ("v3-mpi-*.raw", "v2-trace.raw"):
        place = tmp_path_factory.mktemp("kept")
        (place / "raw").mkdir()
        for raw in (ROOT / "tests/old-raw").glob(pattern):
            shutil.copy(raw, place / "raw")
        found.append(Model(place))
    return found


def test_messages_are_those_of_the_matrix(kept):
    ranks, _ = kept
    meta, rows = view(ranks, "messages")
    matrix = view(ranks, "matrix")[1]
    of = [loc["process"] for loc in ranks.info()["locations"]]
    pairs, size = Counter(), Counter()
    for a, b, n in zip(rows["from"], rows["to"], rows["bytes"]):
        pairs[of[a], of[b]] += 1
        size[of[a], of[b]] += n
    reported = {(a, b): (n, s) for a, b, n, s in zip(matrix["from"], matrix["to"], matrix["messages"], matrix["bytes"])}
    assert reported and {pair: (n, size[pair]) for pair, n in pairs.items()} == reported
    assert list(rows["sent"]) == sorted(rows["sent"]) and meta["hidden"] == 0
    assert all(c < len(meta["comms"]) for c in rows["comm"])
    whole = list(zip(rows["sent"], rows["received"], rows["from"], rows["to"]))
    for begin, end in ((whole[2][0], whole[2][0]), (0, whole[3][0]), (whole[-1][0], 1e6)):
        part = view(ranks, "messages", begin=begin, end=end)[1]
        inside = [m for m in whole if m[0] <= end + 1e-9 and not (m[1] if m[1] == m[1] else m[0]) < begin - 1e-9]
        assert len(part["sent"]) == len(inside)
    meta, few = view(ranks, "messages", limit=2)
    assert len(few["sent"]) == 2 and meta["hidden"] == len(whole) - 2
    longest = sorted((r - s for s, r, *_ in whole if r == r), reverse=True)
    assert sorted((r - s for s, r in zip(few["sent"], few["received"])), reverse=True) == longest[:2]
    mine = view(ranks, "messages", location=1)[1]
    assert len(mine["from"]) == sum(1 in m[2:] for m in whole)


def test_markers_and_counters(kept):
    _, sample = kept
    meta, rows = view(sample, "markers")
    assert len(meta["texts"]) == len(rows["time"]) > 0 and all(isinstance(text, str) for text in meta["texts"])
    assert list(rows["time"]) == sorted(rows["time"])
    meta, all_of_them = view(sample, "counters")
    assert set(all_of_them["counter"]) and meta["names"]
    name = meta["names"][all_of_them["counter"][0]]
    one = view(sample, "counters", name=name, pixels=1)[1]
    first = [i for i, c in enumerate(all_of_them["counter"]) if meta["names"][c] == name]
    assert sum(one["values"]) == sum(all_of_them["values"][i] for i in first)
    assert max(one["max"]) == max(all_of_them["max"][i] for i in first)
    with pytest.raises(Exception, match="there is no counter nobody"):
        sample.view("counters", name="nobody")


def test_questions_that_cannot_be_answered(recorded):
    asked = kinds.Experiment(Model(recorded), str(recorded))
    for kind, given, message in (
        ("timeline", {}, "location is missing"),
        ("timeline", {"location": "0", "pixels": "20000"}, "more than 16384"),
        ("overview", {"rows": "5"}, "rows cannot be 5"),
        ("overview", {"rows": "3-1"}, "rows cannot be 3-1"),
        ("overview", {"rows": "0-1,"}, "rows cannot be 0-1,"),
        ("overview", {"rows": "1-1,0-0"}, "rows cannot be 0-0"),
        ("steps", {"rows": "0-1,2-2"}, "rows cannot be a list here: 0-1,2-2"),
        ("overview", {"levels": "3"}, "takes no levels"),
    ):
        with pytest.raises(Exception, match=message):
            asked.get(kind, given)


STEPS = """
import asyncio
async def step(n):
    for _ in range(n):
        await asyncio.sleep(0)
async def main():
    await asyncio.gather(*(asyncio.create_task(step(n), name=f"steps {n}") for n in (1, 50, 2000)))
asyncio.run(main())
"""


def test_steps_of_tasks(tmp_path):
    (tmp_path / "program.py").write_text(STEPS)
    command = [sys.executable, "-m", "spartito"]
    done = run(command, "run", "-q", "--trace", "-o", tmp_path / "x", "--", sys.executable, tmp_path / "program.py")
    assert done.returncode == 0, done.stderr
    model = Model(tmp_path / "x")
    tasks = {task["id"]: task for task in model.tasks()["tasks"]}
    assert {"steps 1", "steps 50", "steps 2000"} <= {task["name"] for task in tasks.values()}
    for pixels in (7, 1000, 16384):
        meta, columns = payload.unpack(model.view("steps", pixels=pixels))
        assert meta["tasks"] == len(tasks)
        for task in tasks.values():
            rows = [i for i, t in enumerate(columns["task"]) if t == task["id"]]
            assert 1 <= len(rows) <= 2 * pixels + 2
            assert sum(columns["steps"][i] for i in rows) == task["steps"]
            ran = sum((columns["end"][i] - columns["begin"][i]) * columns["busy"][i] for i in rows)
            assert ran == pytest.approx(task["running"], rel=1e-4, abs=1e-7)
            assert all(columns["end"][i] <= columns["begin"][i + 1] for i in rows[:-1])
    # a range contains all steps that overlap it, with their full length
    _, all_of_it = payload.unpack(model.view("steps", pixels=16384))
    middle = all_of_it["begin"][len(all_of_it["begin"]) // 2]
    _, part = payload.unpack(model.view("steps", begin=middle, end=middle + 1e-9, pixels=1, process=0))
    assert any(b <= middle <= e + 1e-9 for b, e in zip(part["begin"], part["end"]))
    _, one = payload.unpack(model.view("steps", rows="1-1"))
    assert set(one["task"]) == {1}
