# SPDX-License-Identifier: BSD-3-Clause
"""Samples of a cell: of the kernel while the cell runs, and of programs that it starts."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time

from spartito.experiments.rundir import SAMPLES
from spartito.sample.sampling import LONGEST, apart

READY = 30.0  # seconds that the sampler may take until it looks, if it does not end: the machine may be busy


class NoSampler(Exception):
    """A sentence why."""


class CellSampler:
    """pid: of the process that the kernel lets look into it. It ends with the kernel, however that ends."""

    def __init__(self, directory: str, settings: dict[str, str], rate: str, native: bool) -> None:
        """NoSampler: why there is none."""
        if sys.version_info < (3, 11):
            # the stacks of a kernel are not met by those that the recorder keeps
            raise NoSampler("cells can be sampled from Python 3.11 on; spartito attach samples this kernel as a whole")
        self.directory = directory
        self.pid = 0
        command = apart(directory, [word for pair in settings.items() for word in pair], rate, native, os.getpid())
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
            process.wait(READY)  # it has left another one behind
            said = os.fsdecode(self._out.readline()).strip() if self._ready(READY) else ""
        except subprocess.TimeoutExpired:
            said = ""
        except BaseException:
            self.end()
            raise
        if not said.isdigit():
            self.end()
            raise NoSampler(said or "the process that samples did not start")
        self.pid = int(said)

    def _ready(self, patience: float) -> bool:
        looked = select.poll()
        looked.register(self._out, select.POLLIN)
        return bool(looked.poll(patience * 1000))

    def wait(self) -> None:
        """Until it looks at this process, or has said why it cannot, or has ended."""
        until = time.monotonic() + READY
        raw = os.path.join(self.directory, "raw")
        while time.monotonic() < until and not any(name.endswith(SAMPLES) for name in os.listdir(raw)):
            if self._ready(0.001):
                return

    def end(self) -> bool:
        """Whether all samples are in their files. Nothing is measured any more."""
        with contextlib.suppress(OSError):
            os.write(self._in.fileno(), b"e")
        complete = self._ready(LONGEST)  # closed with the process's end
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):
                pipe.close()
        return complete


def _environment() -> dict[str, str]:
    """Without what would have that process measured, or its memory."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_") and k not in ("LD_PRELOAD", "PYTHONPATH")}
