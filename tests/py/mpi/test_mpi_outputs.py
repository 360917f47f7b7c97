# SPDX-License-Identifier: BSD-3-Clause
"""One `spartito run` in each rank, with several formats at once, read by the tools for these formats. The records are those of
Score-P, in the same order."""

import re
import subprocess
import sys

import pycubexr
import pytest
import taufiles
from archive import Archive

from mpi import KINDS, Mpi

PROGRAM = """
import numpy as np
from mpi4py import MPI

c = MPI.COMM_WORLD
me, other = c.rank, 1 - c.rank
x, y = np.zeros(10), np.zeros(10)

def blocking():
    if me == 0:
        c.Send(x, 1, 7), c.Recv(y, 1, 8)
    else:
        c.Recv(y, 0, 7), c.Ssend(x, 0, 8)
    c.Sendrecv(x[:3], other, 1, y[:5], other, 1)
    c.Send(x, MPI.PROC_NULL, 1)
    if me == 0:
        c.send(None, 1, 5)
    else:
        c.recv(source=MPI.ANY_SOURCE, tag=5)

def requests():
    send, receive = c.Isend(x[:2], other, 2), c.Irecv(y[:4], other, 2)
    receive.Wait(), send.Wait()
    both = [c.Irecv(y[:1], other, 3), c.Isend(x[:1], other, 3)]
    MPI.Request.Waitall(both)
    kept = [c.Send_init(x, other, 9), c.Recv_init(y, other, 9)]
    for _ in range(2):
        MPI.Prequest.Startall(kept)
        MPI.Request.Waitall(kept)
    for request in kept:
        request.Free()
    never = c.Irecv(y, other, 99)
    never.Cancel(), never.Wait()

def communicators():
    copy = c.Dup()
    copy.Set_name("copy")
    copy.Barrier()
    copy.Bcast(x, 1)
    copy.Ibcast(x, 1).Wait()
    alone = copy.Split(me)
    ring = copy.Create_cart([2], [True])
    ring.Sendrecv(x, other, 0, y, other, 0)
    for one in (ring, alone, copy):
        one.Free()

def files():
    f = MPI.File.Open(c, "data.bin", MPI.MODE_CREATE | MPI.MODE_RDWR)
    f.Write_at_all(80 * me, x)
    f.Seek(0)
    started = f.Iread_at(0, y[:2])
    f.Read(x[:4])
    started.Wait()
    f.Close()
    if me == 0:
        MPI.File.Delete("data.bin")

def one_sided():
    window = MPI.Win.Create(x, 8, comm=c)
    window.Set_name("shared")
    window.Fence()
    window.Put(x[:2], other)
    window.Fence()
    window.Lock(other, MPI.LOCK_SHARED)
    window.Get(y[:3], other)
    window.Unlock(other)
    window.Free()

blocking(), requests(), communicators(), files(), one_sided()
print("done")
"""
SILENT = re.compile(
    r"MPI_(Comm_(size|rank|test_inter|get_name|set_name|set_errhandler|get_attr)|Initialized|Finalized|Cart.*get|Topo_test"
    r"|M?[Pp]robe|Win_(get|set)_.*|File_set_errhandler)$"
)
WORLD = 'Communicator: "MPI_COMM_WORLD"'


class Run:
    def __init__(self, mpi):
        (mpi.path / "program.py").write_text(PROGRAM)
        words = ["-m", "spartito", "run", "--trace", "--only-mine", "--to", "otf2,cube,tau", "-o", "x"]
        self.path, self.kind = mpi.path, mpi.kind
        self.done = mpi.run(2, [sys.executable, *words, "--", sys.executable, "program.py"])
        assert self.done.returncode == 0, self.done.stderr
        self.archive = Archive(self.path / "x-otf2" / "traces.otf2")


@pytest.fixture(scope="module", params=KINDS)
def run(request, tmp_path_factory):
    pytest.importorskip("mpi4py")
    return Run(Mpi(request.param, tmp_path_factory.mktemp("run")))


def test_reported_and_written_once(run):
    assert run.done.stdout == "done\n" * 2
    summary = ("spartito: program took ", "MPI took ", "2 ranks outside of MPI: balance ", "next: ")
    for once in (*summary, "-otf2 (open with", ".cubex (open with", "-tau (open with"):
        assert run.done.stderr.count(once) == 1, run.done.stderr
    assert sorted(p.name for p in run.path.iterdir() if p.name[0] == "x") == ["x", "x-otf2", "x-tau", "x.cubex"]


