# SPDX-License-Identifier: BSD-3-Clause
"""Writes and reads payloads of columns, see src/view/columns.h."""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MAGIC = 0x4F435053
NONE = 0xFFFFFFFF
CODES = {"f64": "d", "f32": "f", "u32": "I", "i32": "i", "u8": "B"}


def pack(meta: Mapping[str, Any], columns: Mapping[str, tuple[str, Sequence[float]]] | None = None) -> bytes:
    """columns: {name: (type, numbers)}. Invalid UTF-8 in file names is escaped with backslashes. ValueError: a number in meta is
    NaN or infinite, which JSON does not support."""
    described: dict[str, dict[str, Any]] = {}
    parts = []
    at = 0
    for name, (kind, numbers) in (columns or {}).items():
        data = struct.pack(f"<{len(numbers)}{CODES[kind]}", *numbers)
        described[name] = {"type": kind, "at": at, "n": len(numbers)}
        data += bytes(-len(data) % 8)
        parts.append(data)
        at += len(data)
    text = json.dumps(
        {"meta": meta, "columns": described}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode("utf-8", "backslashreplace")
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<II", MAGIC, len(text)), text, *parts])


def repack(meta: Mapping[str, Any], columns: Mapping[str, memoryview]) -> bytes:
    """pack() for columns as unpack() returns them."""
    kinds = {code: kind for kind, code in CODES.items()}
    return pack(meta, {name: (kinds[column.format], column) for name, column in columns.items()})


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """meta and the columns, which are views of data. Only for little-endian machines. ValueError: data is no payload."""
    if len(data) < 8:
        raise ValueError("not a payload of columns: too short")
    magic, n = struct.unpack_from("<II", data)
    if magic != MAGIC or n % 8 or 8 + n > len(data):
        raise ValueError("not a payload of columns")
    header = json.loads(data[8 : 8 + n])
    columns = {}
    body = memoryview(data)[8 + n :]
    for name, column in header["columns"].items():
        code: Any = CODES[column["type"]]
        end = column["at"] + column["n"] * struct.calcsize(f"<{code}")
        if end > len(body):
            raise ValueError(f"not a payload of columns: {name} is not complete")
        columns[name] = body[column["at"] : end].cast(code)
    return header["meta"], columns
