# SPDX-License-Identifier: BSD-3-Clause
"""Coordinates the launchers of a parallel job that write one experiment. mpiexec starts one launcher for each rank. Each of them
has an entry in the file `ranks` of the experiment directory, in which it notes how its program ended.

The entries of this text file have fixed positions, so that ranks on several machines can write at the same time:

    one line, 512 bytes    spartito-ranks 1 SIZE MANAGER TIME KEY
    one line, SIZE + 1     the rank census, a letter for each rank: . has not joined, j has joined, e has ended
    SIZE lines, 160 bytes  RANK PID START HOST TIME STATUS; START as in /proc/PID/stat; STATUS is a wait status, - before the end,
                           ? of a program that measured itself

Each launcher that has joined holds a shared lock on the file until it ends. A launcher that can acquire the exclusive lock is
therefore the last one, and writes the summary. The kernel releases the lock of a launcher that is killed."""

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
HEAD, PLACE = 512, 160  # bytes of the first line, and of an entry
MAX_RANKS = 1 << 24  # in a file; a larger number means damage
MAX_NAME_FILE = 1 << 16  # bytes of the meeting file, which contains the name of the experiment directory
JOIN_TIMEOUT = 5.0  # seconds after the creation of the directory for which the last launcher waits for ranks that have not joined
JOIN_PERIOD, WEAK_JOIN_PERIOD = 600.0, 60.0  # seconds in which ranks may join: if the key identifies the job, and if it is weak
MEETING_TIMEOUT = 10.0  # seconds; a rank that has not written an expected file by then was probably killed
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # errors of flock() on a file system without locks


class Place:
    """The entry of one rank in the file `ranks`."""

    __slots__ = ("ended", "host", "pid", "rank", "started", "status", "time")

    def __init__(self, line: str) -> None:
        """ValueError: the line is empty or damaged."""
        rank, pid, started, self.host, joined, status = line.split()
        self.rank, self.pid, self.started, self.time = int(rank), int(pid), int(started), float(joined)
        self.ended = status != "-"
        self.status = int(status) if status not in "-?" else None  # wait status; None: not known


class Ranks:
    """The content of the file `ranks`. census: a letter for each rank."""

    def __init__(self, text: bytes) -> None:
        """ValueError: the text is not such a file."""
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
    """The file `ranks` of an experiment; None: it is missing or damaged."""
    try:
        return Ranks(regular.content(os.path.join(directory, FILE), HEAD + MAX_RANKS * (PLACE + 1) + 1))
    except (OSError, ValueError):
        return None


def started(pid: int) -> int:
    """The start time of a process of this machine, in clock ticks since boot; 0: there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return int(f.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def _complete(path: str, write: bytes) -> None:
    """Creates a new file with this content. FileExistsError: it exists."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        os.write(fd, write)
    finally:
        os.close(fd)


