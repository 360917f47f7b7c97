# SPDX-License-Identifier: BSD-3-Clause
"""Preparations of `omnitrace-python` in a process before the program starts: the builtins of -b and the file of --setup. startup.py
imports this module if the launcher passes one of them; the import itself runs the preparations."""

from __future__ import annotations

import os
import sys

from spartito import _measure
from spartito.compat.omnitrace import inside
from spartito.compat.omnitrace.profiler import FakeProfiler, Profiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _builtins(script: bool) -> None:
    import atexit
    import builtins

    names: dict[str, Any] = builtins.__dict__
    names["profile"] = names["trace"] = Profiler()
    names["noprofile"] = FakeProfiler()
    if script:
        atexit.register(_hidden, os.getpid())


def _hidden(pid: int) -> None:
    """Warns about a script that binds the names of Spartito's builtins itself, as nothing may be recorded then."""
    main = sys.modules.get("__main__")
    if os.getpid() != pid or not main:
        return
    for name in ("profile", "trace"):
        own = main.__dict__.get(name)
        if own is not None and not str(getattr(own, "__module__", "")).startswith(("spartito", "omnitrace")):
            inside.complain(f"-b: the script defines the name {name!r}, which hides the builtin: what uses it is not recorded")


def _run(file: str) -> None:
    """Executes the file of --setup in the namespace of the script. Exceptions, including those of sys.exit(), end the run."""
    import __main__

    with open(file, "rb") as f:
        code = compile(f.read(), file, "exec")
    names: dict[str, Any] = __main__.__dict__
    before = {name: names[name] for name in ("__file__",) if name in names}
    sys.path.insert(1 if sys.path else 0, os.path.dirname(file))
    names["__file__"] = file
    exec(code, names)
    names.pop("__file__", None)
    names.update(before)


def _prepare(file: str, then: bool) -> None:
    _run(file)
    if then:
        # the program's children record from their start on
        os.environ["SPARTITO_INSTRUMENT"] = "1"
        _measure.instrument(True)


def _read() -> None:
    handed = inside.handed_over()
    # only in the direct child of the launcher, not in programs that it starts
    above = str(os.getppid())
    if "builtin" in handed:
        _builtins(handed["builtin"] == above)
    parent, _, file = handed.get("setup", "").partition(":")
    if file and parent == above:
        from spartito.run.ahead import arm

        arm(lambda: _prepare(file, "builtin" not in handed))


_read()
