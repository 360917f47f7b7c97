# SPDX-License-Identifier: BSD-3-Clause
"""report messages, waits and critical-path on four ranks with known events (tests/c/generator/rawgen_mpi.c): the tables, messages
about a missing rank, and refusals. For waits of real programs see test_mpi_waits.py."""

import csv
import io
import json
import re
import shutil

import pytest
from commandline import run
from conftest import ROOT
from spartito.analysis import Model
from spartito.base.messages import Refused
from spartito.report import table
from spartito.report.protocol import Query


def experiment(path, ranks):
    (path / "raw").mkdir(parents=True)
    for rank in ranks:
        shutil.copy(ROOT / f"tests/old-raw/v3-mpi-{rank}.raw", path / "raw")
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return experiment(tmp_path_factory.mktemp("whole"), range(4))


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    return experiment(tmp_path_factory.mktemp("part"), range(3))


def asked(spartito, directory, *options):
    done = run(spartito, "report", *options, "--json", directory)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_messages(spartito, whole):
    found = asked(spartito, whole, "messages")
    assert (found["messages"], found["bytes"], found["notes"]) == (8, 4 * 816, [])
    assert [(r["from"], r["to"], r["messages"], r["bytes"], r["received"]) for r in found["rows"]["pair"]] == [
        (i, (i + 1) % 4, 2, 816, 2) for i in range(4)
    ]
    assert {(r["name"], r["messages"], r["bytes"]) for r in found["rows"]["comm"]} == {("MPI_COMM_WORLD", 4, 3200), ("", 4, 64)}
    assert {found["stacks"][str(r["path"])][-1]: r["bytes"] for r in found["rows"]["path"]} == {"MPI_Send": 3200, "MPI_Wait": 64}
    assert [r["bytes"] for r in found["rows"]["sender"]] == [r["bytes"] for r in found["rows"]["receiver"]] == [816] * 4
    lines = run(spartito, "report", "messages", whole).stdout.splitlines()
    assert lines[0].split() == ["messages", "bytes", "time", "from", "rank", "to", "rank"]
    assert lines[1].split() == ["2", "816", "B", "140", "ns", "0", "1"]
    assert lines[-1] == "8 messages, 3.2 KiB; every message that was sent was received"


def test_matrix_as_csv(spartito, whole):
    done = run(spartito, "report", "messages", "--csv", whole)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 8 and sum(int(r["bytes"]) for r in rows) == 4 * 816
    assert [r for r in rows if (r["from"], r["communicator"]) == ("1", "0")] == [
        {
            **{"from": "1", "to": "2", "communicator": "0", "name": "MPI_COMM_WORLD", "sent_in": "__main__:main > MPI_Send"},
            **{"messages": "1", "bytes": "800", "received": "1", "seconds": "0.000000100"},
        }
    ]


def test_critical_path(spartito, whole):
    found = asked(spartito, whole, "critical-path")
    assert found["length"] == pytest.approx(1e-6)
    assert sum(found["locations"]) == pytest.approx(found["length"])
    assert sum(r["time"] for r in found["regions"]) == pytest.approx(found["length"])
    assert all(0 <= r["at_least"] <= r["at_most"] * (1 + 1e-9) for r in found["regions"])
    out = run(spartito, "report", "critical-path", "--limit", "2", whole).stdout
    assert out.splitlines()[0].split() == ["time", "waiting", "%", "10", "%", "faster", "saves", "function"]
    assert "the critical path is 1.000 µs long, touches 1 rank and goes 0 times from one to another" in out


def test_a_rank_is_missing(spartito, part):
    found = asked(spartito, part, "messages")
    assert (found["unmatched_sends"], found["unmatched_receives"], found["unmeasured"]) == (2, 2, 4)
    assert [r["to"] for r in found["rows"]["pair"] if r["from"] == 2] == [None]
    message = "no receive was found of 2 messages and no send of 2 (4 of these with processes that were not measured)"
    assert message in run(spartito, "report", "messages", part).stdout
    assert message in run(spartito, "info", part).stdout
    assert message in asked(spartito, part, "waits")["notes"]


