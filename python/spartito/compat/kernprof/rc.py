# SPDX-License-Identifier: BSD-3-Clause
"""The tables setup, write and show of tool.line_profiler in a TOML file, for `from line_profiler import profile`."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _tables(config: object) -> dict[str, Any]:
    """The tables of the named file, or of the first file that find_table() finds. Empty: no file, or it cannot be read, which
    causes a warning."""
    from spartito.base.messages import Refused
    from spartito.compat.kernprof.options import find_table, read_table

    if config is False:
        return {}
    try:
        return read_table(os.fspath(config)) if isinstance(config, (str, os.PathLike)) else find_table()[1]
    except (Refused, ImportError) as e:
        import warnings

        warnings.warn(f"line_profiler: {e}", stacklevel=4)
        return {}


def configure(profiler: Any, config: object) -> None:
    """Sets setup_config, write_config, show_config and output_prefix of the profiler. Unknown keys have no effect."""
    tables = _tables(config)
    for section in ("setup", "write", "show"):
        table, into = tables.get(section), getattr(profiler, section + "_config")
        for key, value in table.items() if isinstance(table, dict) else ():
            if section == "write" and key == "output_prefix" and isinstance(value, str):
                profiler.output_prefix = value
            elif key in into and isinstance(value, type(into[key])):
                into[key] = value
