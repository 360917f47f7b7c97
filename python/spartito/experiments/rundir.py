# SPDX-License-Identifier: BSD-3-Clause
"""The experiment directory in the launcher: its name, its creation and removal, experiment.json, and the raw files in it."""

from __future__ import annotations

import os
import sys
import time

from spartito.base import regular
from spartito.base.messages import Refused, reason
from spartito.experiments.job import batch_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from spartito.experiments.ranks import Crew, Place
    from spartito.experiments.world import World

    Made = TypeVar("Made")

# variables that contain the rank of a process; without any of them the modules for ranks are not loaded
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK")
HEADER = 320  # bytes of struct sp_raw_header, src/format/format.h
VERSION, ENDED, PID, REGIONS, CHECKSUM = 12, 28, 36, 48, 316  # offsets of its fields
FIRST_WITH_CHECKSUMS = 6  # first version of the raw format with checksums
SAMPLES = ".samples.raw"  # suffix of files with the samples of a process, which its sampler writes
RUNNING = 0  # enum sp_raw_ended
# links to preload libraries whose own path LD_PRELOAD cannot contain: for --memory-profile, --waits and --io
PRELOAD_HEAP = "heap.so"
PRELOAD_WAITS = "waits.so"
PRELOAD = "preload.so"
CELLS = "cells"  # file with the cells of a notebook, for child processes of the measured one


def script(command: list[str]) -> tuple[str, str]:
    """The program in the command line of a Python interpreter: ("file", path), ("module", name), ("code", "") or ("", "") for any
    other."""
    if not command or not os.path.basename(command[0]).startswith(("python", "pypy")):
        return "", ""
    words = iter(command[1:])
    for word in words:
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            next(words, None)
        elif word == "--":
            return "file", next(words, "-")
        elif word.startswith("--") or word == "-":
            continue
        elif word.startswith("-"):
            # -c and -m end the flags and may follow others in one word: -Bc code, -um module
            for i, letter in enumerate(word[1:], 2):
                if letter == "c":
                    return "code", ""
                if letter == "m":
                    return "module", word[i:] or next(words, "")
                if letter in "WX":
                    break
        else:
            return "file", word
    return "", ""


def label(command: list[str]) -> str:
    """The name of the program in a command line, for the name of the experiment directory."""
    kind, what = script(command)
    if (kind, what) == ("module", "IPython"):  # IPython runs .ipy scripts
        what = next((word for word in command if word.endswith(".ipy")), what)
    path = "command" if kind == "code" else what or (command[0] if command else "")
    name = os.path.basename(path.rstrip("/"))
    for suffix in (".py", ".pyc", ".pyz", ".ipy"):
        if name.endswith(suffix) and name != suffix:
            name = name[: -len(suffix)]
    clean = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    return clean.strip("._-")[:60] or "run"


def default_name(command: list[str]) -> str:
    name = "spartito-" + label(command) + time.strftime("-%Y%m%d-%H%M%S")
    job = batch_job()
    return name + "-" + "".join(c if c.isalnum() else "_" for c in job.split(".")[0])[:40] if job else name


def world_of(command: list[str]) -> World | None:
    """The parallel job of which this launcher is a rank; None: it is a single process."""
    if not any(name in os.environ for name in RANKS):
        return None
    from spartito.experiments import ranks, world

    found = world.find(command)
    around = ranks.read(os.environ.get("SPARTITO_EXPERIMENT", "")) if found else None
    # a measured rank of the same job started this launcher, so it is not a rank itself
    return None if found and around and around.key == found.key else found


def is_silent(world: World | None) -> bool:
    """Whether another rank reports an error that all ranks have. If so, waits to give it time for that."""
    if not world or world.reports:
        return False
    world.wait_for_report()
    return True


