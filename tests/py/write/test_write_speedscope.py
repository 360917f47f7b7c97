# SPDX-License-Identifier: BSD-3-Clause
"""speedscope files follow the documented schema, and their numbers equal the model's."""

import json
from pathlib import Path

import jsonschema
import pytest
import written

SCHEMA = Path(__file__).resolve().parents[2] / "golden" / "speedscope.schema.json"


def load(*options):
    return json.loads(written.written("speedscope", *options).read_text(encoding="utf-8"))


@pytest.mark.parametrize("options", [(), ("--trace",), ("--c-calls",)])
def test_schema(options):
    document = load(*options)
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    frames = len(document["shared"]["frames"])
    for profile in document["profiles"]:
        used = [e["frame"] for e in profile.get("events", [])] + [f for s in profile.get("samples", []) for f in s]
        assert all(frame < frames for frame in used)
        if profile["type"] == "sampled":
            assert len(profile["samples"]) == len(profile["weights"])


def test_a_profile_for_each_thread():
    names = [location["name"] for location in written.model("--trace").info()["locations"]]
    assert [profile["name"] for profile in load("--trace")["profiles"]] == names
    assert "second" in names


def test_events_are_nested_and_counted():
    document = load("--trace")
    frames, opened = document["shared"]["frames"], {}
    for profile in document["profiles"]:
        stack, last = [], profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= last
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
                name = frames[event["frame"]]["name"]
                opened[name] = opened.get(name, 0) + 1
            else:
                assert stack.pop() == event["frame"]
        assert not stack
        assert last <= profile["endValue"]
    rows = written.rows("--trace")
    for name, visits in written.VISITS.items():
        assert opened[rows[name]["name"]] == visits + written.RESUMED.get(name, 0)


def test_samples_are_the_call_paths():
    document = load()
    frames = document["shared"]["frames"]
    own = {}
    for profile in document["profiles"]:
        assert sum(profile["weights"]) == pytest.approx(profile["endValue"])
        for stack, weight in zip(profile["samples"], profile["weights"]):
            name = frames[stack[-1]]["name"]
            own[name] = own.get(name, 0) + weight
    for row in written.rows().values():
        assert own.get(row["name"], 0) / 1e9 == pytest.approx(row["excl"], abs=1e-9)
    deepest = max((stack for p in document["profiles"] for stack in p["samples"]), key=len)
    assert frames[deepest[0]]["name"] != "<root>"


def test_frames_have_file_and_line():
    frames = {frame["name"]: frame for frame in load()["shared"]["frames"]}
    for row in written.rows().values():
        assert (frames[row["name"]]["file"], frames[row["name"]]["line"]) == (row["file"], row["line"])
    assert written.REGION in frames
