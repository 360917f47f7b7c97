# SPDX-License-Identifier: BSD-3-Clause
"""The kernelspecs under the names of the Score-P kernel, so that its notebooks find their kernel."""

from __future__ import annotations

import os

from spartito.base.messages import Refused, reason, say
from spartito.notebook import kernel

CLASS = "--IPKernelApp.kernel_class=spartito.compat.scorep.kernel.shell.Kernel"
# name and display name: of the kernel now, and of earlier versions of it
NAMES = {"scorep_jupyter": "Score-P_Python", "scorep-python": "scorep-python"}


def install(user: bool = True, prefix: str | None = None) -> list[str]:
    """Installs or replaces them; where they are now. Refused, OSError: as spartito.notebook.kernel.install() has them."""
    return [kernel.install(name, display, user, prefix, [CLASS]) for name, display in NAMES.items()]


def main() -> int:
    """`python -m scorep_jupyter.install`: for this user, as the Score-P kernel does it."""
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
