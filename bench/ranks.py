# SPDX-License-Identifier: BSD-3-Clause
"""ranks.py FROM TO RANKS: makes the experiment TO with this many ranks of one MPI program from the real experiment FROM.

Rank r has the data of process r modulo the number of processes of FROM, with its trace, and another rank, host, process id and
clock. The clocks run at different speeds, so that no two ranks have the same times. FROM may be of any program. The more processes
with different call paths it has, the more the ranks differ."""

import argparse
import json
import os
import shutil
import struct
import sys

PAGE, CHUNK, DEFS, META, NONE32 = 4096, 0x4B4E4843, 1, 1, 0xFFFFFFFF
MAX_RANKS, RANKS_PER_NODE = 16384, 64
# offsets in the header (src/format/format.h)
ENDED, PID, BYTES, FIRST, LAST, HOST, SUM = 28, 36, 56, 64, 88, 176, 316
NORMAL = 1


def text(*strings):
    """A META record."""
    data = [s.encode() for s in strings]
    lengths = [len(s) for s in data] + [0] * (4 - len(data))
    size = (32 + sum(lengths) + 7) // 8 * 8
    return (struct.pack("=HHIII4I", META, 0, size, 0, 0, *lengths) + b"".join(data)).ljust(size, b"\0")


def end_of_chunks(data):
    """The end of the last chunk."""
    at = end = PAGE
    while at + 64 <= len(data):
        magic, *_, size = struct.unpack_from("=IIIIQ", data, at)
        if magic != CHUNK:
            at += PAGE
            continue
        at += size
        end = at
    return end


class Template:
    """A raw file without free space, to which a chunk with the definitions of a rank is added."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        if data[:8] != b"SPARTITO":
            sys.exit(f"ranks.py: {path} is no raw file")
        self.end = end_of_chunks(data)
        self.data = bytearray(data[: self.end].ljust(self.end, b"\0"))
        self.used = len(self.data.rstrip(b"\0"))
        self.header = bytes(self.data[:PAGE])

    def write(self, path, rank, ranks):
        """Writes non-zero data only; the rest of the file is a hole."""
        page = bytearray(self.header)
        ticks, mono, real = struct.unpack_from("=3Q", page, FIRST)
        last, last_mono, last_real = struct.unpack_from("=3Q", page, LAST)
        # up to 1 % slower
        slower = (last_mono - mono) * (rank * 7919 % 1000) // 100_000
        struct.pack_into("=3Q", page, FIRST, ticks, mono, real + 1000 * rank)
        struct.pack_into("=3Q", page, LAST, last, last_mono + slower, last_real + 1000 * rank + slower)
        struct.pack_into("=I", page, ENDED, NORMAL)
        struct.pack_into("=ii", page, PID, 1000 + rank, 1)
        host = f"node{rank // RANKS_PER_NODE}".encode()
        struct.pack_into("=128s", page, HOST, host)
        struct.pack_into("=Q", page, BYTES, self.end + PAGE)
        struct.pack_into("=I", page, SUM, 0)  # 0: no checksum, as the old one would be wrong
        records = text("mpi_world", f"{ranks:016x}") + text("mpi_rank", str(rank)) + text("mpi_size", str(ranks))
        chunk = struct.pack("=IIIIQQQQQQ", CHUNK, DEFS, NONE32, 1 << 20, PAGE, len(records), 0, 0, 0, 0) + records
        with open(path, "wb") as f:
            f.write(page)
            f.write(memoryview(self.data)[PAGE : self.used])
            f.seek(self.end)
            f.write(chunk.ljust(PAGE, b"\0"))


def make(source, target, ranks):
    """Raises OSError; target must not exist."""
    raw = os.path.join(source, "raw")
    templates = [Template(os.path.join(raw, name)) for name in sorted(os.listdir(raw)) if name.endswith(".raw")]
    if not templates:
        sys.exit(f"ranks.py: {source} has no raw files")
    os.makedirs(os.path.join(target, "raw"))
    if os.path.exists(os.path.join(source, "experiment.json")):
        shutil.copy(os.path.join(source, "experiment.json"), target)
    else:
        with open(os.path.join(target, "experiment.json"), "w") as f:
            json.dump({"command": ["solver"], "status": 0}, f)
    for rank in range(ranks):
        name = f"node{rank // RANKS_PER_NODE}-{1000 + rank}-{rank}.raw"
        templates[rank % len(templates)].write(os.path.join(target, "raw", name), rank, ranks)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", metavar="FROM")
    parser.add_argument("target", metavar="TO")
    parser.add_argument("ranks", metavar="RANKS", type=int)
    options = parser.parse_args()
    if not 0 < options.ranks <= MAX_RANKS:
        sys.exit(f"ranks.py: RANKS must be from 1 to {MAX_RANKS}")
    make(options.source, options.target, options.ranks)


if __name__ == "__main__":
    main()
