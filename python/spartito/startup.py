# SPDX-License-Identifier: BSD-3-Clause
"""For processes of a measured run, from spartito.pth: `import scorep` and `import omnitrace` without their distribution, the
instrumenter file, and what `omnitrace-python` and kernprof put in front of a program. Runs in every measured process: imports
what the interpreter has loaded anyway."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.path.join(HERE, "dropin")
NAMES = ("scorep", "omnitrace")


def find_spec(name: str, path: "Any" = None, target: "Any" = None) -> "Optional[ModuleSpec]":
    """This module stands at the end of sys.meta_path: whatever else has one of these names comes first."""
    if name not in NAMES and (name != "line_profiler" or "SPARTITO_KERNPROF" not in os.environ):
        return None
    from importlib.machinery import PathFinder

    return PathFinder.find_spec(name, [PLACE])


def invalidate_caches() -> None:
    pass


def run_file(file: str) -> None:
    """Executes an instrumenter file. Its errors, and sys.exit() in it, end the run."""
    with open(file, "rb") as f:
        code = compile(f.read(), file, "exec")
    # not __main__: there the recording would begin
    exec(code, {"__name__": "scorep_instrumenter_file", "__file__": file, "__builtins__": __builtins__})


def before() -> None:
    """Ahead of the measurement: what is done here is in no result."""
    parent, sep, directory = os.environ.pop("SPARTITO_SCOREP_PROGRAM", "").partition(":")
    if sep and parent == str(os.getppid()):
        _find_dropins()
        try:
            from spartito.compat.scorep import loaded

            loaded.load(directory)
        except Exception:
            pass  # the program's own import will meet the same error


def _find_dropins() -> None:
    this = sys.modules[__name__]
    if this not in sys.meta_path:
        sys.meta_path.append(this)


def begin() -> None:
    _find_dropins()
    if "SPARTITO_KERNPROF" in os.environ or "SPARTITO_KERNPROF_SETUP" in os.environ:
        from spartito.compat.kernprof import inside

        inside.begin()
    parent, sep, file = os.environ.get("SPARTITO_INSTRUMENTER_FILE", "").partition(":")
    if sep and parent == str(os.getppid()):
        del os.environ["SPARTITO_INSTRUMENTER_FILE"]
        from spartito.run.ahead import arm

        arm(lambda: run_file(file))
    lines = os.environ.get("SPARTITO_OMNITRACE_CONFIG", "").split("\n")
    if any(line.startswith(("builtin=", "setup=")) for line in lines):
        import spartito.compat.omnitrace.prepare  # noqa: F401