def test_info_names_the_mpi(run):
    words = [sys.executable, "-m", "spartito", "info", "x"]
    shown = subprocess.run(words, cwd=run.path, text=True, capture_output=True, check=True).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith("MPI ")]
    library = {"openmpi": r"Open MPI v\d+\.\S+", "mpich": r"MPICH \d+\.\S+"}[run.kind]
    assert re.fullmatch(rf"MPI +2 ranks, {library}, MPI_THREAD_MULTIPLE", line)


def expected(me):
    """All calls of that rank with messages or communicators, as Score-P records them."""
    other = 1 - me

    def send(tag, n, comm=WORLD):
        return f'MPI_SEND Receiver: {other} ("MainThread"), {comm}, Tag: {tag}, Length: {n}'

    def recv(tag, n, comm=WORLD):
        return f'MPI_RECV Sender: {other} ("MainThread"), {comm}, Tag: {tag}, Length: {n}'

    def isend(tag, n, request):
        return f'MPI_ISEND Receiver: {other} ("MainThread"), {WORLD}, Tag: {tag}, Length: {n}, Request: {request}'

    def irecv(tag, n, request):
        return f'MPI_IRECV Sender: {other} ("MainThread"), {WORLD}, Tag: {tag}, Length: {n}, Request: {request}'

    def posted(request):
        return f"MPI_IRECV_REQUEST Request: {request}"

    def sent(request):
        return f"MPI_ISEND_COMPLETE Request: {request}"

    blocking = [["MPI_Send", send(7, 80)], ["MPI_Recv", recv(8, 80)]]
    if me == 1:
        blocking = [["MPI_Recv", recv(7, 80)], ["MPI_Ssend", send(8, 80)]]
    pickled = ["MPI_Send", send(5, 4)] if me == 0 else ["MPI_Mrecv", recv(5, 4)]
    return [
        *blocking,
        ["MPI_Sendrecv", send(1, 24), recv(1, 24)],
        ["MPI_Send"],
        pickled,
        ["MPI_Isend", isend(2, 16, "a")],
        ["MPI_Irecv", posted("b")],
        ["MPI_Wait", irecv(2, 16, "b")],
        ["MPI_Wait", sent("a")],
        ["MPI_Irecv", posted("c")],
        ["MPI_Isend", isend(3, 8, "d")],
        ["MPI_Waitall", irecv(3, 8, "c"), sent("d")],
        ["MPI_Send_init"],
        ["MPI_Recv_init"],
        ["MPI_Startall", isend(9, 80, "e"), posted("f")],
        ["MPI_Waitall", sent("e"), irecv(9, 80, "f")],
        ["MPI_Startall", isend(9, 80, "g"), posted("h")],
        ["MPI_Waitall", sent("g"), irecv(9, 80, "h")],
        ["MPI_Request_free"],
        ["MPI_Request_free"],
        ["MPI_Irecv", posted("i")],
        ["MPI_Cancel"],
        ["MPI_Wait", "MPI_REQUEST_CANCELLED Request: i"],
        *communicators(me, send, recv),
        *files(me),
        *one_sided(other),
    ]


def communicators(me, send, recv):
    root = ', Root: 1 ("MainThread")'
    nothing = "Root: NONE, Sent: 0, Received: 0"
    bytes_ = ("Sent: 0", "Sent: 160")[me] + ", Received: 80"

    def made(comm, parent):
        end = f"MPI_COLLECTIVE_END Operation: CREATE_HANDLE, {parent}, {nothing}"
        return ["MPI_COLLECTIVE_BEGIN", f'COMM_CREATE Communicator: "{comm}"', end]

    def freed(comm):
        named = f'Communicator: "{comm}"'
        end = f"MPI_COLLECTIVE_END Operation: DESTROY_HANDLE, {named}, {nothing}"
        return ["MPI_Comm_free", "MPI_COLLECTIVE_BEGIN", f"COMM_DESTROY {named}", end]

    copy = 'Communicator: "copy"'
    return [
        ["MPI_Comm_dup", *made("copy", WORLD)],
        ["MPI_Barrier", "MPI_COLLECTIVE_BEGIN", f"MPI_COLLECTIVE_END Operation: BARRIER, {copy}, {nothing}"],
        ["MPI_Bcast", "MPI_COLLECTIVE_BEGIN", f"MPI_COLLECTIVE_END Operation: BCAST, {copy}{root}, {bytes_}"],
        ["MPI_Ibcast", "NON_BLOCKING_COLLECTIVE_REQUEST Request: j"],
        ["MPI_Wait", f"NON_BLOCKING_COLLECTIVE_COMPLETE Operation: BCAST, {copy}{root}, {bytes_}, Request: j"],
        ["MPI_Comm_split", *made("", copy)],
        ["MPI_Cart_create", *made("", copy)],
        ["MPI_Sendrecv", send(0, 80, 'Communicator: ""'), recv(0, 80, 'Communicator: ""')],
        *(freed(name) for name in ("", "", "copy")),
    ]


