# SPDX-License-Identifier: BSD-3-Clause
"""The sampler manager of a run: a process that starts a sampler for each measured process. It starts before the program; the
launcher waits for it after the program has ended."""

from __future__ import annotations

import os
import sys
import time

from spartito import _sample
from spartito._measure import host
from spartito.base.messages import complain
from spartito.sample.otherhost import HOST_FILE, HOST_FILES, SEPARATOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.options.settings import Value

RECORDED = ("trace_memory", "when_full", "filter", "own", "only_mine", "metrics")  # settings that samplers use as well
FINISH_TIMEOUT = 30  # seconds to wait for the last samples of this host
REMOTE_TIMEOUT = 5  # seconds to wait for those of other hosts, whose processes may outlive the program


def script_command(directory: str, settings: list[str], rate: str, native: bool, kernel: int = 0, path: str = "") -> list[str]:
    """The command line of samplerscript.py, which has the meaning of the arguments. settings: name and value in turns."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samplerscript.py")
    more = [_sample.__file__, directory, rate, "1" if native else "0", str(kernel), path, *settings]
    return [sys.executable, "-I", "-S", script, *more]


class Sampling:
    """A running sampler manager. pid: its process id, which measured processes allow to read their memory. end: descriptor; a byte
    written to it ends the manager. command: command line that starts a manager on another host."""

    def __init__(self, directory: str, command: list[str], pid: int, end: int) -> None:
        self.directory = directory
        self.command = command
        self.pid = pid
        self.end = end

    def environment(self) -> dict[str, str]:
        """Variables with which a measured process finds the manager, or starts one on another host."""
        return {"SPARTITO_SAMPLER": str(self.pid), "SPARTITO_SAMPLING": SEPARATOR.join([host(), *self.command])}

    def finish(self) -> None:
        """Waits until the samples of all processes that have ended are in their files."""
        import select

        try:
            os.write(self.end, b"e")
            if not select.select([self.end], [], [], FINISH_TIMEOUT)[0]:
                complain("--sample: the last samples are not written yet")
        except OSError:
            pass  # the manager was killed; the samples that it wrote are kept
        os.close(self.end)
        self._finish_elsewhere()

    def _finish_elsewhere(self) -> None:
        directory = os.path.join(self.directory, HOST_FILES)
        try:
            waiting = [os.path.join(directory, name) for name in os.listdir(directory)]
        except OSError:
            return  # there are no processes on other hosts
        until = time.monotonic() + REMOTE_TIMEOUT
        while waiting := [path for path in waiting if _is_sampling(path)]:
            if time.monotonic() > until:
                from spartito.base.text import plural

                complain(f"--sample: the last samples of {plural(len(waiting), 'other host')} are not written yet")
                return
            time.sleep(0.01)
        try:
            os.rmdir(directory)
        except OSError:
            pass  # it still has files of another launcher


def _is_sampling(path: str) -> bool:
    """Whether the manager of another host still runs: it holds a lock on its file. The file is opened, as a network file system
    may list files that were removed, but checks them on open."""
    import fcntl

    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            if f.read().strip().isdigit():
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.unlink(path)  # the manager could not be started, which processes there have reported, or it was killed
    except FileNotFoundError:
        return False
    except OSError:
        return True  # the file is locked, or its file system has no locks
    return False


def records_calls(values: dict[str, Value]) -> bool:
    """Whether function calls are recorded beside samples. Default without --calls: only if samples are off or a trace is
    recorded."""
    calls = values["calls"]
    if calls.origin != "default":
        return calls.text == "1"
    return values["sample"].text != "1" or values["trace"].text == "1"


def begin(directory: str, values: dict[str, Value], calls: bool, quiet: bool) -> Sampling | None:
    """Starts the sampler manager of a run. None: this host cannot sample. calls: function calls are recorded as well. quiet: print
    no messages, as another rank prints them."""
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
    return Sampling(directory, script_command(directory, settings, rate, native, path=HOST_FILE), pid, end)
