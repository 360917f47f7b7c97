# SPDX-License-Identifier: BSD-3-Clause
"""spartito top: shows live what a running process does."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spartito.base.text import Column, Output, is_terminal, percent, plural, seconds, standard_output
from spartito.base.text import name as one_line
from spartito.options.settings import CHECKS
from spartito.options.table import Usage
from spartito.sample.attaching import duration_of
from spartito.sample.liveprofile import LiveProfile, function
from spartito.sample.operand import one_process

if TYPE_CHECKING:
    from spartito.sample.liveprofile import Function, Split, Sum, Thread

RATE = 100
ONCE = 2.0  # seconds that --once samples by default
REFRESH = 0.5  # seconds between two updates of the screen
ROWS = 20
KEYS = "s self  t total  w waiting  p pause  r reset  q quit"


def rate_of(values: dict[str, object]) -> int:
    try:
        return int(CHECKS["rate"](str(values.get("sample_rate", RATE))))
    except ValueError as e:
        raise Usage(f"--sample-rate: {e}") from None


# ---- tables


class Order:
    """What the table of functions is ordered by. by: self or total. waiting: waiting time instead of running time."""

    def __init__(self, by: str, waiting: bool) -> None:
        self.by, self.waiting = by, waiting

    def functions(self, profile: LiveProfile, recent: Split) -> list[Function]:
        def key(f: Function) -> tuple[object, ...]:
            helper = f not in profile.of_program
            pairs = [(split.running, split.waiting) for split in (recent, profile.whole)]
            # running time of an idle helper, which wakes up now and then, does not lift it above the program
            times = [0 if helper and not self.waiting else -self.time(pair[self.waiting], f) for pair in pairs]
            return (*times, helper, -self.time(pairs[0][not self.waiting], f), f)

        return sorted({*profile.whole.running.total, *profile.whole.waiting.total}, key=key)

    def time(self, of: Sum, f: Function) -> int:
        return (of.excl if self.by == "self" else of.total)[f]


def _functions(profile: LiveProfile, recent: Split, order: Order, limit: int) -> tuple[list[Column], list[list[str]]]:
    functions = order.functions(profile, recent)
    columns = [Column("running %"), Column("waiting %"), Column("total running %"), Column("total waiting %", rank=2),
               Column("running % so far", rank=1), Column("function", left=True, style="cyan"),
               Column("defined at", left=True, style="dim", rank=3)]
    rows = [
        [
            percent(recent.running.excl[f], recent.lasted),
            percent(recent.waiting.excl[f], recent.lasted),
            percent(recent.running.total[f], recent.lasted),
            percent(recent.waiting.total[f], recent.lasted),
            percent(profile.whole.running.excl[f], profile.whole.lasted),
            one_line(f"{f[0]}:{f[1]}"),
            one_line(f"{f[2]}:{f[3]}"),
        ]
        for f in (functions[:limit] if limit else functions)
    ]
    return columns, rows


def _where(thread: Thread) -> tuple[str, str]:
    """The thread's innermost function with its current line, and the function in which the thread began."""
    if not thread.frames:
        return "no Python code", ""
    inner = thread.frames[0]
    began = next((f for f in reversed(thread.frames) if f[0] != "threading"), thread.frames[-1])
    place = f"{inner[0]}:{inner[1]}" + (f" line {inner[4]}" if inner[4] else "")
    return one_line(place), one_line("{}:{}".format(*function(began)[:2]))


def _threads(profile: LiveProfile, limit: int) -> tuple[list[Column], list[list[str]]]:
    def key(t: Thread) -> tuple[object, ...]:
        return t.helper, -t.split()[0], not t.main, t.tid

    order = sorted(profile.threads.values(), key=key)
    columns = [Column("thread"), Column("running %"), Column("waiting %"), Column("processor", rank=1), Column("state", left=True),
               Column("in", left=True, style="cyan"), Column("began with", left=True, style="dim", rank=2)]
    states = {"gil": "waits for the GIL", "object lock": "waits for an object's lock", "stopped": "stopped by another thread"}
    processes = [Column("process")] if profile.children else []
    rows = [
        [
            *(str(t.pid) for _ in processes),
            str(t.tid),
            *(percent(part, 1) for part in t.split()),
            seconds(t.cpu / 1e9),
            states.get(t.state, t.state),
            *_where(t),
        ]
        for t in (order[:limit] if limit else order)
    ]
    return [*processes, *columns], rows


def _processes(profile: LiveProfile) -> tuple[list[Column], list[list[str]]]:
    """The sums over the threads of each process."""
    threads: dict[int, list[Thread]] = {}
    for t in profile.threads.values():
        threads.setdefault(t.pid, []).append(t)
    rows = []
    for pid, of in sorted(threads.items()):
        running, waiting = map(sum, zip(*(t.split() for t in of)))
        rows.append([str(pid), str(len(of)), percent(running, 1), percent(waiting, 1)])
    return [Column("process"), Column("threads"), Column("running %"), Column("waiting %")], rows


