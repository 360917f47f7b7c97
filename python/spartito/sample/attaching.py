# SPDX-License-Identifier: BSD-3-Clause
"""`spartito attach`: samplers of a process that runs already and of its children. Each process gets a sampler process as soon as a
Python interpreter is found in it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time

from spartito import _sample
from spartito.base.messages import complain
from spartito.options.table import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from spartito.options.settings import Value

PYTHON_TIMEOUT = 5.0  # seconds after which a child in which no Python was found is not examined again


class Sampler:
    """The sampler process of one target process. It exits with the target process, or on stop()."""

    def __init__(self, image: bytes, pid: int, end: int) -> None:
        """image: of the program that the target process ran when the sampler began, as image() returns it. pid, end: of the
        sampler process: its id, and the descriptor of the socket that ends it and receives its message."""
        self.image = image
        self.pid, self.end = pid, socket.socket(fileno=end)
        self.why = ""  # message of the sampler why it could not sample, "" without an error

    def ended(self, wait: bool = False) -> bool:
        if self.pid and os.waitpid(self.pid, 0 if wait else os.WNOHANG)[0]:
            self.pid = 0
            self.why = self.end.recv(4096).decode("utf-8", "backslashreplace")
            self.end.close()
        return not self.pid

    def stop(self) -> None:
        if self.pid:
            self.end.shutdown(socket.SHUT_WR)
            self.ended(True)


def image(pid: int) -> bytes:
    """The auxiliary vector of a process. It has the load addresses of the program, so it changes when the process calls exec.
    Empty: the process has ended."""
    try:
        with open(f"/proc/{pid}/auxv", "rb") as f:
            return f.read()
    except OSError:
        return b""


def children(pid: int) -> list[int]:
    """Ids of the child processes that any thread of a process has started."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                found += map(int, f.read().split())
    except OSError:
        pass  # the process has ended, or the kernel does not list children
    return found


class Samplers:
    """The samplers of a process and of all its descendants, also of those that start later."""

    def __init__(self, directory: str, values: dict[str, Value]) -> None:
        self.directory = directory
        self.settings: list[bytes] = []
        for value in values.values():
            if value.setting.recorded and value.origin != "default":
                self.settings += [os.fsencode(value.setting.name), os.fsencode(value.text)]
        self.rate = int(values["sample_rate"].text)
        self.native = values["sample_native"].text == "1"
        self.all: dict[int, Sampler] = {}
        self.before: list[Sampler] = []  # stopped, as their process has called exec
        self.first = 0  # id of the process that the user named
        self.met: dict[int, float] = {}  # processes without Python so far: time in seconds at which each was found first
        self.passed: set[int] = set()  # processes that are not sampled: no Python, or no permission

    def begin(self, pid: int) -> None:
        """Starts a sampler. OSError: it cannot be started."""
        self.first = self.first or pid
        before = image(pid)  # read first, as a child may call exec while its sampler begins
        found = _sample.sample(self.directory, self.settings, self.rate, self.native, pid)
        self.all[pid] = Sampler(before, *found)

    def find(self) -> None:
        """Starts samplers of new processes, and another sampler of each process that has called exec."""
        for pid, sampler in list(self.all.items()):
            if not sampler.ended() and image(pid) not in (b"", sampler.image):
                sampler.stop()
                self.before.append(self.all.pop(pid))
        waiting = [self.first, *(pid for pid in self.all if pid != self.first and not self.all[pid].ended())]
        met = set()
        while waiting:
            pid = waiting.pop()
            if pid not in met and pid not in self.all and pid not in self.passed:
                self._meet(pid)
            if pid not in met:
                waiting += children(pid)
            met.add(pid)

    def over(self) -> bool:
        """Whether the first process has ended, or runs a program without Python now."""
        sampler = self.all.get(self.first)
        return sampler.ended() if sampler else self.first in self.passed

    def _meet(self, pid: int) -> None:
        now = time.monotonic()
        try:
            _sample.Process(pid).close()
            self.begin(pid)
        except FileNotFoundError:
            if now - self.met.setdefault(pid, now) > PYTHON_TIMEOUT:
                self.passed.add(pid)
        except ProcessLookupError:
            self.passed.add(pid)
        except OSError as e:
            complain(f"a child is not sampled: {e.strerror}")
            self.passed.add(pid)

    def begun(self) -> bool:
        """Whether a sampler has created its file."""
        try:
            return bool(os.listdir(os.path.join(self.directory, "raw")))
        except OSError:
            return True  # the directory was removed meanwhile

    def stop(self) -> None:
        for sampler in self.all.values():
            sampler.stop()


def duration_of(values: dict[str, object]) -> float | None:
    """The value of --duration in seconds; None: not given. Usage: it is out of range."""
    duration = values.get("duration")
    assert duration is None or isinstance(duration, float)
    if duration is not None and not 0 < duration < 1e9:
        raise Usage(f"--duration {duration:g}: must be more than 0 seconds")
    return duration


@contextlib.contextmanager
def interrupted() -> Iterator[list[int]]:
    """A list that is empty until a signal asks the command to end: SIGINT (Ctrl-C), SIGTERM or SIGHUP (closed terminal)."""
    wanted: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if number != signal.SIGHUP or handler is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, lambda number, frame: wanted.append(number))
    try:
        yield wanted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_input() -> None:
    """Asks this process to end, by SIGTERM, when its standard input ends: the process that holds the other end of the pipe has
    ended, perhaps by SIGKILL."""

    def wait() -> None:
        os.read(0, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def until(samplers: Samplers, duration: float | None, wanted: list[int]) -> None:
    """Samples until the first process has ended, `duration` seconds are over, or `wanted` has an item (see interrupted())."""
    end = float("inf")
    try:
        while not wanted and time.monotonic() < end and not samplers.over():
            samplers.find()
            turn = 0.1
            if duration and end == float("inf"):
                turn = 0.01  # the duration begins with the first sampler, which on a busy machine may start late
                if samplers.begun():
                    end = time.monotonic() + duration
            time.sleep(max(0.0, min(turn, end - time.monotonic())))
    finally:
        samplers.stop()
