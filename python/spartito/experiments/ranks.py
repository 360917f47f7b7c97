# SPDX-License-Identifier: BSD-3-Clause
"""Launchers of one parallel job that share an experiment: which rank this one is, and the file `ranks` in the
directory, where each has a place and says how its program ended.

`ranks` is text of fixed places, so that ranks on several machines write without each other:

    one line, 512 bytes    spartito-ranks 1 SIZE MANAGER TIME KEY
    one line, SIZE + 1     a letter for each rank: . has not come, j has joined, e has ended
    SIZE lines, 160 bytes  RANK PID START HOST TIME STATUS; START as in /proc/PID/stat, STATUS as of waitpid, - before,
                           ? of a program that measured itself

Whoever has joined holds a shared lock on it until he ends: the last one is the one who gets it alone, whatever became
of the others."""

from __future__ import annotations

import errno
import os
import time

from spartito.base import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from spartito.experiments.world import World

FILE = "ranks"
HEAD, PLACE = 512, 160  # bytes
MAX_RANKS = 1 << 24  # that a file may have
MAX_NAME_FILE = 1 << 16  # bytes of the file by which a name is agreed upon
JOIN_TIMEOUT = 5.0  # seconds after the directory was made in which ranks that have not come are waited for
JOIN_PERIOD, WEAK_JOIN_PERIOD = 600.0, 60.0  # seconds for which ranks may join: with a key that is the job's own, with another
MEETING_TIMEOUT = 10.0  # seconds after which someone who has not said what it has to, as the name of the directory, never will
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # a file system without locks


class Place:
    """What `ranks` says of one rank."""

    __slots__ = ("ended", "host", "pid", "rank", "started", "status", "time")

    def __init__(self, line: str) -> None:
        """ValueError: there is nothing."""
        rank, pid, started, self.host, joined, status = line.split()
        self.rank, self.pid, self.started, self.time = int(rank), int(pid), int(started), float(joined)
        self.ended = status != "-"
        self.status = int(status) if status not in "-?" else None  # as of waitpid; None: not known


class Ranks:
    """The content of a file `ranks`."""

    def __init__(self, text: bytes) -> None:
        """ValueError: that is not what it is."""
        words = text[:HEAD].decode("ascii", "replace").split()
        if len(text) < HEAD or words[:2] != ["spartito-ranks", "1"] or len(words) != 6:
            raise ValueError("not a list of ranks")
        self.size, self.manager, self.time, self.key = int(words[2]), words[3], float(words[4]), words[5]
        if not 0 <= self.size <= MAX_RANKS:
            raise ValueError("not a number of ranks")
        self.census = text[HEAD : HEAD + self.size].decode("ascii", "replace").replace("\0", ".").ljust(self.size, ".")
        self.places: list[Place] = []
        for line in text[HEAD + self.size + 1 :].decode("utf-8", "surrogateescape").split("\n"):
            try:
                self.places.append(Place(line.strip("\0 ")))
            except ValueError:
                continue


def read(directory: str) -> Ranks | None:
    """What the file in an experiment says; None: there is none."""
    try:
        return Ranks(regular.content(os.path.join(directory, FILE), HEAD + MAX_RANKS * (PLACE + 1) + 1))
    except (OSError, ValueError):
        return None


def started(pid: int) -> int:
    """When a process of this machine started, in ticks since the machine did; 0: there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return int(f.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def _complete(path: str, write: bytes) -> None:
    """A new file. FileExistsError: there is one."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        os.write(fd, write)
    finally:
        os.close(fd)


