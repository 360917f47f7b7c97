# SPDX-License-Identifier: BSD-3-Clause
"""Which source files are the program's own: those outside of the standard library and of installed packages."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INSTALLED = ("/site-packages/", "/dist-packages/")  # parts of paths of installed packages


def own_files(info: dict[str, Any]) -> Callable[[str], bool]:
    """A function that tells for the path of a source file, or the name of a notebook's cell, whether it is the program's own."""
    libraries = tuple({p["meta"]["library"] + "/" for p in info["processes"] if p["meta"].get("library")})

    def is_own(file: str) -> bool:
        return file.startswith(("/", "In[")) and not file.startswith(libraries) and not any(part in file for part in INSTALLED)

    return is_own