class Crew:
    """This launcher as one of the ranks that write an experiment together."""

    def __init__(self, path: str, world: World, launched: bool) -> None:
        self.path = path
        self.launched = launched  # False: the program measures itself, and may begin at any time
        self.world = world
        self.fd = -1  # file descriptor of `ranks`, which holds the lock
        self.locks = True  # the file system has locks
        self.holds = False  # holds the shared lock
        self.first = False  # created the file `ranks`
        self.time = time.time()
        self.meeting = ""  # path of the meeting file; "": the user named the directory
        if not launched:
            os.register_at_fork(after_in_child=self.close)  # a forked child must not hold the lock

    # ---- joining ----

    def begin(self) -> bool:
        """Creates the file `ranks` or opens it, and writes the entry of this rank. False: the file belongs to another job, or this
        rank has joined before. OSError: it cannot be written."""
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
        """The file without its entries: its first line and the census."""
        return Ranks(os.pread(self.fd, HEAD + self.world.size, 0))

    def _is_same_job(self) -> bool:
        """Whether the file is of this job and recent, and this rank has not joined yet."""
        # the rank that created the file may not have written its first line yet
        until = time.monotonic() + MEETING_TIMEOUT
        while True:
            try:
                found = self._read_head()
                break
            except ValueError:
                if time.monotonic() > until:
                    return False
                time.sleep(0.001)
        self.time = found.time
        age = time.time() - found.time
        old = age > (WEAK_JOIN_PERIOD if self.world.weak else JOIN_PERIOD) and (self.launched or self.world.weak)
        same = found.size == self.world.size and found.key == self.world.key
        return same and not old and found.census[self.world.rank] == "."

    def _take_place(self) -> bool:
        """Writes the entry of this rank and acquires the shared lock. False: another process has the place of this rank."""
        if self.world.weak:
            # two jobs may have the same weak key; the process that creates this file first gets the place
            claim = os.path.join(self.path, f".rank-{self.world.rank}")
            try:
                _complete(claim, b"")
            except FileExistsError:
                return False
            # since _is_same_job(), another process may have taken the place and removed its claim
            if self._read_head().census[self.world.rank] != ".":
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

        # A launcher in _is_last() holds the exclusive lock briefly, though a busy machine may delay it. The last launcher holds it
        # for long while it writes the summary, but not before JOIN_TIMEOUT has passed if this rank is missing.
        until = time.monotonic() + max(0.25, min(JOIN_TIMEOUT, self.time + JOIN_TIMEOUT - time.time()))
        while True:
            self.holds = self._lock(fcntl.LOCK_SH)
            if self.holds or not self.locks or time.monotonic() > until:
                return
            time.sleep(0.002)

    def joined(self, meeting: str, name: str) -> None:
        """Called after this rank has joined. meeting: path of the meeting file; name: the directory name in it. Removes the meeting
        file when all ranks have joined."""
        self.meeting = meeting
        if self.path != os.path.join(os.path.dirname(meeting), name):
            # This is a later step of a script. The last rank of the previous step may have just removed the meeting file.
            try:
                _complete(meeting, os.fsencode(f"{name}\n"))
            except OSError:
                pass
        if "." not in self._read_head().census:
            self.forget_meeting()

    def forget_meeting(self) -> None:
        """Removes the meeting file if it names this experiment and no rank of a later step needs it."""
        try:
            with regular.opened(self.meeting) as f:
                name = os.fsdecode(f.readline(MAX_NAME_FILE).strip())  # empty: a rank of the next run has just created it
            mine = self.path.startswith(os.path.join(os.path.dirname(self.meeting), name))
            if name and mine and not self._is_awaited(name):
                os.unlink(self.meeting)
        except OSError:
            pass

    def _is_awaited(self, name: str) -> bool:
        """Whether ranks of a later step of a script wait for others, which will find that step's experiment by the same meeting
        file."""
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
        """Writes how the program ended (status: a wait status; None: not known). Returns whether this is the last of the ranks that
        joined. OSError: it cannot be written."""
        self._write("?" if status is None else str(status), b"e")
        last = self._is_last()
        if last and self.meeting:
            self.forget_meeting()
        return last

    def _is_last(self) -> bool:
        """Whether all other ranks that joined have ended. Waits up to JOIN_TIMEOUT for ranks that have not joined."""
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
            # release the lock so that missing ranks can join; without the lock, another rank may be writing the summary, and has
            # not noticed this rank
            if last:
                self._lock(fcntl.LOCK_UN)
            self.holds = last
            time.sleep(0.02)

    def places(self) -> list[Place]:
        return Ranks(os.pread(self.fd, HEAD + 1 + self.world.size * (1 + PLACE), 0)).places

    def status(self) -> int:
        """The wait status of the whole job: that of the rank that failed first. mpiexec then ends the others, so their statuses
        follow from it."""
        failed = [(place.time, place.rank, place.status) for place in self.places() if place.status]
        return min(failed)[2] if failed else 0

    def _first_of_last(self, census: str) -> bool:
        """Whether this rank creates the file .last. It decides between several ranks which, without locks, all see that the others
        have ended."""
        if "." not in census:
            try:
                _complete(os.path.join(self.path, ".last"), b"")
            except FileExistsError:
                return False
        return True

    def _runs(self, place: Place) -> bool:
        """Whether the launcher of a rank still runs, without locks. A process of another machine counts as running until it has
        written its end."""
        if place.ended or place.rank == self.world.rank:
            return False
        return place.host != os.uname().nodename or started(place.pid) == place.started

    def leave(self) -> None:
        """Ends the part of a program that measured itself. No rank has work to do after the last one."""
        try:
            self._write("?", b"e")
            self.forget_meeting()
        except OSError:
            pass
        self.close()

    def close(self) -> None:
        """Closes the file, which releases the lock."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def meet(here: str, world: World, make: Callable[[], str]) -> tuple[str, str]:
    """Agrees upon the name of an experiment directory in `here` with the other ranks of the job. Returns the name and the path of
    the meeting file. The first rank creates that file and writes the result of make() into it; the others read it. OSError: the
    file cannot be created."""
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
    """The name in the meeting file; empty: the file is incomplete, or was old and is removed now."""
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
    """Whether a launcher still holds the lock of the file `ranks` in a directory."""
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
