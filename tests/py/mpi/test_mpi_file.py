# SPDX-License-Identifier: BSD-3-Clause
"""Files of MPI: every operation with its bytes, its offset and its completion."""

import os

from mpi import half, mpi  # noqa: F401

HEAD = """
import numpy as np
from mpi4py import MPI
c = MPI.COMM_WORLD
x, y = np.arange(10.0), np.zeros(10)
mode = MPI.MODE_CREATE | MPI.MODE_RDWR
f = MPI.File.Open(c, 'data', mode)
"""
READ, WRITE, FLUSH, NON_BLOCKING, COLLECTIVE = 0, 1, 2, 0x100, 0x200
MPI_FILE = 1  # paradigm
IO = ("create", "destroy", "seek", "begin", "complete", 17, 18)


def calls(rank):
    """Each MPI call with records of MPI files: [function, (record, words…)…]. I/O of the C library for it is left out, as only MPI
    files have handles."""
    own, call, depth = set(), [], 0
    for events in rank.raw.events.values():
        for what, *rest in events:
            if what in ("enter", "leave") and rest[0][1].startswith("MPI_"):
                if what == "enter" and depth == 0:
                    call = [rest[0][1]]
                depth += 1 if what == "enter" else -1
                if what == "leave" and len(call) > 1:
                    yield call
                    call = [call[0]]
            elif what == "create" and len(rest) > 3 and half(rest[3])[0] == MPI_FILE:
                own.add(rest[0])
                call.append((what, *rest))
            elif what in IO and (rest[0] in own or what == 18):
                call.append((what, *rest))


def of(rank, function):
    return [call[1:] for call in calls(rank) if call[0] == "MPI_File_" + function]


def test_open_and_close(mpi):  # noqa: F811
    program = HEAD + (
        "f.Close()\nd = c.Dup(); g = MPI.File.Open(d, 'data', MPI.MODE_RDONLY); h = MPI.File.Open(MPI.COMM_SELF, 'own%d' % c.rank,"
        " MPI.MODE_CREATE | MPI.MODE_WRONLY | MPI.MODE_EXCL | MPI.MODE_APPEND)\ng.Close(); h.Close(); c.Barrier()\n"
        "MPI.File.Delete('own%d' % c.rank)\n"
    )  # fmt: skip
    for me, rank in enumerate(mpi.measured(2, program).ranks):
        opened = of(rank, "open")
        data, own = str(mpi.path / "data"), str(mpi.path / f"own{me}")
        made = [(path, flags & ~os.O_CLOEXEC, half(comm)) for ((_, _, path, flags, comm),) in opened]
        (dup,) = set(rank.comms) - {1, 2}
        assert made == [
            (data, os.O_CREAT | os.O_RDWR, (MPI_FILE, 1)),
            (data, os.O_RDONLY, (MPI_FILE, dup)),
            (own, os.O_CREAT | os.O_WRONLY | os.O_EXCL | os.O_APPEND, (MPI_FILE, 2)),
        ]
        one, two, three = (words[0][1] for words in opened)
        assert len({one, two, three}) == 3
        assert of(rank, "close") == [[("destroy", one)], [("destroy", two)], [("destroy", three)]]
        ((_, path, paradigm),) = of(rank, "delete")[0]
        assert (rank.raw.strings[path], paradigm) == (own, MPI_FILE)


def test_bytes_and_places(mpi):  # noqa: F811
    program = HEAD + (
        "f.Write_at(80 * c.rank, x); f.Write_at_all(80 * c.rank, x); f.Sync(); c.Barrier(); f.Read_at(80 * c.rank, y)\n"
        "assert (x == y).all()\nf.Set_view(800, MPI.DOUBLE); f.Write_at(4 + 10 * c.rank, x[:5]); f.Seek(10 * c.rank); f.Write(x)\n"
        "f.Seek(-2, MPI.SEEK_CUR); c.Barrier(); f.Read(y); c.Barrier(); f.Write_all(x[:3]); f.Read_at_all(10, y); f.Close()\n"
    )  # fmt: skip
    for me, rank in enumerate(mpi.measured(2, program).ranks):
        ((_, f, *_),) = of(rank, "open")[0]
        assert of(rank, "write_at") == [
            [("begin", f, WRITE, 80, 80 * me), ("complete", f, 80)],
            [("begin", f, WRITE, 40, 800 + 32 + 80 * me), ("complete", f, 40)],
        ]
        assert of(rank, "write_at_all") == [[("begin", f, WRITE | COLLECTIVE, 80, 80 * me), ("complete", f, 80)]]
        assert of(rank, "sync") == [[("begin", f, FLUSH | COLLECTIVE, None, None), ("complete", f, 0)]]
        assert of(rank, "seek") == [[("seek", f, 800 + 80 * me, 0, 800 + 80 * me)], [("seek", f, 2**64 - 2, 1, 800 + 80 * me + 64)]]
        assert of(rank, "write") == [[("begin", f, WRITE, 80, None), ("complete", f, 80)]]
        assert of(rank, "write_all") == [[("begin", f, WRITE | COLLECTIVE, 24, None), ("complete", f, 24)]]
        # Two of the last ten elements are in the file, or those that the other rank wrote behind them.
        ((_, *begin), (_, *complete)) = of(rank, "read")[0]
        assert begin == [f, READ, 80, None] and complete == [f, 16 if me else 80]
        assert of(rank, "read_at_all")[0][0] == ("begin", f, READ | COLLECTIVE, 80, 880)
        assert rank.metric("MPI_File_write_at", "mpi_io_bytes_written") == 120
        assert rank.metric("MPI_File_read", "mpi_io_bytes_read") == complete[1]


