# SPDX-License-Identifier: BSD-3-Clause
"""In a measured process that runs on another host than its launcher: the sampler of that host, which its first measured process
starts. Host is what has process ids of its own, a container too. Called before anything is measured: imports what the interpreter
has loaded anyway."""

import os
import time

PLACES = "samplers"  # directory in the experiment: for each other host a file that says who samples there, as long as that one runs
SEPARATOR = "\x1f"  # of words in SPARTITO_SAMPLING
HERE = "@place"  # among them: stands for that file
PATIENCE = 5.0  # seconds that it may take to start
CLEAN = ("SPARTITO_", "PYTHON", "LD_PRELOAD")  # variables that would have that process measured, or its memory


def begin(directory: str, host: str) -> str:
    """Why nobody samples here; nothing where somebody does: then the environment names that process."""
    words = os.environ["SPARTITO_SAMPLING"].split(SEPARATOR)[1:]
    place = os.path.join(directory, PLACES, host)
    try:
        said = _ask(place, [place if word == HERE else word for word in words])
    except OSError as e:
        said = f"the process that samples on this host cannot be started: {e.strerror}"
    known = said.isdigit()
    os.environ["SPARTITO_SAMPLER"] = said if known else "0"
    if known:
        os.environ["SPARTITO_SAMPLING"] = SEPARATOR.join([host, *words])
    return "" if known else said


def _ask(place: str, command: "list[str]") -> str:
    until = time.monotonic() + PATIENCE
    os.makedirs(os.path.dirname(place), exist_ok=True)
    while time.monotonic() < until:
        try:
            fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            said = _read(place)
            if said and not _is_gone(said):
                return said
            if said:
                _remove(place)  # it was killed
            else:
                time.sleep(0.002)
            continue
        try:
            _start(fd, command)
        except OSError:
            _remove(place)
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
        os.waitpid(pid, 0)  # it leaves another one behind
    except ChildProcessError:
        pass  # SIGCHLD is ignored


def _read(place: str) -> str:
    """What it says; nothing where it does not say it yet, or any more."""
    try:
        with open(place, encoding="utf-8", errors="backslashreplace") as f:
            text = f.read()
    except FileNotFoundError:
        return ""
    return text.strip() if text.endswith("\n") else ""


def _remove(place: str) -> None:
    try:
        os.unlink(place)
    except FileNotFoundError:
        pass


def _is_gone(said: str) -> bool:
    """It was killed; a zombie, as those stay whose parent does not wait for them, is gone too."""
    if not said.isdigit():
        return False
    try:
        with open(f"/proc/{said}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return os.path.exists("/proc/self")
