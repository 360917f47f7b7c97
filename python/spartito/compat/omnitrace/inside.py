# SPDX-License-Identifier: BSD-3-Clause
"""The measurement of a process: its configuration, and functions of omnitrace that begin and end it."""

from __future__ import annotations

import os
import sys

from spartito import _measure
from spartito.base.messages import Refused, say
from spartito.compat.omnitrace.config import Config

TYPE_CHECKING = False
if TYPE_CHECKING:

    from spartito.compat.omnitrace.variables import Variables
    from spartito.experiments.rundir import Directory

CONFIG = "SPARTITO_OMNITRACE_CONFIG"  # what Config.text() wrote, and lines builtin=PARENT, setup=PARENT:FILE

config = Config()
_begun: Directory | None = None
_owner = 0  # pid of the process that began it: a child of fork has nothing to complete
_ended = False
_in_force: tuple[str, str, bool, bool] | None = None  # filter, label, annotations, C functions; None: not those of Omnitrace


def _asked() -> tuple[str, str, bool, bool]:
    return config.filter(), config.label(), config.annotate_trace, config.trace_c


def complain(text: str) -> None:
    say("omnitrace: " + text)


# ---- what the launcher says ----


def handed_over() -> dict[str, str]:
    """What the launcher hands over besides the configuration: "builtin" and "setup"."""
    pairs = (line.partition("=") for line in os.environ.get(CONFIG, "").split("\n"))
    return {name: value for name, _, value in pairs if name in ("builtin", "setup")}


def _read() -> None:
    global _in_force
    config.read(os.environ.get(CONFIG, ""))
    if CONFIG in os.environ:
        _in_force = _asked()
    config._changed = _changed


# ---- recording functions ----


def functions(on: bool) -> bool:
    """Whether that changed it."""
    if on:
        _configure()
    return _measure.instrument(on)


def _changed(name: str) -> None:
    if name == "include_internal" and config.include_internal:
        complain("config.include_internal has no effect here: no function of omnitrace itself is recorded")
    if _measure.instrumented():
        _configure()


def _configure() -> None:
    """Lets the configuration count from here on."""
    global _in_force
    asked = _asked()
    if _in_force is None or asked == _in_force or not _measure.active():
        return
    if asked[3] != _in_force[3]:
        complain("config.trace_c has no effect any more: whether functions of C are recorded is decided at the beginning")
    if asked[:3] != _in_force[:3]:
        _measure.filter(asked[0])
        _measure.label(asked[1])
        _measure.annotate(asked[2])
        if sys.version_info >= (3, 12):
            sys.monitoring.restart_events()
    _in_force = asked


# ---- a measurement of the program's own ----


def begin(command: list[str] | None = None) -> None:
    """Begins one, where there is none. Functions are not recorded yet.
    ValueError: a variable cannot be read; OSError: the output directory cannot be made."""
    if _begun or _ended or _measure.active() or "SPARTITO_EXPERIMENT" in os.environ:
        return
    _begin(command)


def _variables() -> Variables:
    from spartito.compat.omnitrace.variables import Variables

    try:
        variables = Variables(os.environ)
    except Refused as e:
        raise ValueError(str(e)) from None
    for line in variables.notes:
        complain(line)
    return variables


def _begin(command: list[str] | None) -> None:
    global _begun, _owner, _in_force
    from spartito.compat.omnitrace import directory as place
    from spartito.experiments.rundir import world_of

    script = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python"
    words = command or [script, *sys.argv[1:]]
    variables = _variables()
    if not variables.measured:
        return
    try:
        directory = place.create(variables, words, False, world_of(words))
    except Refused as e:
        raise OSError(str(e)) from None
    try:
        _measure.start(directory.path, variables.settings(config, False))
    except BaseException:
        place.forget(directory)
        raise
    _in_force = _asked()
    _begun, _owner = directory, os.getpid()
    import atexit

    atexit.register(_complete)


def is_initialized() -> bool:
    """Whether there is a measurement, or was one."""
    return _ended or _begun is not None or _measure.active()


def is_finalized() -> bool:
    return _ended


def initialize(command: str | list[str] = "") -> None:
    """Begins the measurement; command: what its output is named after. RuntimeError: there is one, or was."""
    if is_initialized():
        raise RuntimeError("omnitrace is already initialized")
    if isinstance(command, str):
        begin([command] if command else None)
    else:
        begin([str(word) for word in command] or None)


def finalize() -> None:
    """Ends the measurement of this process; where the program began it, the results are complete when this returns.
    RuntimeError: that was done before."""
    if _ended:
        raise RuntimeError("omnitrace is already finalized")
    _complete()


def _complete() -> None:
    global _begun, _ended
    mine = _begun if _owner == os.getpid() else None
    _begun = None
    if _ended or not (mine or _measure.active()):
        _ended = True
        return
    _ended = True
    _measure.stop()
    if not mine:
        return
    try:
        last = mine.last(None)
    except OSError:
        last = False
    if last:
        from spartito.compat.omnitrace.results import complete

        complete(mine.path, config.verbosity)


_read()
