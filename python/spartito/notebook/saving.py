# SPDX-License-Identifier: BSD-3-Clause
"""Results that are kept under a name: complete or not at all."""

from __future__ import annotations

import os
import shutil

from spartito.base.messages import Refused
from spartito.view import onefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.view.kinds import Experiment


def page(experiment: Experiment, path: str) -> None:
    """As `spartito html` makes it, in the place of a file of that name. Refused: it cannot be written."""
    os.makedirs(os.path.dirname(path), exist_ok=True)  # as for a copy
    onefile.write(path, onefile.document(experiment, onefile.LIMIT << 20, True)[0])


def copy(directory: str, path: str) -> None:
    """Refused: there is something at the path already. OSError: it cannot be written, or not be read."""
    if os.path.lexists(path):
        raise Refused(f"{path} already exists; choose another name")
    if (path + os.sep).startswith(os.path.realpath(directory) + os.sep):
        raise Refused(f"{path} is within the result itself")
    part = f"{path}.part-{os.getpid()}"
    try:
        shutil.copytree(directory, part, symlinks=True)
        os.rename(part, path)
    except BaseException as e:
        shutil.rmtree(part, ignore_errors=True)
        if isinstance(e, shutil.Error):  # of many files; the first says enough
            source, target, why = e.args[0][0]
            raise Refused(f"{source} cannot be copied to {target}: {why}") from None
        raise