def _title(profile: LiveProfile, words: str) -> str:
    torn = f", {plural(profile.unread, 'stack')} not read" if profile.unread else ""
    major, minor = profile.process.version
    lasted = seconds(time.monotonic() - profile.begin)
    more = f" and {plural(len(profile.children.all), 'child', 'children')}" if profile.children else ""
    whose = f"process {profile.pid}{more}, Python {major}.{minor}"
    return f"{whose}: {plural(profile.samples, 'sample')} in {lasted}, 100 % is one thread all the time{torn}{words}"


def _show(out: Output, profile: LiveProfile, order: Order, limit: int, threads: int, words: str = "") -> None:
    """limit, threads: numbers of rows of the functions and of the threads, 0: all."""
    out.line(_title(profile, words), "bold")
    out.line()
    if not profile.threads or not (profile.whole.running.total or profile.whole.waiting.total):
        out.line("no thread ran Python code")
    else:
        out.table(*_functions(profile, profile.recent(), order, limit))
    if profile.children:
        out.line()
        out.table(*_processes(profile))
    out.line()
    out.table(*_threads(profile, threads))


# ---- sampling


def _sample(profile: LiveProfile, rate: int, until: float) -> bool:
    """Samples until the time `until` (of time.monotonic()). False: the process has ended."""
    at = time.monotonic()
    while at < until:
        if not profile.sample():
            return False
        # random intervals, so that samples are not synchronous with the program
        at = max(at + random.uniform(0.5, 1.5) / rate, time.monotonic())
        time.sleep(max(0.0, min(at, until) - time.monotonic()))
    return True


@contextlib.contextmanager
def _keys() -> Iterator[int]:
    """The descriptor of standard input as a terminal that delivers each key at once; -1: it is not a terminal."""
    import termios
    import tty

    if not is_terminal(sys.stdin):
        yield -1
        return
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    try:
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _ending_signals() -> Iterator[list[int]]:
    """A list that collects received signals that end a process. After the terminal is restored, the first one ends this process."""
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # keep ignoring a signal that nohup ignores
            signal.signal(number, lambda number, frame: received.append(number))
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


class Live:
    """The table in a terminal, updated every REFRESH seconds."""

    def __init__(self, profile: LiveProfile, order: Order, limit: int) -> None:
        self.profile, self.order, self.limit = profile, order, limit
        self.paused = False

    def key(self, letter: str) -> bool:
        """Handles a key. False: quit."""
        if letter in "st":
            self.order.by = {"s": "self", "t": "total"}[letter]
        elif letter == "p":
            self.paused = not self.paused
            if not self.paused:
                self.profile.resume()
        elif letter == "w":
            self.order.waiting = not self.order.waiting
        elif letter == "r":
            self.profile.reset()
        return letter not in "q\x1b"

    def draw(self, console: Any) -> Any:
        out = Output(console.file)
        processes = len({t.pid for t in self.profile.threads.values()}) + 2 if self.profile.children else 0
        height = max(console.height - 8 - processes, 4)
        threads = min(len(self.profile.threads), max(height // 3, 1))
        out.console = console
        words = f", by {'waiting' if self.order.waiting else 'running'} time" + (", paused" if self.paused else "")
        with console.capture() as drawn:
            _show(out, self.profile, self.order, min(self.limit or height, height - threads), threads, words)
            out.line()
            out.line(KEYS, "dim")
        from rich.text import Text

        return Text.from_ansi(drawn.get())

    def run(self, rate: int, until: float) -> bool:
        """Samples and draws until the time `until`. False: the process has ended."""
        from rich.console import Console
        from rich.live import Live as Screen

        console = Console(highlight=False, markup=False, emoji=False)
        with _ending_signals() as received, _keys() as keys, Screen(console=console, screen=True, auto_refresh=False) as screen:
            while not received and time.monotonic() < until:
                drawn = min(time.monotonic() + REFRESH, until)
                if self.paused:
                    select.select([keys] if keys >= 0 else [], [], [], REFRESH)
                elif not _sample(self.profile, rate, drawn):
                    return False
                while keys >= 0 and select.select([keys], [], [], 0)[0]:
                    letter = os.read(keys, 1).decode("ascii", "replace")
                    if not letter or not self.key(letter):
                        return True
                screen.update(self.draw(console), refresh=True)
        return True


def main(values: dict[str, object], operands: list[str]) -> int:
    pid, rate, duration = one_process("top", operands), rate_of(values), duration_of(values)
    by = values.get("sort", "self")
    limit = values.get("limit", ROWS)
    assert isinstance(by, str) and isinstance(limit, int)
    profile, order = LiveProfile(pid, bool(values.get("children"))), Order(by, bool(values.get("waiting")))
    out = standard_output()
    ended = False
    with contextlib.suppress(KeyboardInterrupt):
        if values.get("once") or out.console is None:
            ended = not _sample(profile, rate, time.monotonic() + (duration or ONCE))
        else:
            until = time.monotonic() + duration if duration else float("inf")
            ended = not Live(profile, order, 0 if "limit" not in values else limit).run(rate, until)
    _show(out, profile, order, limit, limit, ", it has ended" if ended else "")
    return 0
