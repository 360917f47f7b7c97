# SPDX-License-Identifier: BSD-3-Clause
"""Installs kernel specifications under the names of the Score-P kernel, which its notebooks use."""

from __future__ import annotations

import os

from spartito.base.messages import Refused, reason, say
from spartito.notebook import kernel

CLASS = "--IPKernelApp.kernel_class=spartito.compat.scorep.kernel.shell.Kernel"
# name and display name of the Score-P kernel's current version, and of earlier ones
NAMES = {"scorep_jupyter": "Score-P_Python", "scorep-python": "scorep-python"}


def install(user: bool = True, prefix: str | None = None) -> list[str]:
    """Installs or replaces the specifications and returns their directories. Refused, OSError: they cannot be written."""
    return [kernel.install(name, display, user, prefix, [CLASS]) for name, display in NAMES.items()]


def main() -> int:
    """`python -m scorep_jupyter.install`: installs them for this user, as the Score-P kernel does."""
    try:
        for path in install():
            print(f"installed the kernel {os.path.basename(path)} in {path}")
    except Refused as e:
        say(f"scorep_jupyter: {e}")
        return e.status
    except OSError as e:
        say(f"scorep_jupyter: the kernel cannot be installed: {e.filename or ''}: {reason(e)}")
        return 1
    return 0