def test_shared_pointer(mpi):  # noqa: F811
    program = HEAD + (
        "f.Write_ordered(x); f.Write_shared(x[:1]); f.Sync(); c.Barrier(); f.Seek_shared(0); f.Read_ordered(y[:4]); f.Close()\n"
    )  # fmt: skip
    for rank in mpi.measured(2, program).ranks:
        ((_, f, *_),) = of(rank, "open")[0]
        assert of(rank, "write_ordered") == [[("begin", f, WRITE | COLLECTIVE, 80, None), ("complete", f, 80)]]
        assert of(rank, "write_shared") == [[("begin", f, WRITE, 8, None), ("complete", f, 8)]]
        assert of(rank, "seek_shared") == [[("seek", f, 0, 0, 0)]]
        assert of(rank, "read_ordered") == [[("begin", f, READ | COLLECTIVE, 32, None), ("complete", f, 32)]]


def test_what_goes_on(mpi):  # noqa: F811
    program = HEAD + (
        "f.Iwrite_at(80 * c.rank, x).Wait(); r = [f.Iwrite_at(200, x[:2]), f.Iwrite_at_all(240 + c.rank, x[:1])]\n"
        "MPI.Request.Waitall(r); f.Sync(); c.Barrier(); f.Iread_at(80 * c.rank, y).Wait(); f.Iread(y[:1]).Wait()\n"
        "f.Write_at_all_begin(80 * c.rank, x); f.Write_at_all_end(x); f.Read_all_begin(y[:2]); f.Read_all_end(y[:2]); f.Close()\n"
    )  # fmt: skip
    for me, rank in enumerate(mpi.measured(2, program).ranks):
        ((_, f, *_),) = of(rank, "open")[0]
        begun, ends = {}, {}
        for function, *records in calls(rank):
            for what, *words in records:
                if what == "begin" and len(words) == 5:
                    assert (17, f, words[4]) in records, "an operation that goes on was issued"
                    begun[words[4]] = function, *words[1:4]
                elif what == "complete" and len(words) == 3:
                    assert words[2] not in ends
                    ends[words[2]] = function, words[1]
        at_all = WRITE | NON_BLOCKING | COLLECTIVE
        assert list(begun.values()) == [
            ("MPI_File_iwrite_at", WRITE | NON_BLOCKING, 80, 80 * me),
            ("MPI_File_iwrite_at", WRITE | NON_BLOCKING, 16, 200),
            ("MPI_File_iwrite_at_all", at_all, 8, 240 + me),
            ("MPI_File_iread_at", READ | NON_BLOCKING, 80, 80 * me),
            ("MPI_File_iread", READ | NON_BLOCKING, 8, None),
            ("MPI_File_write_at_all_begin", at_all, 80, 80 * me),
            ("MPI_File_read_all_begin", READ | NON_BLOCKING | COLLECTIVE, 16, None),
        ]
        assert [ends[m] for m in begun] == [
            ("MPI_Wait", 80), ("MPI_Waitall", 16), ("MPI_Waitall", 8), ("MPI_Wait", 80), ("MPI_Wait", 8),
            ("MPI_File_write_at_all_end", 80), ("MPI_File_read_all_end", 16),
        ]  # fmt: skip
        assert rank.metric("MPI_Waitall", "mpi_io_bytes_written") == 24
        assert rank.metric("MPI_File_write_at_all_end", "mpi_io_bytes_written") == 80


def test_failures(mpi):  # noqa: F811
    program = HEAD + (
        "f.Write_at(0, x); f.Close()\nf = MPI.File.Open(c, 'data', MPI.MODE_RDONLY)\n"
        "for wrong in (lambda: f.Write_at(0, x), lambda: MPI.File.Open(c, 'absent/data'), lambda: MPI.File.Delete('absent')):\n"
        "    try:\n        wrong()\n    except MPI.Exception:\n        pass\n    else:\n        assert 0\n"
        "f.Read_at(40, y); f.Close()\n"
    )  # fmt: skip
    for rank in mpi.measured(2, program).ranks:
        first, second = (words[0][1] for words in of(rank, "open"))
        assert of(rank, "write_at")[1] == [("begin", second, WRITE, 80, 0), ("complete", second, None)]
        assert of(rank, "read_at") == [[("begin", second, READ, 80, 40), ("complete", second, 40)]]
        assert of(rank, "delete") == []
        assert rank.metric("MPI_File_write_at", "mpi_io_bytes_written") == 80


def test_beside_the_c_library(mpi):  # noqa: F811
    """With --io all files have one numbering, and bytes of the C library are in other columns."""
    program = HEAD + "f.Write_at(80 * c.rank, x); f.Close(); c.Barrier()\nopen('data').close()\n"
    for me, rank in enumerate(mpi.measured(2, program, "--io").ranks):
        handles = [rest[0] for events in rank.raw.events.values() for what, *rest in events if what == "create"]
        assert len(handles) == len(set(handles)) > 1
        assert rank.metric("MPI_File_write_at", "mpi_io_bytes_written") == 80
        assert of(rank, "write_at")[0][0][3:] == (80, 80 * me)


def test_profile_alone(mpi):  # noqa: F811
    program = HEAD + "f.Write_at(80 * c.rank, x); f.Iread_at(80 * c.rank, y[:3]).Wait(); f.Close()\n"
    for rank in mpi.measured(2, program, trace=False).ranks:
        assert rank.metric("MPI_File_write_at", "mpi_io_bytes_written") == 80
        assert rank.metric("MPI_Wait", "mpi_io_bytes_read") == 24