class Crew:
    """This launcher's part in an experiment that several ranks write."""

    def __init__(self, path: str, world: World, launched: bool) -> None:
        self.path = path
        self.launched = launched  # else the program may begin to measure itself at any time
        self.world = world
        self.fd = -1  # of `ranks`, with the lock
        self.locks = True  # the file system has locks
        self.holds = False  # the shared lock
        self.first = False  # made the file
        self.time = time.time()
        self.meeting = ""  # the file by which the name of the directory was agreed upon
        if not launched:
            os.register_at_fork(after_in_child=self.close)  # the lock is this process's alone

    # ---- joining ----

    def begin(self) -> bool:
        """Makes the file, or takes the place of this rank in it; False: it is another job's, or this rank was here.
        OSError: it cannot be written."""
        file = os.path.join(self.path, FILE)
        if not os.path.exists(file):
            if any(name not in ("raw", FILE) for name in os.listdir(self.path)) and not os.path.exists(file):
                return False
            world = self.world
            head = f"spartito-ranks 1 {world.size} {world.manager} {self.time:.3f} {world.key}"
            text = head.encode("ascii").ljust(HEAD - 1) + b"\n"
            try:
                _complete(file, text + b"." * world.size + b"\n")
                self.first = True
            except FileExistsError:
                pass
        self.fd = os.open(file, os.O_RDWR)
        if self._is_same_job() and self._take_place():
            return True
        self.close()
        return False

    def _read_head(self) -> Ranks:
        """The file without its places."""
        return Ranks(os.pread(self.fd, HEAD + self.world.size, 0))

    def _is_same_job(self) -> bool:
        until = time.monotonic() + MEETING_TIMEOUT  # the one who made the file writes its first line at once, if it gets to run
        while True:
            try:
                found = self._read_head()
                break
            except ValueError:
                if time.monotonic() > until:
                    return False
                time.sleep(0.001)
        self.time = found.time
        old = time.time() - found.time > (WEAK_JOIN_PERIOD if self.world.weak else JOIN_PERIOD) and (self.launched or self.world.weak)
        same = found.size == self.world.size and found.key == self.world.key
        return same and not old and found.census[self.world.rank] == "."

    def _take_place(self) -> bool:
        if self.world.weak:
            # two jobs may have this key; whoever makes this file first has the place
            claim = os.path.join(self.path, f".rank-{self.world.rank}")
            try:
                _complete(claim, b"")
            except FileExistsError:
                return False
            if self._read_head().census[self.world.rank] != ".":  # somebody took it since this one looked, and gave up the claim
                os.unlink(claim)
                return False
        self._lock_shared()
        self._write("-", b"j")
        if self.world.weak:
            os.unlink(claim)
        return True

    def _write(self, status: str, letter: bytes) -> None:
        rank, me = self.world.rank, os.getpid()
        host = "".join(c if c.isprintable() and c != " " else "_" for c in os.uname().nodename)[:64] or "_"
        line = f"{rank} {me} {started(me)} {host} {time.time():.3f} {status}"
        text = line.encode("utf-8", "surrogateescape").ljust(PLACE - 1) + b"\n"
        os.pwrite(self.fd, text, HEAD + self.world.size + 1 + rank * PLACE)
        os.pwrite(self.fd, letter, HEAD + rank)

    def _lock(self, how: int) -> bool:
        import fcntl

        if not self.locks:
            return False
        try:
            fcntl.flock(self.fd, how | fcntl.LOCK_NB)
        except OSError as e:
            self.locks = e.errno not in NO_LOCKS
            return False
        return True

    def _lock_shared(self) -> None:
        import fcntl

        # one who waits for others holds it alone for a joined, however long that takes on a busy machine; nobody writes the
        # summary, for which it is held for long, while this rank is waited for
        until = time.monotonic() + max(0.25, min(JOIN_TIMEOUT, self.time + JOIN_TIMEOUT - time.time()))
        while True:
            self.holds = self._lock(fcntl.LOCK_SH)
            if self.holds or not self.locks or time.monotonic() > until:
                return
            time.sleep(0.002)

    def joined(self, meeting: str, name: str) -> None:
        """Once everybody has joined, the name need not be told any more."""
        self.meeting = meeting
        if self.path != os.path.join(os.path.dirname(meeting), name):
            # a later step of this rank: whoever joined the one before as the last may have just forgotten it
            try:
                _complete(meeting, os.fsencode(f"{name}\n"))
            except OSError:
                pass
        if "." not in self._read_head().census:
            self.forget_meeting()

    def forget_meeting(self) -> None:
        try:
            with regular.opened(self.meeting) as f:
                name = os.fsdecode(f.readline(MAX_NAME_FILE).strip())  # empty: the next run's first rank is just making it
            mine = self.path.startswith(os.path.join(os.path.dirname(self.meeting), name))
            if name and mine and not self._is_awaited(name):
                os.unlink(self.meeting)
        except OSError:
            pass

    def _is_awaited(self, name: str) -> bool:
        """Some ranks may be at a later step of a script already, and wait there for the others, which look for the same name."""
        here = os.path.dirname(self.meeting)
        for n in range(2, 1000):
            path = os.path.join(here, f"{name}-{n}")
            if not os.path.lexists(path):
                break
            found = read(path) if path != self.path else None
            if found and found.key == self.world.key and "." in found.census:
                return True
        return False

    # ---- ending ----

    def end(self, status: int | None) -> bool:
        """Says how the program ended (status as of waitpid; None: not known). True: this is the last of those that
        joined. OSError."""
        self._write("?" if status is None else str(status), b"e")
        last = self._is_last()
        if last and self.meeting:
            self.forget_meeting()
        return last

    def _is_last(self) -> bool:
        import fcntl

        until = max(0.0, min(JOIN_TIMEOUT, self.time + JOIN_TIMEOUT - time.time())) + time.monotonic()
        while True:
            census = self._read_head().census
            if self.locks:
                last = self._lock(fcntl.LOCK_EX)
            if not self.locks:
                last = not any(self._runs(place) for place in self.places()) and self._first_of_last(census)
            if last and ("." not in census or time.monotonic() > until):
                return True
            if not last and (self.holds or "j" in census):
                return False
            # ranks that have not come yet will find the file free; or another one writes the summary already, and has
            # not seen this rank
            if last:
                self._lock(fcntl.LOCK_UN)
            self.holds = last
            time.sleep(0.02)

    def places(self) -> list[Place]:
        return Ranks(os.pread(self.fd, HEAD + 1 + self.world.size * (1 + PLACE), 0)).places

    def status(self) -> int:
        """The wait status of the whole job: of the rank that failed first, as the launcher ends the others then."""
        failed = [(place.time, place.rank, place.status) for place in self.places() if place.status]
        return min(failed)[2] if failed else 0

    def _first_of_last(self, census: str) -> bool:
        """Without locks several see that all have ended."""
        if "." not in census:
            try:
                _complete(os.path.join(self.path, ".last"), b"")
            except FileExistsError:
                return False
        return True

    def _runs(self, place: Place) -> bool:
        """Without locks: a process of another machine is believed to run until it says otherwise."""
        if place.ended or place.rank == self.world.rank:
            return False
        return place.host != os.uname().nodename or started(place.pid) == place.started

    def leave(self) -> None:
        """The program has measured itself, and nothing has to be done when all have."""
        try:
            self._write("?", b"e")
            self.forget_meeting()
        except OSError:
            pass
        self.close()

    def close(self) -> None:
        """Gives the lock back."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def meet(here: str, world: World, make: Callable[[], str]) -> tuple[str, str]:
    """The name that all ranks of a job agree upon in the directory here, and the file that tells it: the first one
    makes it, and what make() does is done once. OSError: the file cannot be made."""
    path = os.path.join(here, world.meeting)
    until = time.monotonic() + MEETING_TIMEOUT
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            name = _agreed_name(path, world)
            if name:
                return name, path
            if time.monotonic() > until:
                _unlink(path)
                until += MEETING_TIMEOUT
            time.sleep(0.001)
            continue
        try:
            name = make()
            os.write(fd, os.fsencode(f"{name}\n"))
        except BaseException:
            _unlink(path)
            raise
        finally:
            os.close(fd)
        return name, path


def _agreed_name(path: str, world: World) -> str:
    try:
        age = time.time() - os.stat(path).st_mtime
        if age > (WEAK_JOIN_PERIOD if world.weak else JOIN_PERIOD):
            _unlink(path)  # left behind by a job that was killed
            return ""
        text = regular.content(path, MAX_NAME_FILE)
    except OSError:
        return ""
    return os.fsdecode(text[:-1]) if text.endswith(b"\n") else ""


def in_use(directory: str) -> bool:
    """Whether a launcher still holds the file in a directory, if there is one."""
    import fcntl

    try:
        fd = regular.descriptor(os.path.join(directory, FILE), os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        return e.errno == errno.EWOULDBLOCK
    finally:
        os.close(fd)
    return False


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
