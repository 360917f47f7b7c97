# SPDX-License-Identifier: BSD-3-Clause
"""The directory of an experiment, as the launcher sees it: its name, experiment.json, and whether anything is in it."""

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

    from spartito.experiments.ranks import Crew, Place
    from spartito.experiments.world import World

# what tells a process its rank; without one of them nothing that is for ranks needs to be loaded
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK")
HEADER = 320  # struct sp_raw_header, src/format/format.h
VERSION, ENDED, PID, REGIONS, CHECKSUM = 12, 28, 36, 48, 316  # offsets of its fields
FIRST_WITH_CHECKSUMS = 6  # the version from which on there are some
SAMPLES = ".samples.raw"  # how names end of files that another process has written about the one of the same name
RUNNING = 0  # enum sp_raw_ended
PRELOAD_HEAP = "heap.so"  # and to that of --memory-profile
PRELOAD_WAITS = "waits.so"  # and to that of --waits
PRELOAD = "preload.so"  # a link to the library of --io, where LD_PRELOAD cannot name the library itself
CELLS = "cells"  # the cells of a notebook, for processes that a measured one starts


def script(command: list[str]) -> tuple[str, str]:
    """What an interpreter's command line runs: ("file", path), ("module", name), ("code", "") or ("", "")."""
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
    """The name of the script in a command line, for the name of the directory."""
    kind, what = script(command)
    if (kind, what) == ("module", "IPython"):  # IPython runs scripts of its own
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
    """The parallel job in which this launcher is one of several; None: it stands alone."""
    if not any(name in os.environ for name in RANKS):
        return None
    from spartito.experiments import ranks, world

    found = world.find(command)
    around = ranks.read(os.environ.get("SPARTITO_EXPERIMENT", "")) if found else None
    # started by a program that is such a rank itself, which may start as many as it likes
    return None if found and around and around.key == found.key else found


def is_silent(world: World | None) -> bool:
    """Whether another rank says what is wrong; it gets the time to."""
    if not world or world.reports:
        return False
    world.wait_for_report()
    return True


def quoted(text: str) -> str:
    """A JSON string. The json module costs more at start-up than all the rest of the launcher."""
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
    """Writes a file whole or not at all. OSError: it could not be written."""
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
    """There is something at the path already."""


class Directory:
    """An experiment directory made for this run."""

    def __init__(self, path: str, command: list[str], launched: bool = True, wanted: str = "") -> None:
        self.path = path
        self.wanted = wanted  # JSON: what `spartito finalize` shall do; "": the run does all itself
        self.launched = launched  # by `spartito run`; else the program measures itself
        self.command = command
        self.made: list[str] = []  # directories that did not exist before, outermost first
        self.crew: Crew | None = None  # several ranks write into it, each with a launcher of its own
        self.start = time.time()

    def _make(self, path: str, shared: bool = False) -> None:
        above = os.path.dirname(path)
        if not os.path.isdir(above):
            # another process may make the same one at this moment, for an experiment of its own beside this one
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
        """empty: one that is there and empty will do. Refused: it cannot be written; Exists: it is there already."""
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
        """Makes the directory, or takes part in what another rank of this job has made. False: it belongs to something
        else. Refused: it cannot be written."""
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
        """Whether this process speaks for all, now that the program has ended (status as of waitpid; None: not known).
        OSError: that cannot be found out."""
        return not self.crew or self.crew.end(status)

    def no_script(self, status: int, files: int) -> bool:
        """The interpreter has said that it cannot open the script; what it ran before that is of no use to anyone."""
        statuses = [place.status for place in self.crew.places()] if self.crew else [status]
        # mpiexec may end the others with a signal before they have looked for it
        exits = [os.WEXITSTATUS(s) for s in statuses if s is not None and os.WIFEXITED(s)]
        if not exits or any(e != 2 for e in exits):
            return False
        kind, path = script(self.command)
        return kind == "file" and files <= len(statuses) and not os.path.lexists(path)

    def describe(self, wait_status: int | None, attached: str = "") -> None:
        """Writes experiment.json, whole or not at all; attached: it is complete, though the status is not known, and this became of
        the process that ran already ("ended", "runs"). OSError: it could not be written."""
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
        """Takes back what was made and raw files in which nothing was recorded; nothing else is touched. Of several ranks
        the last one does it."""
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
        # what is within another one first: of two ranks one may have made the directory, and the other one raw
        for remove, paths in ((os.unlink, files), (os.rmdir, sorted(self.made, key=len, reverse=True))):
            for path in paths:
                try:
                    remove(path)
                except OSError:
                    pass


def _parts(wait_status: int | None) -> tuple[str, str]:
    """Exit status and signal, in JSON."""
    if wait_status is None:
        return "null", "null"
    if os.WIFSIGNALED(wait_status):
        return "null", str(os.WTERMSIG(wait_status))
    return str(os.WEXITSTATUS(wait_status)), "null"


def _place_line(place: Place) -> str:
    status, signal = _parts(place.status)
    return f'{{"rank": {place.rank}, "host": {quoted(place.host)}, "pid": {place.pid}, "status": {status}, "signal": {signal}}}'


def _world_lines(crew: Crew, ended: bool) -> list[str]:
    """Until the end, the file `ranks` says the rest."""
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
    """The directory that the user named, or a new one with the default name; world: several ranks share it."""
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
    name = default_name(command)
    for n in range(1, 1000):
        path = os.path.join(here, name if n == 1 else f"{name}-{n}")
        directory = Directory(path, command, launched, wanted)
        try:
            # not only looked for: another run may begin in the same second
            directory.create(empty=False)
        except Exists:
            continue
        return directory
    raise Refused(f"{name} and 998 more of that name already exist")


def meet(here: str, world: World, name: Callable[[], str], make: Callable[[str], Directory]) -> Directory:
    """The one directory in here that all ranks of the world agree upon. name() is called in one of them."""
    from spartito.experiments import ranks

    try:
        agreed, meeting = ranks.meet(here, world, name)
    except OSError as e:
        raise Refused(f"no experiment directory can be made in {here}: {reason(e)}") from None
    for n in range(1, 1000):
        # every rank tries the same names in the same order
        directory = make(os.path.join(here, agreed if n == 1 else f"{agreed}-{n}"))
        if directory.join(world):
            assert directory.crew
            directory.crew.joined(meeting, agreed)
            return directory
    raise Refused(f"{agreed} and 998 more of that name already exist")


class Found:
    """What a run left in raw/. files: one for each process; open: process and file of those that were not ended; unsealed: files
    without checksums, where they should have some."""

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
                # a short or odd file counts as recorded: the reader will say what is wrong with it
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
        """Writes the checksums that a process could not, which was killed, became another program or left threads behind."""
        if self.unsealed:
            from spartito._analyse import seal

            for path in self.unsealed:
                seal(path)