def files(me):
    handle = 'Handle: "[MPI-IO]file://data.bin"'

    def operation(mode, flags, n, matching, more=""):
        begin = f"IO_OPERATION_BEGIN {handle}, Mode: {mode}, Operation Flags: {flags}, Bytes Request: {n}, Matching Id: {matching}"
        return [begin, more or f"IO_OPERATION_COMPLETE {handle}, Bytes Result: {n}, Matching Id: {matching}"]

    return [
        ["MPI_File_open", f"IO_CREATE_HANDLE {handle}, Access Mode: READ_WRITE, Creation Flags: {{CREATE}}, Status Flags: NONE"],
        ["MPI_File_write_at_all", *operation("WRITE", "{COLLECTIVE}", 80, "k")],
        ["MPI_File_seek", f"IO_SEEK {handle}, Offset Request: 0, Whence: FROM_START, Offset Result: 0"],
        ["MPI_File_iread_at", *operation("READ", "{NON_BLOCKING}", 16, "l", f"IO_OPERATION_ISSUED {handle}, Matching Id: l")],
        ["MPI_File_read", *operation("READ", "NONE", 32, "m")],
        ["MPI_Wait", f"IO_OPERATION_COMPLETE {handle}, Bytes Result: 16, Matching Id: l"],
        ["MPI_File_close", f"IO_DESTROY_HANDLE {handle}"],
        *([["MPI_File_delete", 'IO_DELETE_FILE I/O Paradigm: "MPI-IO", File: "file://data.bin"']] if me == 0 else []),
    ]


def one_sided(other):
    window, target = 'Window: "shared"', f'Remote: {other} ("MainThread")'

    def collective(operation, level, *inside):
        how = f"Level of Synchronicity: {level}, Root: NONE, Sent: 0, Received: 0"
        return ["RMA_COLLECTIVE_BEGIN", *inside, f"RMA_COLLECTIVE_END Operation: {operation}, {window}, {how}"]

    def completed(letter):
        return [f"RMA_OP_COMPLETE_{how} {window}, Matching: {letter}" for how in ("NON_BLOCKING", "REMOTE")]

    return [
        ["MPI_Win_create", *collective("CREATE_HANDLE", "NONE", f"RMA_WIN_CREATE {window}")],
        ["MPI_Win_fence", *collective("BARRIER", "{PROCESS, MEMORY}")],
        ["MPI_Put", f"RMA_PUT {window}, {target}, Bytes: 16, Matching: n"],
        ["MPI_Win_fence", *collective("BARRIER", "{PROCESS, MEMORY}", *completed("n"))],
        ["MPI_Win_lock", f"RMA_REQUEST_LOCK {window}, {target}, Lock: 0, Type: SHARED"],
        ["MPI_Get", f"RMA_GET {window}, {target}, Bytes: 24, Matching: o"],
        ["MPI_Win_unlock", completed("o")[0], f"RMA_RELEASE_LOCK {window}, {target}, Lock: 0"],
        ["MPI_Win_free", *collective("DESTROY_HANDLE", "{PROCESS}"), f"RMA_WIN_DESTROY {window}"],
    ]


def with_letters(calls):
    """Replaces requests and other matching numbers by letters, in the order of their occurrence."""
    letters = {}

    def letter(match):
        # requests, file operations and one-sided operations are numbered separately
        return f"{match[1]}: " + letters.setdefault(match[0], "abcdefghijklmnop"[len(letters)])

    number = r"((?<!Offset )(?<!Bytes )Request|Matching(?: Id)?): (\d+)"
    paths = (r"file:///\S*/data.bin", "file://data.bin")
    return [[call[0], *(re.sub(*paths, re.sub(number, letter, record)) for record in call[1:])] for call in calls]


@pytest.mark.parametrize("rank", [0, 1])
def test_records_and_their_order(run, rank):
    calls = [call for call in run.archive.calls(rank) if not SILENT.match(call[0])]
    assert calls[0][0] == "MPI_Init_thread" and calls[-1][0] == "MPI_Finalize"
    for call, what, operation in ((calls[0], "CREATE", "CREATE_HANDLE"), (calls[-1], "DESTROY", "DESTROY_HANDLE")):
        begin, *comms, end = call[1:]
        assert begin == "MPI_COLLECTIVE_BEGIN"
        assert end.startswith(f"MPI_COLLECTIVE_END Operation: {operation}, {WORLD}, Root: NONE")
        assert sorted(comms) == [f'COMM_{what} Communicator: "MPI_COMM_{name}"' for name in ("SELF", "WORLD")]
    assert with_letters(calls[1:-1]) == expected(rank)


