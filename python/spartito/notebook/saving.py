# SPDX-License-Identifier: BSD-3-Clause
"""Saves results under a name. An incomplete copy is removed."""

from __future__ import annotations

import os
import shutil

from spartito.base.messages import Refused
from spartito.view import onefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.view.kinds import Experiment


def page(experiment: Experiment, path: str) -> None:
    """Writes the one-file page of `spartito html`; replaces an existing file. Refused: it cannot be written."""
    os.makedirs(os.path.dirname(path), exist_ok=True)  # as shutil.copytree() does in copy()
    onefile.write(path, onefile.document(experiment, onefile.LIMIT << 20, True)[0])


def copy(directory: str, path: str) -> None:
    """Copies the experiment directory to a new path. Refused: the path exists already. OSError: reading or writing fails."""
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
        if isinstance(e, shutil.Error):  # has the errors of all files; report the first
            source, target, why = e.args[0][0]
            raise Refused(f"{source} cannot be copied to {target}: {why}") from None
        raise
