# SPDX-License-Identifier: BSD-3-Clause
"""Sampling of a cell: of the kernel while the cell runs, and of the programs that the cell starts."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time

from spartito.experiments.rundir import SAMPLES
from spartito.sample.sampling import FINISH_TIMEOUT, script_command

READY = 30.0  # seconds: timeout for the sampler's first sample; long, as the machine may be busy


class NoSampler(Exception):
    """The sampler cannot be started; the message has the reason."""


class CellSampler:
    """The sampler manager of a measured cell. pid: its process id; the kernel allows this process to read its memory. The manager
    exits with the kernel, even if the kernel is killed."""

    def __init__(self, directory: str, settings: dict[str, str], rate: str, native: bool) -> None:
        """Starts the manager and waits for its process id. NoSampler: it cannot be started."""
        if sys.version_info < (3, 11):
            # before Python 3.11, a sampled stack of a kernel does not match the frames that the recorder keeps
            raise NoSampler("cells can be sampled from Python 3.11 on; spartito attach samples this kernel as a whole")
        self.directory = directory
        self.pid = 0
        command = script_command(directory, [word for pair in settings.items() for word in pair], rate, native, os.getpid())
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True, env=_environment()
            )
        except OSError as e:
            raise NoSampler(e.strerror or str(e)) from None
        assert process.stdin and process.stdout
        self._in, self._out = process.stdin, process.stdout
        try:
            process.wait(READY)  # samplerscript.py forks and exits at once
            answer = os.fsdecode(self._out.readline()).strip() if self._ready(READY) else ""
        except subprocess.TimeoutExpired:
            answer = ""
        except BaseException:
            self.end()
            raise
        if not answer.isdigit():
            self.end()
            raise NoSampler(answer or "the process that samples did not start")
        self.pid = int(answer)

    def _ready(self, timeout: float) -> bool:
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        return bool(poll.poll(timeout * 1000))

    def wait(self) -> None:
        """Waits until the sampler has created its file, has reported an error or has ended."""
        until = time.monotonic() + READY
        raw = os.path.join(self.directory, "raw")
        while time.monotonic() < until and not any(name.endswith(SAMPLES) for name in os.listdir(raw)):
            if self._ready(0.001):
                return

    def end(self) -> bool:
        """Ends the sampler after the measurement has ended. Returns whether all samples are in their files."""
        with contextlib.suppress(OSError):
            os.write(self._in.fileno(), b"e")
        complete = self._ready(FINISH_TIMEOUT)  # the pipe is closed when the manager exits
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):
                pipe.close()
        return complete


def _environment() -> dict[str, str]:
    """The environment without variables that would make Spartito measure the sampler itself."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_") and k not in ("LD_PRELOAD", "PYTHONPATH")}
