# SPDX-License-Identifier: BSD-3-Clause
"""Writes the results to the experiment directory: profile.cubex, traces.otf2, MANIFEST.md.

Runs in the launcher or in a separate process (`complete`), as measured processes never load the analysis."""

from __future__ import annotations

import os
import sys

from spartito.base import package
from spartito.base.messages import Refused, reason, say
from spartito.compat.scorep import directory as place
from spartito.compat.scorep.variables import from_configuration
from spartito.experiments.family import BY_PROGRAM
from spartito.experiments.losses import ABRUPT, of_ranks, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TRACE = ("traces.otf2", "traces.def", "traces")
TIMEOUT = 3600  # seconds to wait for the results in a process that ends its measurement itself
LAST = 0.5  # seconds to wait for helpers of multiprocessing, which may end after the program


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _convert(path: str, profile: str, trace: bool) -> list[str]:
    """Writes the results to temporary files, then replaces the old ones. Returns error messages."""
    from spartito._analyse import Error, Model
    from spartito.experiments.conversion import convert, find

    model = Model(path)
    info: dict[str, Any] = model.info()
    new = os.path.join(path, f".new-{os.getpid()}")
    wrong = [*sentences(info), *of_ranks(path)]
    for wanted, name, what in ((profile, "cube", profile), ("1" if trace else "", "otf2", TRACE[0])):
        if not wanted:
            continue
        try:
            convert(model, find(name), new)
            for part in [what] if name == "cube" else TRACE:
                target = os.path.join(path, part)
                if name != "cube":
                    _remove(target)
                os.replace(new if name == "cube" else os.path.join(new, part), target)
        except (Error, Refused, OSError) as e:
            text = f"{e.filename}: {reason(e)}" if isinstance(e, OSError) and e.filename else str(e)
            wrong.append(f"{what} was not written: {text}")
        finally:
            try:
                _remove(new)
            except OSError:
                pass
    return wrong


def wait_for_the_last(path: str, but: int | None = None) -> None:
    """Waits up to LAST seconds for processes that still write to the experiment.

    but: id of a process not to wait for; None: the parent of this process."""
    but = os.getppid() if but is None else but
    import time

    end = time.monotonic() + LAST
    while any(pid != but for pid in place.running(path)) and time.monotonic() < end:
        time.sleep(0.005)


def write(path: str, but: int | None = None) -> list[str]:
    """Writes the results of an experiment with the variables in its scorep.cfg; may be called again. Returns messages about lost
    data and errors. Raises no exceptions because of damaged recordings.

    but: see wait_for_the_last()."""
    import fcntl

    try:
        wanted = from_configuration(os.path.join(path, place.CFG))
        lock = os.open(path, os.O_RDONLY)
    except OSError as e:
        return [f"the results in {path} cannot be written: {reason(e)}"]
    base = wanted.get("SCOREP_PROFILING_BASE_NAME", "profile")
    profile = base + ".cubex" if wanted.get("SCOREP_ENABLE_PROFILING") == "true" else ""
    trace = wanted.get("SCOREP_ENABLE_TRACING") == "true"
    wait_for_the_last(path, but)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two processes of one run may end their measurement at the same time
        except OSError:
            pass  # a file system without locks
        try:
            lines = _convert(path, profile, trace) if profile or trace else []
        except Exception as e:
            lines = [f"the results in {path} cannot be written: {' '.join(str(e).split()) or type(e).__name__}"]
        try:
            place.write_manifest(path, base, lines)
        except OSError as e:
            lines.append(f"{path}/MANIFEST.md cannot be written: {reason(e)}")
    finally:
        os.close(lock)
    # MANIFEST.md reports how workers ended; omit it here
    return [line for line in lines if ABRUPT not in line and BY_PROGRAM not in line]


def main(path: str) -> int:
    lines = write(path)
    for line in lines:
        say("scorep: " + line)
    return 1 if lines else 0


def complete(path: str) -> None:
    """Runs write() in a separate process, which inherits only standard error."""
    import subprocess

    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from spartito.compat.scorep.results import main; "
        "sys.exit(main(sys.argv[2]))"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_")}
    command = [sys.executable or "python3", "-I", "-c", code, package.SITE, path]
    try:
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=TIMEOUT)
    except (OSError, subprocess.SubprocessError) as e:
        say(f"scorep: the results in {path} cannot be written: {e}")
