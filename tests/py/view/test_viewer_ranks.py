# SPDX-License-Identifier: BSD-3-Clause
"""A real MPI program in the viewer: its ranks on the timeline and in the balance view, and the messages between them."""

import collections
import statistics

import pytest
from spartito.experiments import waiting
from spartito.view import payload
from test_viewer_timeline import is_dominant_where_it_ran, middle_of
from viewing import needs_viewer, ranks_of_heat

pytestmark = needs_viewer


@pytest.fixture(scope="module")
def heat(tmp_path_factory):
    yield from ranks_of_heat(tmp_path_factory)


def in_steps(model, time="excl", **span):
    """Exclusive time of step() in each rank, in the order of ranks. On a busy machine any rank may take long, not only the one with
    most work."""
    region = payload.unpack(model.view("regions"))[0]["names"].index("__main__:step")
    found = {}
    for process, of in enumerate(model.info()["processes"]):
        times = (compared if time == "running" else exclusive)(model, process, **span)
        found[of["rank"]] = times[region]
    return [found[rank] for rank in sorted(found)]


def exclusive(model, process, **span):
    _, columns = payload.unpack(model.view("flat", process=process, **span))
    return collections.Counter(dict(zip(columns["region"], columns["excl"])))


def compared(model, process, **span):
    """What a balance compares of each function in a process: running time, of functions of MPI the whole exclusive time."""
    meta = payload.unpack(model.view("regions"))[0]
    _, columns = payload.unpack(model.view("flat", process=process, **span))
    found = collections.Counter()
    for region, excl, running in zip(columns["region"], columns["excl"], columns["metric:running:excl"]):
        found[region] = excl if meta["names"][region].startswith("MPI_") else running * 1e-9
    return found


def test_ranks_of_mpi(heat):
    model, viewer = heat
    view = viewer.open("view=timeline")
    assert [row["label"] for row in view["rows"]] == [f"rank {rank}" for rank in range(4)]
    ranks = [p["rank"] for p in model.info()["processes"]]
    for row in view["rows"]:
        assert row["label"] == f"rank {ranks[model.info()['locations'][row['location']]['process']]}"
        is_dominant_where_it_ran(view, model, row["location"])
    # step()'s time is visible as far as its calls are wider than a pixel column
    shown = [view["dominance"][str(row["location"])].get("__main__:step", 0) for row in view["rows"]]
    column = (view["whole"]["end"] - view["whole"]["begin"]) / 1024
    for seen, (rank, whole) in zip(shown, enumerate(in_steps(model))):
        visits = next(row for row in model.flat(process=rank) if row["name"] == "__main__:step")["visits"]
        assert whole - 2 * column * visits - whole / 200 <= seen <= whole + 2 * column * visits + whole / 200


def test_messages_between_rows(heat):
    model, viewer = heat
    view = viewer.open("view=timeline")
    locations = [place["process"] for place in model.info()["locations"]]
    reported = {(row["from"], row["to"]): row for row in model.messages(by=("pair",))["rows"]["pair"]}
    assert view["hiddenMessages"] == 0
    found = {}
    for message in view["messages"]:
        pair = locations[message["from"]], locations[message["to"]]
        found.setdefault(pair, []).append(message)
    assert found.keys() == reported.keys()
    for pair, messages in found.items():
        assert len(messages) == reported[pair]["messages"]
        assert sum(m["bytes"] for m in messages) == reported[pair]["bytes"]
        assert sum(m["received"] - m["sent"] for m in messages) == pytest.approx(reported[pair]["time"])
    # a range shows only messages outstanding in it
    x, y = viewer.box("canvas")
    viewer.wheel(x + 800, y + 100, -1000)
    view = viewer.wheel(x + 800, y + 100, -1000)
    span = view["span"]
    inside = [m for ms in found.values() for m in ms if m["received"] >= span["begin"] and m["sent"] <= span["end"]]
    assert sorted(m["sent"] for m in view["messages"]) == sorted(m["sent"] for m in inside)


def test_lines_have_all_messages_and_never_hide_a_bar(heat):
    model, viewer = heat
    view = viewer.open("view=timeline")
    assert sum(line["count"] for line in view["lines"]) == len(view["messages"])
    assert sum(line["bytes"] for line in view["lines"]) == sum(message["bytes"] for message in view["messages"])
    rank = [row["location"] for row in view["rows"]]
    pairs = collections.Counter((message["from"], message["to"]) for message in view["messages"])
    drawn = collections.Counter()
    for line in view["lines"]:
        drawn[rank[line["from"]], rank[line["to"]]] += line["count"]
    assert drawn == pairs
    # at a line, near its sender's middle: the bar of the sender, and the message
    x, y = viewer.box("canvas")
    line = next(line for line in view["lines"] if view["left"] + 20 < line["x0"] < view["width"] - 20)
    viewer.mouse("Moved", x + line["x0"] + 0.1 * (line["x1"] - line["x0"]), y + line["y0"] + 0.1 * (line["y1"] - line["y0"]))
    tip = viewer.ready()["tip"]
    names = payload.unpack(model.view("regions"))[0]["names"]
    assert tip["title"] in names and tip["pairs"]["on"] == view["rows"][line["from"]]["label"]
    assert " from rank " in tip["pairs"]["messages"]


