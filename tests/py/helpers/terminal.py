# SPDX-License-Identifier: BSD-3-Clause
"""Commands that have a terminal of their own, as in a user's window."""

import contextlib
import os
import select
import subprocess
import sys

# The process makes the terminal its own: pty.fork() would go on in a copy of this process, in which locks may be held by threads
# that are not there.
OWN = """
import fcntl, os, signal, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has ignored
os.execvp(sys.argv[1], sys.argv[1:])
"""
PATIENCE = 200  # seconds until something is shown


class Terminal:
    """The side on which one types and reads."""

    def __init__(self, fd):
        self.fd = fd

    def type(self, keys):
        os.write(self.fd, keys)

    def read(self):
        """What is shown next; nothing when no process has the terminal any more."""
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
    """The process and its terminal, which is closed at the end."""
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
            terminal.close()  # as a window: who has it gets SIGHUP
