# SPDX-License-Identifier: BSD-3-Clause
"""MPI in all output formats: four ranks with all kinds of records (tests/c/generator/rawgen_mpi.c, `rawgen mpi DIR 4`), read by
otf2-print and pycubexr."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pycubexr
import pytest
from archive import converted
from spartito._analyse import Model
from spartito.base.text import seconds
from spartito.report import summary

ROOT = Path(__file__).parents[3]
RANKS = 4


def experiment(path, ranks=range(RANKS), worlds=1):
    """An experiment with the raw files of these ranks. Those of another world have another number in their META."""
    (path / "raw").mkdir(parents=True)
    for world in range(worlds):
        for rank in ranks:
            data = (ROOT / f"tests/old-raw/v3-mpi-{rank}.raw").read_bytes()
            assert b"0000000000000abc" in data
            data = data.replace(b"0000000000000abc", b"0000000000000ab%d" % world)
            data = data.replace((0xABC).to_bytes(8, sys.byteorder), (0xAB0 + world).to_bytes(8, sys.byteorder))
            (path / "raw" / f"w{world}-{rank}.raw").write_bytes(data)
    return str(path)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("otf2")
    return converted(experiment(path / "x"), path / "out")


def test_ranks_and_groups(archive):
    groups = [line.split('"')[1] for line in archive.of("LOCATION_GROUP")]
    assert groups == [f"MPI Rank {i}" for i in range(RANKS)]
    assert archive.of("PARADIGM", 'MPI, Name: "MPI", Class: PROCESS')
    assert archive.of("GROUP", "COMM_LOCATIONS", 'Paradigm: "MPI"', "4 Members")
    assert len(archive.of("GROUP", "COMM_SELF", "0 Members")) == 1
    members = [line.split("Member")[-1] for line in archive.of("GROUP", "COMM_GROUP", 'Paradigm: "MPI"')]
    ranks = [re.findall(r"(\d+) \(", line) for line in members]
    # groups of events, then groups of communicators, each once
    assert ranks == [["0", "1", "2", "3"], ["0", "1", "2", "3"], ["0", "2"], ["1", "3"]]


def test_communicators(archive):
    comms = archive.of("COMM", "CREATE_DESTROY_EVENTS")
    shown = sorted((line.split('"')[1], re.search(r"Parent: (\S+),", line)[1]) for line in comms)
    # one MPI_COMM_SELF for all, and for each rank its copy of it
    assert shown == sorted(
        [("MPI_COMM_WORLD", "UNDEFINED"), ("MPI_COMM_SELF", "UNDEFINED"), ("", '"MPI_COMM_WORLD"')]
        + [("half", '"MPI_COMM_WORLD"')] * 2
        + [("", '"MPI_COMM_SELF"')] * RANKS
    )
    assert archive.of("CART_TOPOLOGY", '"ring"', "1 Dimension")
    assert archive.of("CART_DIMENSION", "Size: 4, Periodicity: TRUE")
    assert len(archive.of("CART_COORDINATE", '"ring"')) == RANKS
    assert archive.of("RMA_WIN", '"window"', "MPI_COMM_WORLD", "CREATE_DESTROY_EVENTS")


def test_regions(archive):
    for name, role in (
        ("MPI_Send", "POINT2POINT"),
        ("MPI_Wait", "FUNCTION"),
        ("MPI_Barrier", "BARRIER"),
        ("MPI_Put", "RMA"),
        ("MPI_File_write_all", "FILE_IO"),
    ):
        assert archive.of("REGION", f'"{name}"', f'Role: {role}, Paradigm: "MPI"', 'File: "MPI"')
    assert archive.of("GROUP", 'Name: "MPI"', "Type: REGIONS", "6 Members")


def test_roles_of_what_concerns_files(tmp_path):
    """The region roles of Score-P 8.4. The name of one function in the raw files is replaced by another of the same length."""
    name = b"MPI_File_write_all"
    for other, role in (
        ("MPI_File_sync", "FILE_IO"),
        ("MPI_File_seek", "FILE_IO_METADATA"),
        ("MPI_File_open", "FILE_IO_METADATA"),
        ("MPI_File_get_size", "FUNCTION"),
        ("MPI_File_set_view", "FUNCTION"),
        ("MPI_Free_mem", "DEALLOCATE"),
    ):
        path = experiment(tmp_path / other)
        for raw in Path(path, "raw").iterdir():
            data = raw.read_bytes()
            assert name in data
            raw.write_bytes(data.replace(name, other.encode().ljust(len(name), b"_")))
        found = converted(path, tmp_path / (other + ".out")).of("REGION", f'"{other}')
        assert len(found) == 1 and f'Role: {role}, Paradigm: "MPI"' in found[0], (other, found)


def test_messages(archive):
    kinds = [line.split(" ")[0] for line in archive.at(2) if re.match("MPI_I?(SEND|RECV|REQ)|ENTER|LEAVE", line)]
    assert kinds[1:12] == [
        *("ENTER", "MPI_SEND", "LEAVE", "ENTER", "MPI_RECV", "LEAVE"),
        *("ENTER", "MPI_ISEND", "MPI_IRECV_REQUEST", "MPI_IRECV_REQUEST", "MPI_REQUEST_TEST"),
    ]
    assert archive.at(2, "MPI_SEND") == ['MPI_SEND Receiver: 3 ("MainThread"), Communicator: "MPI_COMM_WORLD", Tag: 7, Length: 800']
    assert archive.at(2, "MPI_RECV") == ['MPI_RECV Sender: 1 ("MainThread"), Communicator: "MPI_COMM_WORLD", Tag: 7, Length: 800']
    assert archive.at(2, "MPI_ISEND") == ['MPI_ISEND Receiver: 3 ("MainThread"), Communicator: "", Tag: 8, Length: 16, Request: 1']
    assert archive.at(2, "MPI_IRECV") == ['MPI_IRECV Sender: 1 ("MainThread"), Communicator: "", Tag: 8, Length: 16, Request: 2']
    assert archive.at(2, "MPI_ISEND_COMPLETE", "MPI_REQUEST_TEST", "MPI_REQUEST_CANCELLED") == [
        "MPI_REQUEST_TEST Request: 2",
        "MPI_ISEND_COMPLETE Request: 1",
        "MPI_REQUEST_CANCELLED Request: 3",
    ]


def test_collectives(archive):
    assert len(archive.at(1, "MPI_COLLECTIVE_BEGIN")) == 2
    assert archive.at(1, "MPI_COLLECTIVE_END") == [
        'MPI_COLLECTIVE_END Operation: BARRIER, Communicator: "MPI_COMM_WORLD", Root: NONE, Sent: 0, Received: 0',
        'MPI_COLLECTIVE_END Operation: BCAST, Communicator: "MPI_COMM_WORLD", Root: 3 ("MainThread"), Sent: 32, Received: 8',
    ]
    assert archive.at(1, "NON_BLOCKING_COLLECTIVE_REQUEST") == ["NON_BLOCKING_COLLECTIVE_REQUEST Request: 4"]
    (done,) = archive.at(1, "NON_BLOCKING_COLLECTIVE_COMPLETE")
    assert 'ALLREDUCE, Communicator: "half", Root: NONE, Sent: 8, Received: 8, Request: 4' in done
    created = [line.split('"')[1] for line in archive.at(1, "COMM_CREATE")]
    assert created == ["MPI_COMM_WORLD", "MPI_COMM_SELF", "half", "", ""]
    assert len(archive.at(1, "COMM_DESTROY")) == 1


def test_one_sided(archive):
    rma = [line for line in archive.at(3) if line.startswith("RMA_")]
    window = 'Window: "window"'
    assert rma == [
        f"RMA_WIN_CREATE {window}",
        "RMA_COLLECTIVE_BEGIN",
        f"RMA_COLLECTIVE_END Operation: BARRIER, {window}, Level of Synchronicity: {{PROCESS}}, Root: NONE, Sent: 0, Received: 0",
        f'RMA_REQUEST_LOCK {window}, Remote: 0 ("MainThread"), Lock: 5, Type: SHARED',
        f'RMA_PUT {window}, Remote: 0 ("MainThread"), Bytes: 64, Matching: 9',
        f'RMA_GET {window}, Remote: 0 ("MainThread"), Bytes: 32, Matching: 10',
        f'RMA_ATOMIC {window}, Remote: 0 ("MainThread"), Type: SWAP, Sent: 8, Received: 8, Matching: 11',
        f"RMA_OP_COMPLETE_BLOCKING {window}, Matching: 9",
        f"RMA_OP_COMPLETE_NON_BLOCKING {window}, Matching: 10",
        f'RMA_RELEASE_LOCK {window}, Remote: 0 ("MainThread"), Lock: 5',
        f"RMA_REQUEST_LOCK {window}, Remote: UNDEFINED, Lock: 6, Type: SHARED",
        f"RMA_RELEASE_LOCK {window}, Remote: UNDEFINED, Lock: 6",
        f'RMA_GROUP_SYNC Level of Synchronicity: {{MEMORY}}, {window}, Group: ""',
        f"RMA_WIN_DESTROY {window}",
    ]


def test_files(archive):
    assert archive.of("IO_PARADIGM", '"MPI-IO"', "PARALLEL")
    assert len(archive.of("IO_HANDLE", "ring.bin", '"MPI-IO"', 'Communicator: "MPI_COMM_WORLD"')) == RANKS
    (begin,) = archive.at(0, "IO_OPERATION_BEGIN")
    assert "Mode: WRITE, Operation Flags: {NON_BLOCKING, COLLECTIVE}, Bytes Request: 80, Matching Id: 42" in begin
    assert archive.at(0, "IO_OPERATION_ISSUED")[0].endswith("Matching Id: 42")
    assert archive.at(0, "IO_OPERATION_COMPLETE")[0].endswith("Bytes Result: 80, Matching Id: 42")
    assert "MPI-IO" in archive.at(0, "IO_DELETE_FILE")[0] and "ring.bin" in archive.at(0, "IO_DELETE_FILE")[0]


def test_a_rank_that_was_not_measured_has_an_end_for_messages(tmp_path):
    a = converted(experiment(tmp_path / "x", ranks=(1, 2, 3)), tmp_path / "out")
    assert a.of("LOCATION_GROUP", '"MPI Rank 0"') and a.of("LOCATION", '"not recorded"', "# Events: 0", '"MPI Rank 0"')
    assert a.at(0, "MPI_RECV")[0].startswith('MPI_RECV Sender: 0 ("not recorded"), Communicator: "MPI_COMM_WORLD"')
    assert a.at(2, "MPI_SEND")[0].startswith('MPI_SEND Receiver: 0 ("not recorded")')


def test_one_rank_alone(tmp_path):
    a = converted(experiment(tmp_path / "x"), tmp_path / "out", process=2)
    assert {where for _, where, _, _ in a.events} == {"2"}
    assert a.at(2, "MPI_SEND")[0].startswith('MPI_SEND Receiver: 3 ("not recorded"), Communicator: "MPI_COMM_WORLD"')
    assert len(a.of("COMM", '"MPI_COMM_SELF"', "CREATE_DESTROY")) == 2  # MPI_COMM_SELF, and as parent of this rank's copy


def test_worlds_do_not_collide(tmp_path):
    a = converted(experiment(tmp_path / "x", ranks=(0, 1, 2, 3), worlds=2), tmp_path / "out")
    names = [line.split('"')[1] for line in a.of("LOCATION_GROUP")]
    assert names == [f"MPI Rank {i}" for i in range(4)] + [f"MPI Rank {i} of world 2" for i in range(4)]
    worlds = [line for line in a.raw if line.startswith("COMM ") and '"MPI_COMM_WORLD"' in line.split("Group")[0]]
    groups = [re.search(r'Group: "" <(\d+)>', line)[1] for line in worlds]
    members = [[line for line in a.raw if re.match(rf"GROUP +{g} ", line)][0] for g in groups]
    assert [re.findall(r"(\d+) \(", line) for line in members] == [list("0123"), list("4567")]
    second = [rest for kind, where, _, rest in a.events if kind == "MPI_SEND" and where == "6"]
    assert re.match(rf'Receiver: 3 \("MainThread" <7>\), Communicator: "MPI_COMM_WORLD" <{worlds[1].split()[1]}>', second[0])


# ---- Cube ----


def rows(cnode, above=()):
    path = (*above, cnode.region.name)
    yield path, cnode
    for child in cnode.get_children():
        yield from rows(child, path)


def test_cube(tmp_path):
    Model(experiment(tmp_path / "x")).convert("cube", str(tmp_path / "x.cubex"))
    with pycubexr.CubexParser(tmp_path / "x.cubex") as parser:
        names = [m.name for m in parser.all_metrics()]
        assert [n for n in names if "bytes" in n] == [
            *("bytes_sent", "bytes_received", "bytes_put", "bytes_get"),
            *("io_bytes_read", "io_bytes_written", "mpi_io_bytes_written"),
        ]
        (root,) = parser.get_root_cnodes()
        cnodes = {path[-1]: cnode for path, cnode in rows(root)}

        def values(metric, region):
            return parser.get_metric_values(parser.get_metric_by_name(metric)).cnode_values(cnodes[region]).tolist()

        assert values("bytes_sent", "MPI_Send") == [800] * RANKS
        assert values("bytes_received", "MPI_Recv") == [800] * RANKS
        assert values("bytes_received", "MPI_Send") == [0] * RANKS
        # bytes written by MPI count in the total and in its sub-metric for MPI
        assert values("io_bytes_written", "MPI_File_write_all") == [80] * RANKS
        assert values("mpi_io_bytes_written", "MPI_File_write_all") == [80] * RANKS
        assert cnodes["MPI_Send"].region.paradigm == "mpi" and cnodes["MPI_Send"].region.role == "point2point"
        assert cnodes["MPI_Barrier"].region.role == "barrier"
    anchor = subprocess.run(["tar", "-xOf", tmp_path / "x.cubex", "anchor.xml"], stdout=subprocess.PIPE, check=True).stdout.decode()
    groups = re.findall(r"<locationgroup Id=\"(\d+)\">\s*<name>(.*?)</name>\s*<rank>(\d+)</rank>", anchor)
    assert groups == [(str(i), f"MPI Rank {i}", str(i)) for i in range(RANKS)]
    assert '<cart name="ring" ndims="1">' in anchor
    assert re.search(r"<uniq_name>io_bytes_written</uniq_name>.*?<metric id=.*?MPI-IO.*?</metric>\s*</metric>", anchor, re.S)


# ---- JSON, and the command line ----


def test_json(tmp_path):
    Model(experiment(tmp_path / "x")).convert("json", str(tmp_path / "x.json"))
    found = json.loads((tmp_path / "x.json").read_text())
    assert [(p["rank"], p["world"]) for p in found["processes"]] == [(i, 0) for i in range(RANKS)]
    assert found["worlds"] == [{"id": "0000000000000ab0", "ranks": [0, 1, 2, 3]}]
    comms = {c["name"]: c for c in reversed(found["communicators"])}
    groups = found["groups"]
    assert groups[comms["MPI_COMM_WORLD"]["group"]] == [0, 1, 2, 3] and comms["MPI_COMM_WORLD"]["kind"] == "world"
    assert [groups[c["group"]] for c in found["communicators"] if c["name"] == "half"] == [[0, 2], [1, 3]]
    (ring,) = [c for c in found["communicators"] if "topology" in c]
    assert ring["dimensions"] == [[4, True]] and ring["coordinates"] == [[0], [1], [2], [3]]
    assert found["windows"][0] == {"name": "window", "communicator": 0}
    assert {r["name"]: r["role"] for r in found["regions"] if r["kind"] == "mpi"}["MPI_Recv"] == "point2point"


def spartito(*arguments):
    done = subprocess.run([sys.executable, "-m", "spartito", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_rank_chosen(tmp_path):
    directory = experiment(tmp_path / "x", ranks=(1, 2, 3))
    status, out, _ = spartito("report", "--rank", "3", directory)
    assert status == 0 and out.startswith("rank 3, process 103 on node1: ")
    status, out, _ = spartito("convert", "--rank", "3", "--to", "speedscope", "-o", str(tmp_path / "s"), directory)
    assert status == 0
    assert {p["name"] for p in json.loads((tmp_path / "s").read_text())["profiles"]} == {"MainThread (MPI Rank 3)"}
    for verb in (("report",), ("convert", "--to", "pstats")):
        for rank, reason in (("4", "the experiment has ranks 0 to 3"), ("0", "that rank was not measured, or its file is missing")):
            status, out, err = spartito(*verb, "--rank", rank, directory)
            assert (status, out, err) == (2, "", f"spartito {verb[0]}: --rank {rank}: {reason}\n")
    status, out, _ = spartito("info", directory)
    assert re.search(r"^MPI +4 ranks, 3 of them recorded", out, re.M)
    table = [line.split() for line in out.split("\n\n")[1].splitlines()]
    assert table[0][:3] == ["process", "rank", "pid"] and [row[1] for row in table[1:]] == ["1", "2", "3"]


def test_tables_name_ranks(tmp_path):
    model = Model(experiment(tmp_path / "x", ranks=(1, 3), worlds=2))
    starts = {line.split(">>>")[0] for line in model.table("trip_count").splitlines() if ">>>" in line}
    assert starts == {f"| |{rank}|0" for rank in (1, 3, 5, 7)}
    only = model.table("trip_count", process=0)
    assert {line.split(">>>")[0] for line in only.splitlines() if ">>>" in line} == {"| |1|0"}
    ranks = json.loads(model.table("trip_count", json=True))["timemory"]["trip_count"]["ranks"]
    assert [rank["rank"] for rank in ranks] == [1, 3, 5, 7]


def test_report_of_all_ranks(tmp_path):
    directory = experiment(tmp_path / "x")
    status, out, _ = spartito("report", "--limit", "0", directory)
    head, *lines = out.splitlines()
    titles = [title for title in re.split("  +", head.strip())]
    # no column for metrics without a value
    assert [t for t in titles if "bytes" in t] == ["bytes_sent", "bytes_received", "mpi_io_bytes_written"]
    (send,) = [line for line in lines if line.rstrip().endswith("MPI_Send")]
    assert re.split("  +", send.strip())[len(titles) - 5 : -1] == [f"{RANKS * 800 / 1024:.1f} KiB", "0 B", "0 B"]
    (line,) = [line for line in lines if line.startswith("MPI took ")]
    info = json.loads(spartito("info", "--json", directory)[1])
    total = {m["name"]: m["total"] for m in info["metrics"]}
    assert (total["bytes_sent"], total["mpi_io_bytes_written"]) == (RANKS * 800, RANKS * 80)
    assert line.endswith("KiB sent, 3.1 KiB received, 320 B written to files")
    taken, busy = (sum(t[key] for t in info["locations"]) for key in ("mpi", "busy"))
    assert line.startswith(f"MPI took {seconds(taken)} (") and 0 < taken < busy


def test_balance_of_ranks_leaves_mpi_out(tmp_path):
    info = Model(experiment(tmp_path / "x")).info()
    line = summary.balance(info)[0]
    work = {i: sum(t["busy"] - t["mpi"] for t in info["locations"] if t["process"] == i) for i in range(RANKS)}
    assert line.startswith(f"{RANKS} ranks outside of MPI: balance ")
    assert f"maximum {seconds(max(work.values()))} in rank " in line


def test_rank_without_mpi(tmp_path):
    (tmp_path / "x" / "raw").mkdir(parents=True)
    shutil.copy(ROOT / "tests/old-raw/v2-trace.raw", tmp_path / "x" / "raw")
    for arguments in (("report", "--rank", "0"), ("convert", "--rank", "0", "--to", "pstats")):
        status, out, err = spartito(*arguments, str(tmp_path / "x"))
        assert (status, out) == (2, "") and err.endswith("--rank 0: no process of the experiment began MPI\n")
    status, _, err = spartito("report", "--rank", "0", "io", str(tmp_path / "x"))
    assert status == 2 and "--rank is not for the report io" in err
