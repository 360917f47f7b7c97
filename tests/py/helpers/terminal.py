# SPDX-License-Identifier: BSD-3-Clause
"""Commands with a controlling terminal, as in a user's window."""

import contextlib
import os
import select
import subprocess
import sys

# Makes the terminal the controlling terminal of a new process. pty.fork() would continue in a copy of this process, in which locks
# may be held by threads that do not exist.
OWN = """
import fcntl, os, signal, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has ignored
os.execvp(sys.argv[1], sys.argv[1:])
"""
PATIENCE = 200  # seconds until output appears


class Terminal:
    """The user's side of a terminal."""

    def __init__(self, fd):
        self.fd = fd

    def type(self, keys):
        os.write(self.fd, keys)

    def read(self):
        """The next output; empty once no process has the terminal open."""
        assert select.select([self.fd], [], [], PATIENCE)[0], "nothing is shown"
        try:
            return os.read(self.fd, 65536)
        except OSError:
            return b""

    def until(self, mark):
        shown = b""
        while mark not in shown:
            part = self.read()
            assert part, shown
            shown += part
        return shown

    def rest(self):
        return b"".join(iter(self.read, b""))

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


@contextlib.contextmanager
def on_terminal(command, **keywords):
    """Starts a command; yields its process and its Terminal, which is closed at the end."""
    ours, theirs = os.openpty()
    terminal = Terminal(ours)
    command = [sys.executable, "-c", OWN, *map(str, command)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, **keywords) as process:
        os.close(theirs)
        try:
            yield process, terminal
        except BaseException:
            process.kill()
            raise
        finally:
            terminal.close()  # as when a window is closed: processes on the terminal get SIGHUP
