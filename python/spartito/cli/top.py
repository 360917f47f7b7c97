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
from spartito.sample.liveprofile import LiveProfile, Sum, Thread, function
from spartito.sample.operand import one_process

if TYPE_CHECKING:
    from spartito.sample.liveprofile import Function

RATE = 100
ONCE = 2.0  # seconds that --once samples by default
REFRESH = 0.5  # seconds between two updates of the screen
ROWS = 20
KEYS = "s self  t total  w wall clock  p pause  r reset  q quit"


def rate_of(values: dict[str, object]) -> int:
    try:
        return int(CHECKS["rate"](str(values.get("sample_rate", RATE))))
    except ValueError as e:
        raise Usage(f"--sample-rate: {e}") from None


# ---- tables


def _functions(profile: LiveProfile, recent: Sum, by: str, limit: int) -> tuple[list[Column], list[list[str]]]:
    whole = profile.whole
    key = recent.excl if by == "self" else recent.total
    also = whole.excl if by == "self" else whole.total
    order: list[Function] = sorted(whole.total, key=lambda f: (-key[f], -also[f], f))
    columns = [Column("self %"), Column("total %"), Column("self % so far", rank=2), Column("total % so far", rank=1),
               Column("function", left=True, style="cyan"), Column("defined at", left=True, style="dim", rank=3)]
    rows = [
        [
            percent(recent.excl[f], recent.time),
            percent(recent.total[f], recent.time),
            percent(whole.excl[f], whole.time),
            percent(whole.total[f], whole.time),
            one_line(f"{f[0]}:{f[1]}"),
            one_line(f"{f[2]}:{f[3]}"),
        ]
        for f in (order[:limit] if limit else order)
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
    order = sorted(profile.threads.values(), key=lambda t: (-t.share, t.tid))
    columns = [Column("thread"), Column("processor %"), Column("processor", rank=1), Column("state", left=True),
               Column("in", left=True, style="cyan"), Column("began with", left=True, style="dim", rank=2)]
    states = {"gil": "waits for the GIL"}
    processes = [Column("process")] if profile.children else []
    rows = [
        [
            *(str(t.pid) for _ in processes),
            str(t.tid),
            f"{100 * t.share:.1f}",
            seconds(t.cpu / 1e9),
            states.get(t.state, t.state),
            *_where(t),
        ]
        for t in (order[:limit] if limit else order)
    ]
    return [*processes, *columns], rows


def _title(profile: LiveProfile, words: str) -> str:
    torn = f", {plural(profile.unread, 'stack')} not read" if profile.unread else ""
    major, minor = profile.process.version
    lasted = seconds(time.monotonic() - profile.begin)
    what = "time" if profile.wall else "processor time"
    more = f" and {plural(len(profile.children.all), 'child', 'children')}" if profile.children else ""
    whose = f"process {profile.pid}{more}, Python {major}.{minor}"
    return f"{whose}: {what} by {plural(profile.samples, 'sample')} in {lasted}{torn}{words}"


def _show(out: Output, profile: LiveProfile, by: str, limit: int, words: str = "") -> None:
    recent = profile.recent()
    out.line(_title(profile, words), "bold")
    out.line()
    if not profile.whole.time:
        out.line("no thread ran Python code" + ("" if profile.wall else "; --wall counts those that wait"))
    else:
        out.table(*_functions(profile, recent, by, limit))
    out.line()
    out.table(*_threads(profile, limit))


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

    def __init__(self, profile: LiveProfile, by: str, limit: int) -> None:
        self.profile, self.by, self.limit = profile, by, limit
        self.paused = False

    def key(self, letter: str) -> bool:
        """Handles a key. False: quit."""
        if letter in "st":
            self.by = {"s": "self", "t": "total"}[letter]
        elif letter == "p":
            self.paused = not self.paused
        elif letter == "w":
            self.profile.wall = not self.profile.wall
            self.profile.reset()
        elif letter == "r":
            self.profile.reset()
        return letter not in "q\x1b"

    def draw(self, console: Any) -> Any:
        out = Output(console.file)
        height = max(console.height - 8, 4)
        threads = min(len(self.profile.threads), max(height // 3, 1))
        out.console = console
        with console.capture() as drawn:
            recent = self.profile.recent()
            out.line(_title(self.profile, ", paused" if self.paused else ""), "bold")
            out.line()
            out.table(*_functions(self.profile, recent, self.by, min(self.limit or height, height - threads)))
            out.line()
            out.table(*_threads(self.profile, threads))
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
    profile = LiveProfile(pid, bool(values.get("wall")), bool(values.get("children")))
    out = standard_output()
    ended = False
    with contextlib.suppress(KeyboardInterrupt):
        if values.get("once") or out.console is None:
            ended = not _sample(profile, rate, time.monotonic() + (duration or ONCE))
        else:
            until = time.monotonic() + duration if duration else float("inf")
            ended = not Live(profile, by, 0 if "limit" not in values else limit).run(rate, until)
    _show(out, profile, by, limit, ", it has ended" if ended else "")
    return 0
