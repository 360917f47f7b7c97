# SPDX-License-Identifier: BSD-3-Clause
"""A measurement that the program begins or ends itself: scorep.register() without `python -m scorep`, force_finalize()."""

from __future__ import annotations

import atexit
import os
import sys

from spartito import _measure
from spartito.base.messages import Refused, say
from spartito.compat.scorep import directory as place
from spartito.compat.scorep.variables import Variables
from spartito.experiments.rundir import world_of

TYPE_CHECKING = False
if TYPE_CHECKING:

    from spartito.experiments.rundir import Directory

_begun: Directory | None = None
_owner = 0  # id of the process that began the measurement; its forked children do not end it
_ended = False


def register() -> None:
    if _measure.active():
        _measure.instrument(True)
    elif not _ended and not _begun and "SPARTITO_EXPERIMENT" not in os.environ:
        _begin()


def _begin() -> None:
    global _begun, _owner
    script = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python"
    try:
        variables = Variables(os.environ)
    except Refused as e:
        raise ValueError(str(e)) from None
    try:
        command = [script, *sys.argv[1:]]
        directory = place.create(variables, command, False, world_of(command))
    except Refused as e:
        raise OSError(str(e)) from None
    for line in variables.notes:
        say("scorep: " + line)
    if variables.on("SCOREP_ENABLE_PROFILING") or variables.on("SCOREP_ENABLE_TRACING"):
        try:
            _measure.start(directory.path, variables.settings(instrument=True, io=None, mpi=False))
        except BaseException:
            place.forget(directory)
            raise
    _begun, _owner = directory, os.getpid()
    atexit.register(finalize)
    _at_end_of_child()


def _at_end_of_child() -> None:
    """Registers finalize() in a child of multiprocessing, which exits by os._exit after running its finalizers, as the last one."""
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util and process and process.parent_process() is not None:
        util.Finalize(None, finalize, exitpriority=-sys.maxsize)


def finalize() -> None:
    global _begun, _ended
    mine = _begun if _owner == os.getpid() else None
    _begun = None
    path = _measure.experiment() or (mine.path if mine else None)
    if path is None or _ended:
        return
    _ended = True
    _measure.stop()
    if mine and mine.crew and not _last(mine):
        return
    if mine or (not _owner and os.path.exists(os.path.join(path, place.CFG))):
        from spartito.compat.scorep.results import complete

        complete(path)


def _last(directory: Directory) -> bool:
    try:
        return directory.last(None)
    except OSError:
        return False


def exit_first() -> None:
    if _begun and _owner == os.getpid():
        atexit.unregister(finalize)
        atexit.register(finalize)
