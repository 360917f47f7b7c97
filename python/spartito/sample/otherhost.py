# SPDX-License-Identifier: BSD-3-Clause
"""Sampling of measured processes that run on another host than their launcher: the first measured process of a host starts the
sampler manager of that host. A container with its own process ids counts as a host. begin() runs before the measurement starts, so
this module imports only modules that the interpreter has loaded anyway."""

import os
import time

# Directory in the experiment with a file for each other host. The file holds the process id of that host's sampler manager, or the
# reason why it could not be started. The manager locks its file, and removes it before it exits.
HOST_FILES = "samplers"
SEPARATOR = "\x1f"  # between the words of SPARTITO_SAMPLING: the launcher's host, and the command line of samplerscript.py
HOST_FILE = "@file"  # in that command line: replaced by the path of the host's file
START_TIMEOUT = 5.0  # seconds: timeout for the start of the manager
CLEAN = ("SPARTITO_", "PYTHON", "LD_PRELOAD")  # prefixes of variables that the manager does not inherit: it must not be measured


def begin(directory: str, host: str) -> str:
    """Starts the sampler manager of this host unless it runs already, and sets its process id in SPARTITO_SAMPLER. Returns the
    reason if it cannot be started, else ""."""
    words = os.environ["SPARTITO_SAMPLING"].split(SEPARATOR)[1:]
    path = os.path.join(directory, HOST_FILES, host)
    try:
        answer = _ask(path, [path if word == HOST_FILE else word for word in words])
    except OSError as e:
        answer = f"the process that samples on this host cannot be started: {e.strerror}"
    known = answer.isdigit()
    os.environ["SPARTITO_SAMPLER"] = answer if known else "0"
    if known:
        os.environ["SPARTITO_SAMPLING"] = SEPARATOR.join([host, *words])
    return "" if known else answer


def _ask(path: str, command: "list[str]") -> str:
    """The contents of the host's file: the manager's process id or an error. Of the processes that call this at the same time, the
    one that creates the file starts the manager."""
    until = time.monotonic() + START_TIMEOUT
    os.makedirs(os.path.dirname(path), exist_ok=True)
    while time.monotonic() < until:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            answer = _read(path)
            if answer and not _is_gone(answer):
                return answer
            if answer:
                _remove(path)  # the manager was killed
            else:
                time.sleep(0.002)
            continue
        try:
            _start(fd, command)
        except OSError:
            _remove(path)
            raise
        finally:
            os.close(fd)
    return "the process that samples on this host did not start"


def _start(fd: int, command: "list[str]") -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(CLEAN)}
    null = [(os.POSIX_SPAWN_OPEN, i, os.devnull, os.O_RDWR, 0) for i in (0, 2)]
    actions = [*null, (os.POSIX_SPAWN_DUP2, fd, 1)]
    pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
    try:
        os.waitpid(pid, 0)  # samplerscript.py forks the manager's parent and exits
    except ChildProcessError:
        pass  # SIGCHLD is ignored


def _read(path: str) -> str:
    """The contents of a host's file; "" if it is not complete yet or was removed."""
    try:
        with open(path, encoding="utf-8", errors="backslashreplace") as f:
            text = f.read()
    except FileNotFoundError:
        return ""
    return text.strip() if text.endswith("\n") else ""


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _is_gone(answer: str) -> bool:
    """Whether the process whose id `answer` is has ended. A zombie counts as ended: its parent may never wait for it."""
    if not answer.isdigit():
        return False
    try:
        with open(f"/proc/{answer}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return os.path.exists("/proc/self")
