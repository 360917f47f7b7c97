# SPDX-License-Identifier: BSD-3-Clause
"""Starts the program exactly as the shell would, waits for it, and ends as it ended.

Everything here is on the start-up path of each measured program: only modules that the interpreter has loaded anyway.
`_signal` is the C half of `signal`, without the enums that cost several milliseconds.
"""

from __future__ import annotations

import errno
import os
import sys

from spartito._measure import saw_end, spawn, witness_begin, witness_end, witness_has
from spartito.base.messages import Refused, complain, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as sig
    from collections.abc import Callable
    from typing import NoReturn
else:
    import _signal as sig

# Faults of the launcher itself, and what the kernel uses for stopping, stay as they are.
OWN = {sig.SIGKILL, sig.SIGSTOP, sig.SIGSEGV, sig.SIGBUS, sig.SIGFPE, sig.SIGILL, sig.SIGTRAP, sig.SIGTTIN, sig.SIGTTOU}
WAITED = set(range(1, sig.NSIG)) - OWN - {32, 33}  # 32 and 33 belong to glibc
# The terminal sends these to the whole foreground process group: the program has them already.
FROM_TERMINAL = {sig.SIGINT, sig.SIGQUIT, sig.SIGTSTP, sig.SIGHUP, sig.SIGWINCH}
SI_KERNEL = 0x80
SCRIPTS = (".py", ".pyc", ".pyw", ".pyz")
OF_IPYTHON = ".ipy"
PIPED_CORE = 1  # bytes: the kernel skips the dump, to a file (too small) as well as to a pipe (core_pattern with |)


def real_command(words: list[str]) -> list[str]:
    """The command line to start: `script.py`, `-m module` and `-c code` alone are given to this Python, and `script.ipy` to its
    IPython."""
    first = words[0]
    python = sys.executable or "python3"
    if first.startswith("-"):
        return [python, *words]
    if first.endswith((*SCRIPTS, OF_IPYTHON)):
        if "/" in first:
            runs = os.access(first, os.X_OK)
        else:
            runs = any(os.access(os.path.join(p, first), os.X_OK) for p in os.get_exec_path())
        if not runs:
            return [python, "-m", "IPython", *words] if first.endswith(OF_IPYTHON) else [python, *words]
    return words


def _not_started(command: list[str], e: OSError) -> Refused:
    name = command[0]
    if e.errno in (errno.ENOENT, errno.ENOTDIR):
        if "/" in name and os.path.exists(name):
            return Refused(f"{name}: the interpreter in its first line does not exist", 127)
        return Refused(f"{name}: command not found", 127)
    return Refused(f"{name}: cannot be started: {reason(e)}", 126)


def _set_by_python() -> list[int]:
    """Signals that Python ignores from its start on; the program must find them as the shell would hand them over."""
    return [n for n in (sig.SIGPIPE, sig.SIGXFSZ) if sig.getsignal(n) is sig.SIG_IGN]


def run(command: list[str], environment: dict[str, str], meanwhile: Callable[[], None] | None = None) -> int:
    """Runs the command to its end and returns its wait status; calls meanwhile() once it is started.
    Refused: it could not be started."""
    ignored = sig.getsignal(sig.SIGCHLD) is sig.SIG_IGN
    # Blocked, every signal waits for sigwaitinfo(): none is lost between start and wait, and each tells its sender.
    mask = sig.pthread_sigmask(sig.SIG_BLOCK, WAITED)
    try:
        if ignored:
            sig.signal(sig.SIGCHLD, sig.SIG_DFL)
        witness_begin()
        words = [os.fsencode(word) for word in command]
        pairs = [os.fsencode(name + "=" + value) for name, value in environment.items()]
        pid = spawn(words, pairs, mask, _set_by_python(), [sig.SIGCHLD] if ignored else [])
        if meanwhile:
            meanwhile()
        status = _wait(pid)
        if "SPARTITO_EXPERIMENT" in environment:
            saw_end(os.fsencode(environment["SPARTITO_EXPERIMENT"]), pid)
        while sig.sigtimedwait(FROM_TERMINAL | {sig.SIGCHLD}, 0):
            pass
    except OSError as e:
        raise _not_started(command, e) from None
    finally:
        witness_end()
        sig.pthread_sigmask(sig.SIG_SETMASK, mask)
    return status


def _wait(pid: int) -> int:
    while True:
        got, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if got and not os.WIFSTOPPED(status):
            return status
        if got and os.WSTOPSIG(status) in (sig.SIGTSTP, sig.SIGTTIN, sig.SIGTTOU):
            # Ctrl-Z: the shell waits for us to stop too. A program that stops itself (SIGSTOP) may be continued by
            # someone who does not know of us.
            os.kill(os.getpid(), sig.SIGSTOP)
        info = sig.sigwaitinfo(WAITED)
        number = info.si_signo
        if number == sig.SIGCHLD:
            continue
        # what was sent to the whole group (kill -TERM -PGID, killpg) the program has already
        if witness_has(number) or (number in FROM_TERMINAL and info.si_code >= SI_KERNEL):
            continue
        try:
            os.kill(pid, number)
        except OSError:
            pass


def finish(status: int, directory: str, results: Callable[[], None]) -> int:
    """Calls results() after the program, and returns what end_like() does: whatever is wrong with the results, the
    program's own status is what the caller must see."""
    try:
        results()
    except KeyboardInterrupt:
        complain(f"interrupted; what was recorded is in {directory}")
    except Exception as e:
        complain(f"the results cannot be made: {' '.join(str(e).split()) or type(e).__name__}")
    return end_like(status)


def end_like(status: int) -> int:
    """The exit status to leave with; does not return where the program died of a signal that kills us too."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    import resource

    try:
        limits = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (PIPED_CORE if limits[1] else 0, limits[1]))
    except (OSError, ValueError):
        pass
    if number not in (sig.SIGKILL, sig.SIGSTOP):
        sig.signal(number, sig.SIG_DFL)
        sig.pthread_sigmask(sig.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number


def leave(status: int) -> NoReturn:
    """Ends the launcher: the interpreter's orderly end takes longer than all that the launcher does."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(status)
