# SPDX-License-Identifier: BSD-3-Clause
"""Validates answers to the viewer's questions with src/view/contract.json."""

import copy
import functools
import json
import struct

import jsonschema
from conftest import ROOT


def contract():
    return json.loads((ROOT / "src/view/contract.json").read_text(encoding="utf-8"))


def _closed(shape):
    """Forbids members that the schema does not name, in each object with properties, unless it allows others itself."""
    if isinstance(shape, dict):
        if shape.get("type") == "object" and isinstance(shape.get("properties", {}), dict):
            shape.setdefault("additionalProperties", False)
        for part in shape.values():
            _closed(part)
    elif isinstance(shape, list):
        for part in shape:
            _closed(part)
    return shape


@functools.cache
def _validators(kind):
    """Validators of an answer's meta, and of the column descriptions in its header."""
    whole = contract()
    parts = whole["properties"][kind]["properties"]
    columns = ("f64", "f32", "u32", "i32", "u8")
    shapes = []
    for which in ("meta", "columns"):
        shape = copy.deepcopy({**parts[which], "definitions": whole["definitions"]})
        for name in columns:  # in a header, a column is an object with its type, offset and length
            shape["definitions"][name]["additionalProperties"] = True
        shapes.append(jsonschema.Draft7Validator(_closed(shape)))
    return shapes


def wrong(kind, data):
    """The first violation of the contract in a payload, or ""."""
    size = struct.unpack_from("<II", data)[1]
    header = json.loads(data[8 : 8 + size])
    of_meta, of_columns = _validators(kind)
    for validator, part in ((of_meta, header["meta"]), (of_columns, header["columns"])):
        for error in validator.iter_errors(part):
            return f"{kind}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
    return ""
