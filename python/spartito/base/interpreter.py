# SPDX-License-Identifier: BSD-3-Clause
"""Starting another Python with this Spartito in it. That process is not measured."""

from __future__ import annotations

import os
import sys

from spartito.base import package

# a module in the current directory must not replace one of the standard library or Spartito
_BEGIN = "import sys; sys.path[:] = [p for p in sys.path if p]; sys.path.append(sys.argv.pop(1)); "


def _executable() -> str:
    """The interpreter. In a program that embeds Python, sys.executable is that program; then the one of its environment."""
    if os.path.basename(sys.executable or "").startswith("python"):
        return sys.executable
    of_environment = os.path.join(sys.prefix, "bin", "python3")
    return of_environment if os.path.exists(of_environment) else sys.executable


def command(code: str, *arguments: str) -> list[str]:
    """The command line that runs the code; sys.argv[1:] are the arguments."""
    return [_executable(), "-c", _BEGIN + code, package.SITE, *arguments]


def environment() -> dict[str, str]:
    """The environment without variables that would make Spartito measure the process."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SPARTITO_")}
    preload = kept.pop("LD_PRELOAD", "").split(os.pathsep)
    others = [path for path in preload if path and "spartito" not in path]
    return {**kept, "LD_PRELOAD": os.pathsep.join(others)} if others else kept
