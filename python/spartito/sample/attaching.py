# SPDX-License-Identifier: BSD-3-Clause
"""Samplers of processes that run already: one for each, begun as its Python is found."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time

from spartito import _sample
from spartito.base.messages import complain
from spartito.options.table import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from spartito.options.settings import Value

PATIENCE = 5.0  # seconds that a child may take until Python runs in it


class Sampler:
    """Of one process; it ends with that process, or when it is told to."""

    def __init__(self, image: bytes, pid: int, end: int) -> None:
        """image: of what it began to look at."""
        self.image = image
        self.pid, self.end = pid, socket.socket(fileno=end)
        self.why = ""  # what it could not do

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
    """What tells the program that a process runs from one that it becomes by exec: where it was loaded. Empty: it has ended."""
    try:
        with open(f"/proc/{pid}/auxv", "rb") as f:
            return f.read()
    except OSError:
        return b""


def children(pid: int) -> list[int]:
    """Those of all its threads."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                found += map(int, f.read().split())
    except OSError:
        pass  # it has ended, or the kernel does not list them
    return found


class Samplers:
    """Of a process and all that it has started and starts."""

    def __init__(self, directory: str, values: dict[str, Value]) -> None:
        self.directory = directory
        self.settings: list[bytes] = []
        for value in values.values():
            if value.setting.recorded and value.origin != "default":
                self.settings += [os.fsencode(value.setting.name), os.fsencode(value.text)]
        self.rate = int(values["sample_rate"].text)
        self.native = values["sample_native"].text == "1"
        self.all: dict[int, Sampler] = {}
        self.before: list[Sampler] = []  # of programs that have become others
        self.first = 0  # process
        self.met: dict[int, float] = {}  # processes in which there is no Python yet, and when they were met
        self.passed: set[int] = set()

    def begin(self, pid: int) -> None:
        """OSError: no sampler can be started."""
        self.first = self.first or pid
        before = image(pid)  # a child may become another program while its sampler begins
        found = _sample.sample(self.directory, self.settings, self.rate, self.native, pid)
        self.all[pid] = Sampler(before, *found)

    def find(self) -> None:
        """Begins with processes that are new, and anew with those that run another program now."""
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
        """The first process has ended, or has become something without Python."""
        sampler = self.all.get(self.first)
        return sampler.ended() if sampler else self.first in self.passed

    def _meet(self, pid: int) -> None:
        now = time.monotonic()
        try:
            _sample.Process(pid).close()
            self.begin(pid)
        except FileNotFoundError:
            if now - self.met.setdefault(pid, now) > PATIENCE:
                self.passed.add(pid)
        except ProcessLookupError:
            self.passed.add(pid)
        except OSError as e:
            complain(f"a child is not sampled: {e.strerror}")
            self.passed.add(pid)

    def begun(self) -> bool:
        """Some process is looked at."""
        try:
            return bool(os.listdir(os.path.join(self.directory, "raw")))
        except OSError:
            return True  # it was removed meanwhile

    def stop(self) -> None:
        for sampler in self.all.values():
            sampler.stop()


def duration_of(values: dict[str, object]) -> float | None:
    """What --duration says; None: nothing. Usage: no time at all."""
    duration = values.get("duration")
    assert duration is None or isinstance(duration, float)
    if duration is not None and not 0 < duration < 1e9:
        raise Usage(f"--duration {duration:g}: it is more than 0 seconds")
    return duration


@contextlib.contextmanager
def interrupted() -> Iterator[list[int]]:
    """A list that is empty until the user wants no more: Ctrl-C, SIGTERM, or the terminal is closed."""
    wanted: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if number != signal.SIGHUP or handler is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, lambda number, frame: wanted.append(number))
    try:
        yield wanted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def until(samplers: Samplers, duration: float | None, wanted: list[int]) -> None:
    """Until the first process has ended, was looked at for so many seconds, or the user wants no more of it."""
    end = float("inf")
    try:
        while not wanted and time.monotonic() < end and not samplers.over():
            samplers.find()
            turn = 0.1
            if duration and end == float("inf"):
                turn = 0.01  # who looks needs some time to begin, on a busy machine more than was asked for
                if samplers.begun():
                    end = time.monotonic() + duration
            time.sleep(max(0.0, min(turn, end - time.monotonic())))
    finally:
        samplers.stop()
