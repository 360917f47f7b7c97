# SPDX-License-Identifier: BSD-3-Clause
"""The measurement of a process: its configuration, and the functions of omnitrace that begin and end it."""

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

CONFIG = "SPARTITO_OMNITRACE_CONFIG"  # lines of Config.text(), and lines builtin=PARENT, setup=PARENT:FILE

config = Config()
_begun: Directory | None = None
_owner = 0  # id of the process that began the measurement; its forked children do not end it
_ended = False
_active_config: tuple[str, str, bool, bool] | None = None  # filter, label, annotations, C functions; None: not set by Omnitrace


def _asked() -> tuple[str, str, bool, bool]:
    return config.filter(), config.label(), config.annotate_trace, config.trace_c


def complain(text: str) -> None:
    say("omnitrace: " + text)


# ---- configuration of the launcher ----


def handed_over() -> dict[str, str]:
    """The launcher's values "builtin" and "setup"."""
    pairs = (line.partition("=") for line in os.environ.get(CONFIG, "").split("\n"))
    return {name: value for name, _, value in pairs if name in ("builtin", "setup")}


def _read() -> None:
    global _active_config
    config.read(os.environ.get(CONFIG, ""))
    if CONFIG in os.environ:
        _active_config = _asked()
    config._changed = _changed


# ---- recording functions ----


def functions(on: bool) -> bool:
    """Enables or disables the recording of functions. Returns whether that changed the state."""
    if on:
        _configure()
    return _measure.instrument(on)


def _changed(name: str) -> None:
    if name == "include_internal" and config.include_internal:
        complain("config.include_internal has no effect here: no function of omnitrace itself is recorded")
    if _measure.instrumented():
        _configure()


def _configure() -> None:
    """Applies the configuration from here on."""
    global _active_config
    asked = _asked()
    if _active_config is None or asked == _active_config or not _measure.active():
        return
    if asked[3] != _active_config[3]:
        complain("config.trace_c has no effect any more: whether functions of C are recorded is decided at the beginning")
    if asked[:3] != _active_config[:3]:
        _measure.filter(asked[0])
        _measure.label(asked[1])
        _measure.annotate(asked[2])
        if sys.version_info >= (3, 12):
            sys.monitoring.restart_events()
    _active_config = asked


# ---- a measurement that the program begins ----


def begin(command: list[str] | None = None) -> None:
    """Begins a measurement unless the process is measured already. Functions are not recorded yet.
    ValueError: a variable is invalid; OSError: the output directory cannot be created."""
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
    global _begun, _owner, _active_config
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
    _active_config = _asked()
    _begun, _owner = directory, os.getpid()
    import atexit

    atexit.register(_complete)


def is_initialized() -> bool:
    """Whether a measurement has begun, even if it has ended."""
    return _ended or _begun is not None or _measure.active()


def is_finalized() -> bool:
    return _ended


def initialize(command: str | list[str] = "") -> None:
    """Begins the measurement. command: gives the output directory its name. RuntimeError: a measurement has begun before."""
    if is_initialized():
        raise RuntimeError("omnitrace is already initialized")
    if isinstance(command, str):
        begin([command] if command else None)
    else:
        begin([str(word) for word in command] or None)


def finalize() -> None:
    """Ends the measurement of this process. If the program began it, the results are complete when this returns.
    RuntimeError: it has ended before."""
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