def quoted(text: str) -> str:
    """The text as a JSON string. Importing json takes longer than the rest of the launcher."""
    out = []
    for c in text:
        n = ord(c)
        if c in '"\\':
            out.append("\\" + c)
        elif " " <= c <= "~":
            out.append(c)
        elif n < 0x10000:
            out.append(f"\\u{n:04x}")
        else:
            n -= 0x10000
            out.append(f"\\u{0xD800 + (n >> 10):04x}\\u{0xDC00 + (n & 0x3FF):04x}")
    return '"' + "".join(out) + '"'


def write_whole(path: str, text: str) -> None:
    """Writes a file, complete or not at all. OSError: it cannot be written."""
    new = path + ".new"
    try:
        with open(new, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(text)
        os.replace(new, path)
    except OSError:
        try:
            os.unlink(new)
        except OSError:
            pass
        raise


class Exists(Refused):
    """The path exists already."""


class Directory:
    """The experiment directory of this run."""

    def __init__(self, path: str, command: list[str], launched: bool = True, wanted: str = "") -> None:
        self.path = path
        self.wanted = wanted  # JSON: the work for `spartito finalize`; "": the run does all work itself
        self.launched = launched  # `spartito run` started the program; False: the program measures itself
        self.command = command
        self.made: list[str] = []  # directories that this process created, outermost first
        self.crew: Crew | None = None  # set if several ranks, each with its own launcher, share the directory
        self.start = time.time()

    def _make(self, path: str, shared: bool = False) -> None:
        above = os.path.dirname(path)
        if not os.path.isdir(above):
            # another process may create the same parent directory at the same time, for another experiment
            self._make(above, True)
        try:
            os.mkdir(path)
        except FileExistsError:
            if shared:
                return
            raise
        self.made.append(path)

    def _not_written(self, e: OSError) -> Refused:
        return Refused(f"the experiment directory {self.path} cannot be written: {reason(e)}")

    def create(self, empty: bool = True) -> None:
        """Creates the directory. empty: an existing empty directory is accepted. Refused: it cannot be written; Exists: it
        exists."""
        another = "choose another with -o" if self.launched else "name another directory"
        try:
            if os.path.lexists(self.path):
                if not os.path.isdir(self.path):
                    raise Exists(f"{self.path} already exists and is not a directory; {another}", 2)
                if not empty or os.listdir(self.path):
                    raise Exists(f"{self.path} already exists and is not empty; {another}", 2)
            else:
                try:
                    self._make(self.path)
                except FileExistsError:
                    self.remove()
                    raise Exists(f"{self.path} already exists, made by another run at the same time; {another}", 2) from None
            self._make(os.path.join(self.path, "raw"))
            self.describe(None)
        except OSError as e:
            self.remove()
            raise self._not_written(e) from None

    def join(self, world: World) -> bool:
        """Creates the directory, or joins the one that another rank of this job has created. False: it does not belong to this job.
        Refused: it cannot be written."""
        from spartito.experiments import ranks

        crew = ranks.Crew(self.path, world, self.launched)
        try:
            if os.path.lexists(self.path) and not os.path.isdir(self.path):
                return False
            if not os.path.isdir(self.path):
                self._make(self.path, True)
            if not crew.begin():
                return False
            self.crew = crew
            self.start = crew.time
            if not os.path.isdir(os.path.join(self.path, "raw")):
                self._make(os.path.join(self.path, "raw"), True)
            if crew.first:
                self.describe(None)
        except OSError as e:
            raise self._not_written(e) from None
        return True

    def last(self, status: int | None) -> bool:
        """Records the end of the program (status: a wait status; None: not known). Returns whether this process finishes the
        experiment: it is a single process or the last rank. OSError: it cannot be recorded."""
        return not self.crew or self.crew.end(status)

    def no_script(self, status: int, files: int) -> bool:
        """Whether the interpreter could not open the script, and printed an error about that. Then the recording contains only
        start-up code."""
        statuses = [place.status for place in self.crew.places()] if self.crew else [status]
        # mpiexec may end other ranks with a signal before they try to open the script
        exits = [os.WEXITSTATUS(s) for s in statuses if s is not None and os.WIFEXITED(s)]
        if not exits or any(e != 2 for e in exits):
            return False
        kind, path = script(self.command)
        return kind == "file" and files <= len(statuses) and not os.path.lexists(path)

    def describe(self, wait_status: int | None, attached: str = "") -> None:
        """Writes experiment.json, complete or not at all. wait_status: None while the program runs. attached: the experiment of
        `spartito attach` is complete, and the sampled process "ended" or still "runs"; its status is not known. OSError: it cannot
        be written."""
        status, signal = _parts(wait_status)
        running = wait_status is None and not attached
        try:
            cwd = quoted(os.getcwd())
        except OSError:
            cwd = "null"
        lines = [
            '  "version": 1',
            f'  "command": [{", ".join(quoted(word) for word in self.command)}]',
            f'  "cwd": {cwd}',
            f'  "host": {quoted(os.uname().nodename)}',
            f'  "launcher": {quoted(sys.executable or "") if self.launched else "null"}',
            f'  "start": {self.start:.6f}',
            f'  "end": {"null" if running else f"{time.time():.6f}"}',
            f'  "status": {status}',
            f'  "signal": {signal}',
            f'  "job": {quoted(batch_job()) if batch_job() else "null"}',
        ]
        if attached:
            lines.append(f'  "attached": {quoted(attached)}')
        if self.wanted:
            lines.append(f'  "wanted": {self.wanted}')
        if self.crew:
            lines += _world_lines(self.crew, wait_status is not None)
        write_whole(os.path.join(self.path, "experiment.json"), "{\n" + ",\n".join(lines) + "\n}\n")

    def remove(self) -> None:
        """Removes the directories and files that the run created. It is called if nothing was recorded, by the last of several
        ranks. Other files stay."""
        raw = os.path.join(self.path, "raw")
        files = []
        if self.crew:
            self.made += [path for path in (self.path, raw) if path not in self.made]
        if raw in self.made:
            names = ("experiment.json", PRELOAD, PRELOAD_HEAP, PRELOAD_WAITS, "ranks", CELLS)
            files = [os.path.join(self.path, name) for name in names]
            try:
                files += [os.path.join(raw, name) for name in os.listdir(raw)]
            except OSError:
                pass
        # inner directories first: one rank may have created the directory, and another one raw/
        for remove, paths in ((os.unlink, files), (os.rmdir, sorted(self.made, key=len, reverse=True))):
            for path in paths:
                try:
                    remove(path)
                except OSError:
                    pass


def _parts(wait_status: int | None) -> tuple[str, str]:
    """Exit status and signal of a wait status, as JSON."""
    if wait_status is None:
        return "null", "null"
    if os.WIFSIGNALED(wait_status):
        return "null", str(os.WTERMSIG(wait_status))
    return str(os.WEXITSTATUS(wait_status)), "null"


def _place_line(place: Place) -> str:
    status, signal = _parts(place.status)
    return f'{{"rank": {place.rank}, "host": {quoted(place.host)}, "pid": {place.pid}, "status": {status}, "signal": {signal}}}'


def _world_lines(crew: Crew, ended: bool) -> list[str]:
    """Lines of experiment.json about the ranks. Before the end, the entries of ranks are only in the file `ranks`."""
    world = crew.world
    lines = [
        f'  "manager": {quoted(world.manager)}',
        f'  "manager_job": {quoted(world.key)}',
        f'  "size": {world.size}',
    ]
    if not ended:
        return lines
    places = crew.places()
    hosts = ", ".join(quoted(host) for host in dict.fromkeys(place.host for place in places))
    ranks = ",\n".join("    " + _place_line(place) for place in places)
    return [
        *lines,
        f'  "hosts": [{hosts}]',
        f'  "ranks": [\n{ranks}\n  ]',
    ]


def create(
    output: str, command: list[str], launched: bool = True, world: World | None = None, wanted: str = ""
) -> Directory:
    """Creates the directory that the user named, or a new one with the default name. world: the job whose ranks share it. Refused:
    it cannot be created."""
    absolute = "give an absolute one with -o" if launched else "name an absolute one"
    try:
        here = "" if os.path.isabs(output) else os.getcwd()
    except OSError as e:
        raise Refused(f"the current directory is not usable: {reason(e)}; {absolute}") from None
    if output:
        directory = Directory(os.path.normpath(os.path.join(here, output)), command, launched, wanted)
        if not world or not directory.join(world):
            directory.create()
        return directory
    if world:
        return meet(here, world, lambda: default_name(command), lambda path: Directory(path, command, launched, wanted))

    def make(path: str) -> Directory:
        directory = Directory(path, command, launched, wanted)
        # creating it is the check for existence: another run may begin in the same second
        directory.create(empty=False)
        return directory

    return numbered(os.path.join(here, default_name(command)), make)


def numbered(path: str, make: Callable[[str], Made]) -> Made:
    """make(path), or make() of the first one of path-2, path-3 … for which it does not raise Exists. Refused: 999 exist, or make()
    raises it."""
    for n in range(1, 1000):
        try:
            return make(path if n == 1 else f"{path}-{n}")
        except Exists:
            continue
    raise Refused(f"{path} and 998 more of that name already exist")


def meet(here: str, world: World, name: Callable[[], str], make: Callable[[str], Directory]) -> Directory:
    """The directory in `here` that all ranks of the job share. One rank calls name(); every rank calls make(path), and joins the
    directory."""
    from spartito.experiments import ranks

    try:
        agreed, meeting = ranks.meet(here, world, name)
    except OSError as e:
        raise Refused(f"no experiment directory can be made in {here}: {reason(e)}") from None

    def joined(path: str) -> Directory:
        directory = make(path)
        if not directory.join(world):
            raise Exists(f"{path} belongs to another job")
        return directory

    directory = numbered(os.path.join(here, agreed), joined)  # every rank tries the same names in the same order
    assert directory.crew
    directory.crew.joined(meeting, agreed)
    return directory


class Found:
    """The content of raw/ after a run. files: number of processes with a raw file. regions: number of recorded regions. errors:
    reasons why processes were not recorded. open: process id and name of the raw files without an end. unsealed: paths of raw files
    that lack checksums. gone: the directory was removed."""

    def __init__(self, path: str) -> None:
        self.files = 0
        self.regions = 0
        self.errors: list[str] = []
        self.open: list[tuple[int, str]] = []
        self.unsealed: list[str] = []
        self.gone = False
        raw = os.path.join(path, "raw")
        try:
            names = sorted(os.listdir(raw))
        except OSError:
            self.gone = True
            return
        for name in names:
            try:
                with regular.opened(os.path.join(raw, name)) as f:
                    head = f.read(4096)
            except OSError:
                continue
            if name.endswith(".error"):
                text = head.decode("utf-8", "backslashreplace").strip() or "it had no space to write the reason"
                if text not in self.errors:
                    self.errors.append(text.replace("\n", "; "))
            elif name.endswith(".raw"):
                self.files += not name.endswith(SAMPLES)
                # a truncated or damaged file counts as recorded, so that the reader reports the damage
                whole = len(head) >= HEADER and head[:8] == b"SPARTITO"
                ended, pid, regions, version, checksum = (
                    int.from_bytes(head[at : at + 4], sys.byteorder) for at in (ENDED, PID, REGIONS, VERSION, CHECKSUM)
                )
                self.regions += regions if whole else 1
                if whole and ended == RUNNING:
                    self.open.append((pid, name))
                if whole and version >= FIRST_WITH_CHECKSUMS and not checksum:
                    self.unsealed.append(os.path.join(raw, name))

    def seal(self) -> None:
        """Writes missing checksums of raw files. A process does not write them if it is killed, calls exec, or exits while threads
        run."""
        if self.unsealed:
            from spartito._analyse import seal

            for path in self.unsealed:
                seal(path)
