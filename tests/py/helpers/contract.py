# SPDX-License-Identifier: BSD-3-Clause
"""Answers to the viewer's questions against src/view/contract.json."""

import copy
import functools
import json
import struct

import jsonschema
from conftest import ROOT


def contract():
    return json.loads((ROOT / "src/view/contract.json").read_text(encoding="utf-8"))


def _closed(shape):
    """No member that is not named: where some are, others are forbidden unless the shape says otherwise."""
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
    """Of meta, and of what the header says of the columns."""
    whole = contract()
    parts = whole["properties"][kind]["properties"]
    columns = ("f64", "f32", "u32", "i32", "u8")
    shapes = []
    for which in ("meta", "columns"):
        shape = copy.deepcopy({**parts[which], "definitions": whole["definitions"]})
        for name in columns:  # a column is its type, its place and its length
            shape["definitions"][name]["additionalProperties"] = True
        shapes.append(jsonschema.Draft7Validator(_closed(shape)))
    return shapes


def wrong(kind, data):
    """What of a payload is not as the contract has it; "": nothing."""
    size = struct.unpack_from("<II", data)[1]
    header = json.loads(data[8 : 8 + size])
    of_meta, of_columns = _validators(kind)
    for validator, told in ((of_meta, header["meta"]), (of_columns, header["columns"])):
        for error in validator.iter_errors(told):
            return f"{kind}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
    return ""
