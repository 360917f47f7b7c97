# SPDX-License-Identifier: BSD-3-Clause
"""Payloads of columns, as src/view/columns.h describes them: written where Python answers, read by tests and pictures."""

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
    """columns: {name: (type, numbers)}. Names of files that are no UTF-8 stand as with backslashreplace. ValueError: a number in
    meta that JSON has not (NaN, infinities)."""
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
    """What unpack() gave, changed."""
    kinds = {code: kind for kind, code in CODES.items()}
    return pack(meta, {name: (kinds[column.format], column) for name, column in columns.items()})


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """meta and the columns, which are views of data; ValueError: it is none. For machines whose numbers are little-endian."""
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
