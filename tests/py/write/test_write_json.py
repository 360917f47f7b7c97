# SPDX-License-Identifier: BSD-3-Clause
"""The JSON output has the members that docs/formats.md describes, with the numbers of the model."""

import json
import re
from pathlib import Path

import pytest
import written

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "formats.md"


def load(*options):
    return json.loads(written.written("json", *options).read_text(encoding="utf-8"))


def test_members_are_the_documented_ones():
    section = DOCUMENT.read_text(encoding="utf-8").split("\n## json\n")[1]
    documented = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 2 and cells[0].startswith("`"):
            for member in re.findall(r"`(\w+)`", cells[0]):
                documented[member] = re.findall(r"`(\w+)`", cells[1])
    found = load("--trace")
    assert set(found) == set(documented) - {"lost"}
    for member in ("processes", "children", "locations", "regions"):
        for element in found[member]:
            assert set(element) <= set(documented[member]), member
            assert {"name", "file", "process"} & set(element)
            if "lost" in element:
                assert set(element["lost"]) == set(documented["lost"])


def test_tree_and_values():
    found = load()
    regions, paths = found["regions"], found["paths"]
    assert paths[0] == [None, 0, None] and regions[0]["kind"] == "root"
    assert all(parent < index for index, (parent, _, _) in enumerate(paths) if index)
    assert len(found["values"]) == len(found["locations"])
    own, visits = {}, {}
    for rows in found["values"]:
        for row in rows:
            value = dict(zip(found["value_columns"], row))
            region = paths[value["path"]][1]
            own[region] = own.get(region, 0) + value["excl"]
            visits[region] = visits.get(region, 0) + value["visits"]
    expected = written.rows()
    for index, region in enumerate(regions):
        if region["file"] == written.file() and region["qualname"] in written.VISITS:
            row = expected[region["qualname"]]
            assert visits[index] == written.VISITS[region["qualname"]]
            assert own[index] / 1e9 == pytest.approx(row["excl"], abs=1e-9)
            assert region["line"] == row["line"]


def test_processes_and_threads():
    found, info = load("--trace"), written.model("--trace").info()
    assert found["traced"] is True
    assert found["begin"] / 1e9 == pytest.approx(info["begin"], abs=1e-3)
    assert [p["pid"] for p in found["processes"]] == [p["pid"] for p in info["processes"]]
    assert [x["name"] for x in found["locations"]] == [x["name"] for x in info["locations"]]
    assert found["processes"][0]["end"] == "normal"
    assert {"order", "case"} <= set(found["parameters"]) and "bytes" in found["counters"]
