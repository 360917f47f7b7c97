# SPDX-License-Identifier: BSD-3-Clause
"""Start-up code of each process of a measured run; spartito.pth calls it.

It makes `import scorep` and `import omnitrace` work if those distributions are not installed, and runs the instrumenter file and
the code that `omnitrace-python` and kernprof run ahead of a program. As it runs in every measured process, it imports only modules
that the interpreter has loaded already."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
DROPINS = os.path.join(HERE, "dropin")
NAMES = ("scorep", "omnitrace")


def find_spec(name: str, path: "Any" = None, target: "Any" = None) -> "Optional[ModuleSpec]":
    """The finder method that the import system calls; this module is the finder. It is the last one on sys.meta_path, so that any
    other package with one of these names takes precedence."""
    if name not in NAMES and (name != "line_profiler" or "SPARTITO_KERNPROF" not in os.environ):
        return None
    from importlib.machinery import PathFinder

    return PathFinder.find_spec(name, [DROPINS])


def invalidate_caches() -> None:
    pass


def run_file(file: str) -> None:
    """Executes an instrumenter file. Its errors, and sys.exit() in it, end the run."""
    with open(file, "rb") as f:
        code = compile(f.read(), file, "exec")
    # not "__main__": the recording would begin in code with that name
    exec(code, {"__name__": "scorep_instrumenter_file", "__file__": file, "__builtins__": __builtins__})


def before() -> None:
    """Runs before the measurement begins, so that nothing it does is recorded."""
    parent, sep, directory = os.environ.pop("SPARTITO_SCOREP_PROGRAM", "").partition(":")
    if sep and parent == str(os.getppid()):
        _find_dropins()
        try:
            from spartito.compat.scorep import loaded

            loaded.load(directory)
        except Exception:
            pass  # the program's own import raises the same error


def _find_dropins() -> None:
    this = sys.modules[__name__]
    if this not in sys.meta_path:
        sys.meta_path.append(this)


def begin() -> None:
    """Runs after the measurement has begun."""
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
