# SPDX-License-Identifier: BSD-3-Clause
"""Imports the modules that Score-P's launcher imports before the program begins. There, the program's first import of one of these
modules is not recorded. So it is not recorded here either, and the call paths match filters written for Score-P."""

from __future__ import annotations

import os
import sys

# imports of `python -m scorep` of the bindings 4.5.1 in all versions of Python; these import the other ones
MODULES = ("runpy", "inspect", "platform", "functools", "tempfile", "shutil", "subprocess", "re", "threading")


def _standard(entry: str) -> bool:
    """Whether an entry of sys.path belongs to the standard library."""
    library = os.path.dirname(os.__file__)
    if os.path.basename(entry) == f"python{sys.version_info[0]}{sys.version_info[1]}.zip":
        return True
    return (entry + os.sep).startswith(library + os.sep) and not entry.endswith("-packages")


def _give_back(new: set[str], places: list[str]) -> None:
    """Removes imported modules from sys.modules if the program has a module of the same name, which it must import instead."""
    from importlib.machinery import PathFinder

    known = set(sys.path_importer_cache)
    for name in {module.partition(".")[0] for module in new}:
        spec = PathFinder.find_spec(name, places)
        if spec is not None and spec.loader is not None and spec.origin != getattr(sys.modules[name].__spec__, "origin", None):
            for module in new:
                if module == name or module.startswith(name + "."):
                    sys.modules.pop(module, None)
    for place in set(sys.path_importer_cache) - known:
        del sys.path_importer_cache[place]


def _stop_at_exit() -> None:
    """Stops recording functions of the main thread after the program's last line, as the bindings do, since the interpreter calls
    further functions at exit. Other threads are still recorded."""
    import threading

    from spartito import _measure

    shutdown = threading._shutdown  # type: ignore[attr-defined]

    def ended() -> None:
        if sys._getframe(0).f_back is None:  # called by the interpreter at exit; processes of multiprocessing call it from Python
            _measure.thread_functions(False)
        shutdown()

    threading._shutdown = ended  # type: ignore[attr-defined]


def load(directory: str) -> None:
    """directory: of the program, which the interpreter inserts at the front of sys.path later."""
    from importlib import import_module

    before, path = set(sys.modules), list(sys.path)
    standard = [entry for entry in path if _standard(entry)]
    if not standard:
        return
    first = path.index(standard[0])
    try:
        sys.path[:] = standard
        for name in MODULES:
            import_module(name)
    finally:
        sys.path[:] = path
    _stop_at_exit()
    # the program's own import of it, and what it imports when it is first used, is no event either
    for name in ("scorep", "spartito.user"):
        import_module(name)
    new = {name for name in set(sys.modules) - before if name.partition(".")[0] != "spartito"}
    _give_back(new, [directory, *path[:first]])