def longest_wait(model):
    """Location, begin and end of the longest call of MPI_Waitall that received a message, and this message: (sent, from)."""
    names = payload.unpack(model.view("regions"))[0]["names"]
    _, sent = payload.unpack(model.view("messages"))
    messages = list(zip(sent["to"], sent["received"], sent["sent"], sent["from"]))
    found = []
    for location in range(len(model.info()["locations"])):
        _, calls = payload.unpack(model.view("timeline", location=location, pixels=16_384))
        for begin, end, region, n in zip(calls["begin"], calls["end"], calls["region"], calls["calls"]):
            if names[region] != "MPI_Waitall" or n != 1:
                continue
            there = [(received, at, of) for to, received, at, of in messages if to == location and begin <= received <= end + 1e-6]
            if there:
                found.append((end - begin, location, begin, end, max(there)[1:]))
    return max(found)[1:]


def test_a_wait_leads_to_the_sender(heat):
    model, viewer = heat
    location, begin, end, (sent, sender) = longest_wait(model)
    view = viewer.open(f"view=timeline&begin={begin!r}&end={end!r}")
    rows = {row["location"]: i for i, row in enumerate(view["rows"])}
    x, y = viewer.box("canvas")
    view = viewer.click(x + 10, y + view["rows"][rows[location]]["y"] + 8)  # opens the row
    view = viewer.key("Escape")
    call = next(b for b in view["blocks"] if b["location"] == location and b["begin"] == begin and b["region"] == "MPI_Waitall")
    view = viewer.click(*middle_of(viewer, view, call))
    assert view["pinned"]["title"] == "MPI_Waitall"
    assert view["pinned"]["leap"] == {"title": "Go to the sender", "location": sender, "time": sent}
    text = viewer.page.evaluate("document.querySelector('.leap').innerText")
    assert f"message from {view['rows'][rows[sender]]['label']} arrived" in text
    viewer.page.evaluate("document.querySelector('.leap button').click()")
    view = viewer.ready()
    assert (view["focus"]["row"], view["focus"]["time"]) == (rows[sender], sent)
    assert view["span"]["begin"] <= sent <= view["span"]["end"]
    assert view["pinned"]["pairs"]["on"] == view["rows"][rows[sender]]["label"]
    assert viewer.page.exceptions() == []


def test_the_critical_path_is_drawn_over_the_rows(heat):
    model, viewer = heat
    view = viewer.open("view=timeline")
    assert view["critical"] is None
    button = "[...document.querySelectorAll('.timeline button')].find((b) => b.innerText === 'Critical path')"
    viewer.page.evaluate(f"{button}.click()")
    view = viewer.ready()
    assert viewer.page.evaluate(f"{button}.ariaPressed") == "true"
    pieces = model.critical_path()["pieces"]
    location, begin, end = max(pieces, key=lambda piece: piece[2] - piece[1])
    per_second = (view["width"] - view["left"]) / view["whole"]["end"]
    at = view["left"] + (begin + end) / 2 * per_second
    (height,) = {a[1] for a, b in zip(view["critical"], view["critical"][1:]) if a[0] < at < b[0]}
    row = next(row for row in view["rows"] if row["location"] == location)
    assert row["y"] < height < row["y"] + view["high"]
    viewer.page.evaluate(f"{button}.click()")
    assert viewer.ready()["critical"] is None


def test_balance_over_ranks(heat):
    model, viewer = heat
    view = viewer.open("view=balance")
    assert view["units"] == [f"rank {rank}" for rank in range(4)]
    reported = model.balance(over="ranks", time="running")
    assert (view["over"], view["time"]) == (reported["over"], "running")
    listed = [row["name"] for row in reported["rows"]]
    # without names that several rows share, as <listcomp>
    expected = {row["name"]: row["running"] for row in reported["rows"] if listed.count(row["name"]) == 1}
    assert {"__main__:step", "MPI_Waitall"} <= expected.keys() & {row["name"] for row in view["rows"]}
    for row in view["rows"]:
        if row["name"] in expected:
            for number in ("mean", "std", "min", "max", "imbalance"):
                assert row[number] == pytest.approx(expected[row["name"]][number], abs=1e-9), row["name"]
    assert [model.info()["processes"][unit]["rank"] for unit in reported["units"]] == [0, 1, 2, 3]
    step = next(row for row in view["rows"] if row["name"] == "__main__:step")
    times = in_steps(model, "running")
    assert times[step["maxUnit"]] == max(times)
    away = {}
    for rank, own in enumerate(times):  # compare each rank with the others
        others = [*times[:rank], *times[rank + 1 :]]
        mean = statistics.fmean(others)
        distance = abs(own - mean)
        if distance > 2 * statistics.pstdev(others) and distance > 0.05 * max(mean, own):
            away[f"rank {rank}"] = distance
    assert step["outliers"] == sorted(away, key=away.get, reverse=True)
    # each bar is the time in which a rank ran or was in MPI: less than its busy time
    locations = model.info()["locations"]
    for unit, sum_of_bar in zip(reported["units"], view["bars"]):
        paths = model.tree(process=unit)
        assert sum_of_bar == pytest.approx(sum(row["excl" if row["kind"] == "mpi" else "running"] for row in paths), rel=1e-6)
        assert sum_of_bar <= sum(x["busy"] for x in locations if x["process"] == unit) * (1 + 1e-6)


