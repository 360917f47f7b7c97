# SPDX-License-Identifier: BSD-3-Clause
"""The experiment of a running process for `spartito view --live PID`: `spartito attach` in a child process samples it."""

from __future__ import annotations

import os
import subprocess
import time

from spartito.base import interpreter
from spartito.base.messages import Refused, complain, reason, say
from spartito.base.text import as_argument
from spartito.experiments import rundir
from spartito.sample.liveprofile import opened
from spartito.sample.operand import command_of

ATTACH = (
    "from spartito.sample.attaching import end_with_input; end_with_input(); "
    "from spartito.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
TURN = 0.05  # seconds between two checks whether sampling has begun


class Attached:
    """The process that samples, and the directory of its experiment."""

    def __init__(self, pid: int) -> None:
        """Samples process pid until it ends or close() is called. Refused: it cannot be sampled."""
        opened(pid).close()  # reports an error before the directory is made
        self.directory = rundir.numbered(rundir.default_name(command_of(pid)), _new_directory)
        words = interpreter.command(ATTACH, "attach", "-q", "-o", self.directory, str(pid))
        # in a separate session, so that Ctrl-C in this terminal ends it only through close(); its standard input ends with this
        # process, however that ends
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        while self.process.poll() is None and not self._begun():
            time.sleep(TURN)
        if self.process.returncode:
            lines = self._messages()
            if os.path.isdir(self.directory) and not os.listdir(self.directory):
                os.rmdir(self.directory)
            raise Refused(lines[-1] if lines else f"process {pid} cannot be sampled")

    def _begun(self) -> bool:
        try:
            return bool(os.listdir(os.path.join(self.directory, "raw")))
        except OSError:
            return False

    def _messages(self) -> list[str]:
        assert self.process.stderr
        return [line.removeprefix("spartito: ") for line in self.process.stderr.read().decode(errors="replace").splitlines()]

    def close(self) -> None:
        """Ends sampling, if the process has not ended, and names the experiment."""
        if self.process.poll() is None:
            self.process.terminate()
        for line in self._messages():
            complain(line)
        if self.process.wait() == 0:
            say(f"spartito: the samples are in {as_argument(self.directory)}")


def _new_directory(path: str) -> str:
    """Creates the directory. rundir.Exists: it exists; Refused: it cannot be created."""
    try:
        os.mkdir(path)
    except FileExistsError:
        raise rundir.Exists(f"{path} already exists") from None
    except OSError as e:
        raise Refused(f"the experiment directory {path} cannot be written: {reason(e)}") from None
    return path