def test_messages_arrive_after_they_were_sent(run):
    sent, received = {}, {}
    for kind, where, time, rest in run.archive.events:
        m = re.match(r"(?:Receiver|Sender): (\d+) .*Communicator: .*? <(\d+)>, Tag: (\d+), Length: (\d+)", rest)
        if m and kind in ("MPI_SEND", "MPI_ISEND"):
            sent.setdefault((where, m[1], m[2], m[3]), []).append((int(time), m[4]))
        elif m:
            received.setdefault((m[1], where, m[2], m[3]), []).append((int(time), m[4]))
    assert sent.keys() == received.keys() and len(sent) >= 2 * 5
    for key, messages in sent.items():
        assert [n for _, n in messages] == [n for _, n in received[key]]
        assert all(a < b for (a, _), (b, _) in zip(messages, received[key])), key


def test_places_and_communicators(run):
    a = run.archive
    assert [line.split('"')[1] for line in a.of("LOCATION_GROUP")] == ["MPI Rank 0", "MPI Rank 1"]
    (node,) = [line for line in a.of("SYSTEM_TREE_NODE ".strip()) if 'Class: "node"' in line]
    assert all(node.split('"')[1] in line for line in a.of("LOCATION_GROUP"))
    names = [line.split('"')[1] for line in a.of("COMM", "CREATE_DESTROY_EVENTS")]
    assert sorted(names)[-3:] == ["MPI_COMM_SELF", "MPI_COMM_WORLD", "copy"]
    assert a.of("COMM", '"copy"', 'Parent: "MPI_COMM_WORLD"')
    assert a.of("CART_DIMENSION", "Size: 2, Periodicity: TRUE")
    assert len([line for line in a.of("CART_COORDINATE") if '"Process x Thread"' not in line]) == 2


def values(parser, metric, cnodes, region):
    found = parser.get_metric_values(parser.get_metric_by_name(metric))
    return [sum(found.cnode_values(c).tolist()[i] for c in cnodes if c.region.name == region) for i in range(2)]


def below(cnode):
    yield cnode
    for child in cnode.get_children():
        yield from below(child)


def test_cube(run):
    with pycubexr.CubexParser(run.path / "x.cubex") as parser:
        cnodes = [c for root in parser.get_root_cnodes() for c in below(root)]
        shown = {
            ("bytes_sent", "MPI_Send"): [84, 0],
            ("bytes_sent", "MPI_Ssend"): [0, 80],
            ("bytes_sent", "MPI_Sendrecv"): [104, 104],
            ("bytes_sent", "MPI_Isend"): [24, 24],
            ("bytes_sent", "MPI_Startall"): [160, 160],
            ("bytes_sent", "MPI_Bcast"): [0, 160],
            ("bytes_received", "MPI_Recv"): [80, 80],
            ("bytes_received", "MPI_Mrecv"): [0, 4],
            ("bytes_received", "MPI_Sendrecv"): [104, 104],
            ("bytes_received", "MPI_Waitall"): [168, 168],
            ("bytes_received", "MPI_Bcast"): [80, 80],
            ("visits", "MPI_Comm_free"): [3, 3],
            ("bytes_put", "MPI_Put"): [16, 16],
            ("bytes_get", "MPI_Get"): [24, 24],
            ("io_bytes_written", "MPI_File_write_at_all"): [80, 80],
            ("mpi_io_bytes_read", "MPI_File_read"): [32, 32],
        }
        assert {key: values(parser, key[0], cnodes, key[1]) for key in shown} == shown


def test_tau(run):
    found = taufiles.read_text(run.path / "x-tau")
    assert sorted(found) == [(0, 0, 0), (1, 0, 0)]
    for rank in (0, 1):
        thread = found[(rank, 0, 0)]
        assert thread.metadata["MPI Rank"] == str(rank) and thread.metadata["MPI Size"] == "2"
        rows = thread.flat()
        assert rows["MPI_Comm_free()"].calls == 3 and rows["MPI_Comm_free()"].groups == {"MPI"}
        n, largest, least, mean, _ = thread.events["Message size sent to all nodes"]
        sizes = [80, 24, *([4] if rank == 0 else []), 16, 8, 80, 80, 80]
        assert (n, largest, least) == (len(sizes), 80, min(sizes)) and mean == pytest.approx(sum(sizes) / len(sizes))
        assert thread.events[f"Message size sent to node {1 - rank}"][0] == len(sizes)
