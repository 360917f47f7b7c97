# SPDX-License-Identifier: BSD-3-Clause
"""spartito fc: see compiler.py."""

from __future__ import annotations

from spartito.cli import compiler


def main(values: dict[str, object], operands: list[str]) -> int:
    return compiler.main(values, operands, "fc")
