# SPDX-License-Identifier: BSD-3-Clause
"""Score-P's experiment directory: its name, the handling of an existing one, scorep.cfg and MANIFEST.md."""

from __future__ import annotations

import os
import time

from spartito.base.messages import Refused, reason
from spartito.experiments.rundir import PRELOAD, Directory, meet, write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.compat.scorep.variables import Variables
    from spartito.experiments.world import World

VARIABLE = "SCOREP_EXPERIMENT_DIRECTORY"
CFG = "scorep.cfg"


def _suffix() -> str:
    """YYYYMMDD_HHMM_<id>, as in Score-P; the id is a clock value, so that two runs in the same minute differ."""
    return time.strftime("%Y%m%d_%H%M_") + str(time.monotonic_ns())


def running(path: str) -> list[int]:
    """Ids of the processes of this host that may still write to an experiment: those with a file in it that exist."""
    host = os.uname().nodename + "-"
    found = []
    try:
        names = os.listdir(os.path.join(path, "raw"))
    except OSError:
        names = []
    for name in names:
        pid = name[len(host) :].split("-")[0]
        if name.startswith(host) and pid.isdigit() and name.endswith(".raw"):
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                continue
            except OSError:
                pass
            found.append(int(pid))
    return found


def _in_use(path: str) -> bool:
    """Whether a run still writes to an experiment: the run that started this one, or another run on this host."""
    from spartito.experiments.ranks import in_use

    # earlier measurements of this process have ended, as it does one measurement at a time
    others = [pid for pid in running(path) if pid != os.getpid()]
    return os.environ.get("SPARTITO_EXPERIMENT") == path or bool(others) or in_use(path)


def _make_room(path: str, overwrite: bool) -> str:
    """Renames an existing directory or file at path; returns the path to use. Refused: it must not or cannot be renamed."""
    if not os.path.lexists(path):
        return path
    if _in_use(path):
        n = 2
        while os.path.lexists(f"{path}-{n}"):
            n += 1
        return f"{path}-{n}"
    if not overwrite:
        raise Refused(f"{VARIABLE}: {path} already exists, and SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY=false forbids to rename it")
    try:
        os.rename(path, f"{path}-{_suffix()}")
    except OSError as e:
        raise Refused(f"{VARIABLE}: {path} already exists and cannot be renamed: {reason(e)}") from None
    return path


def create(variables: Variables, command: list[str], launched: bool = True, world: World | None = None) -> Directory:
    """Creates the directory with scorep.cfg. world: several ranks share it. Refused: it cannot be created."""
    wanted = variables.values[VARIABLE]
    overwrite = variables.on("SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY")
    try:
        here = "" if os.path.isabs(wanted) else os.getcwd()
    except OSError as e:
        raise Refused(f"the current directory is not usable: {reason(e)}; name an absolute one in {VARIABLE}") from None
    path = os.path.normpath(os.path.join(here, wanted or "scorep-" + _suffix()))
    if world:
        directory = _shared(path, command, launched, world, overwrite)
    else:
        directory = Directory(_make_room(path, overwrite), command, launched)
        directory.create()
    if directory.crew and not directory.crew.first:
        return directory
    try:
        write_whole(os.path.join(directory.path, CFG), variables.configuration(directory.path))
    except OSError as e:
        directory.remove()
        raise Refused(f"the experiment directory {directory.path} cannot be written: {reason(e)}") from None
    return directory


def _shared(path: str, command: list[str], launched: bool, world: World, overwrite: bool) -> Directory:
    """One rank renames an existing directory; all ranks use the new one."""
    above = os.path.dirname(path)
    try:
        os.makedirs(above, exist_ok=True)
    except OSError as e:
        raise Refused(f"the experiment directory {path} cannot be written: {reason(e)}") from None
    return meet(
        above,
        world,
        lambda: os.path.basename(_make_room(path, overwrite)),
        lambda name: Directory(name, command, launched),
    )


def forget(directory: Directory) -> None:
    """Removes a directory in which nothing was recorded."""
    try:
        os.unlink(os.path.join(directory.path, CFG))
    except OSError:
        pass
    directory.remove()


WHAT = (
    ("profile", "call-path profile; open with the Cube GUI, pycubexr or cube_stat"),
    ("traces.otf2", "anchor of the trace; open with Vampir or otf2-print"),
    ("traces.def", "definitions of the trace"),
    ("traces", "events of the trace, a file for each location"),
    (CFG, "the variables of Score-P that were in force"),
    ("experiment.json", "command, times and exit status"),
    ("raw", "what was recorded; read by `spartito report`, `info` and `convert`"),
    ("ranks", "the ranks that took part, and how each ended"),
    (PRELOAD, "link to the library that records file I/O"),
    ("MANIFEST.md", "this list"),
)


def write_manifest(path: str, base: str, lines: list[str]) -> None:
    """Writes MANIFEST.md: the files of the experiment, and lines about lost data. OSError: it cannot be written."""
    rows = []
    for name, what in WHAT:
        shown = base + ".cubex" if name == "profile" else name
        if name == "MANIFEST.md" or os.path.exists(os.path.join(path, shown)):
            mark = "/" if os.path.isdir(os.path.join(path, shown)) else ""
            rows.append(f"| `{shown}{mark}` | {what} |\n")
    text = "# Experiment directory\n\nMeasured with Spartito through its module `scorep`.\n\n"
    text += "| file | what it is |\n|---|---|\n" + "".join(rows)
    if lines:
        text += "\n## Remarks\n\n" + "".join(f"- {line}\n" for line in lines)
    write_whole(os.path.join(path, "MANIFEST.md"), text)
