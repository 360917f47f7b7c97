# SPDX-License-Identifier: BSD-3-Clause
"""The process that samples those of a run: begun before the program, and waited for after it."""

from __future__ import annotations

import os
import sys
import time

from spartito import _sample
from spartito._measure import host
from spartito.base.messages import complain
from spartito.sample.otherhost import HERE, PLACES, SEPARATOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.options.settings import Value

RECORDED = ("trace_memory", "when_full", "filter", "only_mine", "metrics")  # settings that are the sampler's too
LONGEST = 30  # seconds that the last files may take
ELSEWHERE = 5  # … of processes on other hosts, which may go on when the program has ended


def apart(directory: str, settings: list[str], rate: str, native: bool, kernel: int = 0, place: str = "") -> list[str]:
    """The command line of samplerscript.py; settings: name and value in turns."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samplerscript.py")
    more = [_sample.__file__, directory, rate, "1" if native else "0", str(kernel), place, *settings]
    return [sys.executable, "-I", "-S", script, *more]


class Sampling:
    """pid: of the process that the measured ones let look into them; end: a descriptor that is written to at the program's end;
    command: who does the same on another host."""

    def __init__(self, directory: str, command: list[str], pid: int, end: int) -> None:
        self.directory = directory
        self.command = command
        self.pid = pid
        self.end = end

    def environment(self) -> dict[str, str]:
        """Variables by which measured processes find who samples them."""
        return {"SPARTITO_SAMPLER": str(self.pid), "SPARTITO_SAMPLING": SEPARATOR.join([host(), *self.command])}

    def finish(self) -> None:
        """Waits until the samples of all processes that have ended are in their files."""
        import select

        try:
            os.write(self.end, b"e")
            if not select.select([self.end], [], [], LONGEST)[0]:
                complain("--sample: the last samples are not written yet")
        except OSError:
            pass  # it was killed; what it wrote is there
        os.close(self.end)
        self._finish_elsewhere()

    def _finish_elsewhere(self) -> None:
        places = os.path.join(self.directory, PLACES)
        try:
            waiting = [os.path.join(places, name) for name in os.listdir(places)]
        except OSError:
            return  # all was on this host
        until = time.monotonic() + ELSEWHERE
        while waiting := [place for place in waiting if _is_sampling(place)]:
            if time.monotonic() > until:
                from spartito.base.text import plural

                complain(f"--sample: the last samples of {plural(len(waiting), 'other host')} are not written yet")
                return
            time.sleep(0.01)
        try:
            os.rmdir(places)
        except OSError:
            pass  # another launcher's


def _is_sampling(place: str) -> bool:
    """Whether somebody samples on that other host. Opened, and not listed: that asks a file system of a network anew."""
    import fcntl

    try:
        with open(place, encoding="utf-8", errors="replace") as f:
            if f.read().strip().isdigit():
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.unlink(place)  # nobody could be started, which the processes there have said, or all were killed with the host
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it is locked, or cannot be
    return False


def records_calls(values: dict[str, Value]) -> bool:
    """Whether functions are recorded as well: without a word about it, samples take their place, but for a trace."""
    calls = values["calls"]
    if calls.origin != "default":
        return calls.text == "1"
    return values["sample"].text != "1" or values["trace"].text == "1"


def begin(directory: str, values: dict[str, Value], calls: bool, quiet: bool) -> Sampling | None:
    """None: nothing can be sampled here; calls: they are recorded as well; quiet: another rank says so."""
    why = _sample.check()
    if why:
        if not quiet:
            complain(f"--sample: no samples: {why}")
        return None
    other = [name for name in values["metrics"].text.split(",") if name and not name.startswith("perf:")]
    if other and not calls and not quiet:
        complain(f"--sample: {', '.join(other)} cannot be counted by samples, perf:… can; --calls counts them with the calls")
    settings = ["instrument", "1" if calls else "0"]
    for value in values.values():
        if value.setting.name in RECORDED:
            settings += [value.setting.name, value.text]
    rate, native = values["sample_rate"].text, values["sample_native"].text == "1"
    try:
        pid, end = _sample.manage(directory, [os.fsencode(word) for word in settings], int(rate), native)
    except OSError as e:
        if not quiet:
            complain(f"--sample: no samples: {e.strerror}")
        return None
    return Sampling(directory, apart(directory, settings, rate, native, place=HERE), pid, end)