def test_nobody_waited(spartito, whole):
    found = asked(spartito, whole, "waits")
    assert found["rows"] == [] and {m["name"]: m["time"] for m in found["metrics"]}["mpi_latesender"] == 0
    assert run(spartito, "report", "waits", whole).stdout == "no rank waited for another\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["waits", "--rank", "0"], "--rank is not for the report waits"),
        (["critical-path", "--depth", "2"], "--depth is not for the report critical-path"),
        (["waits", "--csv"], "--csv is not for the report waits; it is for messages"),
        (["messages", "--csv", "--json"], "--csv and --json exclude each other"),
        (["messages", "--sort", "incl"], "--sort is not for the report messages; it is for flat or tree"),
        (["waits", "--compensate"], "--compensate is not for the report waits"),
    ],
)
def test_what_does_not_go(spartito, whole, options, message):
    done = run(spartito, "report", *options, whole)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr


@pytest.mark.parametrize("report", ["messages", "waits", "critical-path"])
def test_without_mpi_or_trace(spartito, tmp_path, report):
    (tmp_path / "x" / "raw").mkdir(parents=True)
    shutil.copy(ROOT / "tests/old-raw/v2-trace.raw", tmp_path / "x" / "raw")
    (tmp_path / "y" / "raw").mkdir(parents=True)
    shutil.copy(ROOT / "tests/old-raw/v2-profile.raw", tmp_path / "y" / "raw")
    for place in ("x", "y"):
        done = run(spartito, "report", report, tmp_path / place)
        message = "no MPI was recorded; this report is for programs that use MPI\n"
        if report == "waits":
            message = "it contains neither waits of threads, which `spartito run --waits` records, nor MPI\n"
        assert done.returncode != 0 and f"{tmp_path / place}: {message}" in done.stderr


@pytest.mark.parametrize("report", ["messages", "waits", "critical-path"])
def test_with_mpi_and_without_trace(whole, report):
    query = Query(Model(whole), str(whole), {})
    query.info = {**query.info, "traced": False}
    with pytest.raises(Refused, match="there is no trace, which this report reads: measure with --trace$"):
        table.find(report).gather(query)


def test_for_programs(whole, part):
    model = Model(whole)
    assert [row["bytes"] for row in model.messages(["pair"])["rows"]["pair"]] == [816] * 4
    assert sum(m["time"] for m in model.waits()["metrics"]) == 0
    assert model.critical_path(share=0.5)["found"]["operations"] == model.messages(["sender"])["operations"] > 0
    assert Model(part).messages()["unmatched_sends"] == 2
    for by in ([], ["rank"], [1]):
        with pytest.raises((ValueError, TypeError)):
            model.messages(by)
    with pytest.raises(ValueError):
        model.critical_path(share=0)


@pytest.mark.parametrize(("kind", "theme", "blue"), [("timeline", "light", "#4884d6"), ("icicle", "dark", "#3c62dc")])
def test_functions_of_mpi_have_a_colour_of_their_own(spartito, whole, tmp_path, kind, theme, blue):
    target = tmp_path / "x.svg"
    done = run(spartito, "plot", whole, "--kind", kind, "--theme", theme, "-o", target)
    assert done.returncode == 0, done.stderr
    groups = re.findall(r"<g><title>(\S+).*?</title><rect[^>]* fill=\"(#\w+)\"", target.read_text(), re.DOTALL)
    fills = dict(groups)
    assert {fill for name, fill in fills.items() if name.startswith("MPI_")} == {blue}
    assert blue not in {fill for name, fill in fills.items() if not name.startswith("MPI_")}
    assert re.search(r">MPI  [^<]*</text>", target.read_text())


def test_neighbours_in_a_timeline_stay_apart(spartito, whole, tmp_path):
    done = run(spartito, "plot", whole, "--kind", "timeline", "-o", tmp_path / "x.svg")
    assert done.returncode == 0, done.stderr
    places = re.findall(r"</title><rect x=\"(.*?)\" y=\"(.*?)\" width=\"(.*?)\"", (tmp_path / "x.svg").read_text())
    rows = [(float(x), y, float(width)) for x, y, width in places]
    gaps = [x - before - width for (before, row, width), (x, y, _) in zip(rows, rows[1:]) if row == y and width > 3]
    assert len(gaps) > 4 and min(gaps) > 0.98
