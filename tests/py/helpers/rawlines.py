# SPDX-License-Identifier: BSD-3-Clause
"""Adds line data to an experiment, as src/format/FORMAT.md describes it: tests of reports and writers can then check exact
numbers."""

import struct

from rawfile import MAGIC, PAGE, SUM, Raw

LINES = 8
RESERVED = 56  # offset of the header's field for the number of bytes


def add(directory, numbers, location=0, process=0):
    """numbers: {name of a region: {line: (hits, self, callees)}} in ticks of that process."""
    path = sorted((directory / "raw").glob("*.raw"))[process]
    ids = {name: number for number, (_, name) in Raw(path).regions.items()}
    lines = b"".join(
        struct.pack("=IIQQQ", ids[name], line, *values) for name, of in numbers.items() for line, values in of.items()
    )
    size = -(-(64 + len(lines)) // PAGE) * PAGE
    head = struct.pack("=IIIIQQQQQQ", MAGIC, LINES, location, 0, size, len(lines) // 32, 0, 0, 0, 0)
    data = path.read_bytes()
    reserved = struct.unpack_from("=Q", data, RESERVED)[0]
    data = data[:reserved] if reserved else data
    data += bytes(-len(data) % PAGE)
    data = bytearray(data + (head + lines).ljust(size, b"\0"))
    struct.pack_into("=Q", data, RESERVED, len(data))
    struct.pack_into("=I", data, SUM, 0)  # 0: no checksum, as the old one would be wrong
    path.write_bytes(data)