def test_a_text_that_is_cut_is_its_tooltip(heat):
    _, viewer = heat
    viewer.size(900, 600)
    cut = 0
    for view in ("balance", "waits", "critical", "matrix"):
        viewer.open(f"view={view}")
        found = viewer.cut_texts()
        cut += len(found)
        assert not [(text, untold) for text, untold in found if untold], view
    viewer.size(1280, 800)
    assert cut


def test_balance_in_a_range_of_time(heat):
    model, viewer = heat
    sent = sorted(payload.unpack(model.view("messages"))[1]["sent"])  # messages are sent before, between and after steps
    begin, end = sent[len(sent) // 2], sent[len(sent) * 3 // 4]
    view = viewer.open(f"view=balance&begin={begin!r}&end={end!r}")
    assert view["ranged"]
    step = next(row for row in view["rows"] if row["name"] == "__main__:step")
    for unit in range(4):
        process = next(i for i, p in enumerate(model.info()["processes"]) if p["rank"] == unit)
        times = compared(model, process, begin=begin, end=end)
        assert view["bars"][unit] == pytest.approx(sum(times.values()))
        if unit == step["maxUnit"]:
            assert step["max"] == pytest.approx(times[step["region"]])
    # less than in the whole run
    assert step["max"] <= end - begin + 1e-6 and step["max"] < max(in_steps(model))


def test_one_function_and_one_rank(heat):
    _, viewer = heat
    view = viewer.open("view=balance")
    step = next(row["region"] for row in view["rows"] if row["name"] == "__main__:step")
    view = viewer.open(f"view=balance&region={step}&process=2")
    assert view["one"] == "__main__:step"
    assert view["unit"] == 2
    x, y = viewer.box(".barchart canvas")
    viewer.click(x + 20, y + 30)  # the name of the first rank
    assert viewer.selection()["process"] == 0
    viewer.focus(".barchart canvas")
    viewer.key("ArrowDown", "Enter")
    assert viewer.selection()["process"] == 1
    assert viewer.pixels()[0] > 4


def test_matrix_of_messages(heat):
    model, viewer = heat
    view = viewer.open("view=matrix")
    reported = model.messages(by=("pair",))
    ranks = [p["rank"] for p in model.info()["processes"]]
    pairs = {(ranks[row["from"]], ranks[row["to"]]): row for row in reported["rows"]["pair"]}
    assert view["labels"] == [f"rank {rank}" for rank in range(4)]
    for sender in range(4):
        for receiver in range(4):
            assert view["cells"][sender][receiver] == pairs.get((sender, receiver), {"bytes": 0})["bytes"]
    assert view["sent"] == [sum(row) for row in view["cells"]]
    assert view["received"] == [sum(row[i] for row in view["cells"]) for i in range(4)]
    assert view["total"] == reported["bytes"]
    # the list has the pairs with the most first, and a click on one marks its cell
    amounts = [amount for _, _, amount in view["pairs"]]
    assert amounts == sorted((row["bytes"] for row in pairs.values()), reverse=True)
    (x, y), (sender, receiver, _) = viewer.box(".side .row:not(.head)"), view["pairs"][0]
    assert viewer.click(x + 20, y + 10)["focus"] == {"row": int(sender[5:]), "column": int(receiver[5:])}
    viewer.page.evaluate("document.querySelectorAll('.choice input')[1].click()")
    view = viewer.ready()
    assert (view["quantity"], view["total"]) == ("messages", reported["messages"])
    assert view["cells"][1][2] == pairs[1, 2]["messages"]
    # a range of the run has fewer messages
    sent = sorted(payload.unpack(model.view("messages"))[1]["sent"])
    assert 0 < viewer.open(f"view=matrix&begin=0&end={sent[len(sent) // 2]!r}")["total"] < reported["bytes"]
    assert viewer.page.exceptions() == []


def test_waits_of_functions_beside_those_of_mpi(heat):
    model, viewer = heat
    assert "metrics" in viewer.open("view=waits")
    viewer.page.evaluate("[...document.querySelectorAll('.choice label')].find((l) => l.textContent === 'Functions').click()")
    view = viewer.ready()
    assert viewer.selection()["part"] == "functions"
    assert [row[:2] for row in view["rows"]] == [[row["name"], row["kind"]] for row in waiting.rows(model)]
    assert viewer.page.exceptions() == []
