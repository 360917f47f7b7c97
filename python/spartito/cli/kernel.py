# SPDX-License-Identifier: BSD-3-Clause
"""spartito kernel: installs and removes the Jupyter kernel."""

from __future__ import annotations

import os
import sys

from spartito.base.messages import Refused, reason
from spartito.options.table import Usage, near

ACTIONS = ["install", "remove"]
NAME, DISPLAY = "spartito", "Python 3 (Spartito)"


def _location(values: dict[str, object]) -> tuple[bool, str | None]:
    """The arguments user and prefix of Jupyter's install functions."""
    given = [name for name in ("user", "sys_prefix", "prefix") if name in values]
    if len(given) > 1:
        raise Usage(f"--{given[0].replace('_', '-')} and --{given[1].replace('_', '-')} are two locations; give one")
    prefix = values.get("prefix")
    if isinstance(prefix, str):
        return False, os.path.abspath(os.path.expanduser(prefix))
    if given == ["sys_prefix"] or (not given and sys.prefix != sys.base_prefix):
        return False, sys.prefix
    return True, None


def main(values: dict[str, object], operands: list[str]) -> int:
    if len(operands) != 1:
        raise Usage("install or remove: what is to be done?" if not operands else f"unexpected {operands[1]!r}")
    action = operands[0]
    if action not in ACTIONS:
        raise Usage(f"{action!r} is neither install nor remove{near(action, ACTIONS)}")
    if "score_p" in values and ("name" in values or "display_name" in values):
        raise Usage("--score-p sets the names of the kernel")
    if "score_p" in values and "memory_profile" in values:
        raise Usage("--memory-profile is for the kernel of %%spartito")
    name = str(values.get("name", NAME))
    from spartito.compat.scorep.kernel import install as scorep
    from spartito.notebook import kernel

    if action == "remove":
        for option in ("user", "sys_prefix", "prefix", "display_name", "memory_profile"):
            if option in values:
                raise Usage(f"--{option.replace('_', '-')} is for install; remove takes the first of that name that Jupyter finds")
        for one in scorep.NAMES if "score_p" in values else [name]:
            print(f"removed {kernel.remove(one)}")
        return 0
    user, prefix = _location(values)
    try:
        if "score_p" in values:
            paths = scorep.install(user, prefix)
        else:
            display = str(values.get("display_name", DISPLAY))
            paths = [kernel.install(name, display, user, prefix, memory="memory_profile" in values)]
    except OSError as e:
        raise Refused(f"the kernel cannot be installed: {e.filename or ''}: {reason(e)}") from None
    for path in paths:
        print(f"installed the kernel {os.path.basename(path)} in {path}")
    return 0
