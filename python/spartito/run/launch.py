# SPDX-License-Identifier: BSD-3-Clause
"""Starts the program exactly as the shell would, waits for it, and exits with its status or signal.

This module runs before each measured program, so it imports only modules that the interpreter has loaded already. `_signal` is the
C module behind `signal`, whose enums would take several milliseconds to create.
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

# The launcher does not handle these: its own faults, signals that cannot be caught, and those that stop a process.
NOT_FORWARDED = {sig.SIGKILL, sig.SIGSTOP, sig.SIGSEGV, sig.SIGBUS, sig.SIGFPE, sig.SIGILL, sig.SIGTRAP, sig.SIGTTIN, sig.SIGTTOU}
FORWARDED = sig.valid_signals() - NOT_FORWARDED  # without those that the C library reserves
# The terminal sends these to the whole foreground process group, so the program receives them itself.
FROM_TERMINAL = {sig.SIGINT, sig.SIGQUIT, sig.SIGTSTP, sig.SIGHUP, sig.SIGWINCH}
SI_KERNEL = 0x80  # siginfo_t.si_code: the kernel sent the signal
SCRIPTS = (".py", ".pyc", ".pyw", ".pyz")
IPYTHON_SUFFIX = ".ipy"
WATCH_PERIOD = 1.0  # seconds between two calls of a watch
CORE_LIMIT = 1  # bytes; with this limit the kernel writes no core dump, neither to a file nor to a pipe (core_pattern with |)


def real_command(words: list[str]) -> list[str]:
    """The command line to start. This Python runs `-m module`, `-c code` and a script that is not executable; its IPython runs a
    `script.ipy`."""
    first = words[0]
    python = sys.executable or "python3"
    if first.startswith("-"):
        return [python, *words]
    if first.endswith((*SCRIPTS, IPYTHON_SUFFIX)):
        if "/" in first:
            runs = os.access(first, os.X_OK)
        else:
            runs = any(os.access(os.path.join(p, first), os.X_OK) for p in os.get_exec_path())
        if not runs:
            return [python, "-m", "IPython", *words] if first.endswith(IPYTHON_SUFFIX) else [python, *words]
    return words


def _not_started(command: list[str], e: OSError) -> Refused:
    name = command[0]
    if e.errno in (errno.ENOENT, errno.ENOTDIR):
        if "/" in name and os.path.exists(name):
            return Refused(f"{name}: the interpreter in its first line does not exist", 127)
        return Refused(f"{name}: command not found", 127)
    return Refused(f"{name}: cannot be started: {reason(e)}", 126)


def _ignored_by_python() -> list[int]:
    """Signals that Python has set to be ignored at its start. The program must get their default actions, as from a shell."""
    return [n for n in (sig.SIGPIPE, sig.SIGXFSZ) if sig.getsignal(n) is sig.SIG_IGN]


def run(command: list[str], environment: dict[str, str], meanwhile: Callable[[], Callable[[], bool] | None] | None = None) -> int:
    """Runs the command until it exits and returns its wait status. Calls meanwhile() after the start. If that returns a
    function, it is called each second until it returns False. Refused: the command cannot be started."""
    ignored = sig.getsignal(sig.SIGCHLD) is sig.SIG_IGN
    # With all signals blocked, sigwaitinfo() receives each of them with its sender, also one that arrives before the wait begins.
    mask = sig.pthread_sigmask(sig.SIG_BLOCK, FORWARDED)
    try:
        if ignored:
            sig.signal(sig.SIGCHLD, sig.SIG_DFL)
        witness_begin()
        words = [os.fsencode(word) for word in command]
        pairs = [os.fsencode(name + "=" + value) for name, value in environment.items()]
        pid = spawn(words, pairs, mask, _ignored_by_python(), [sig.SIGCHLD] if ignored else [])
        status = _wait(pid, meanwhile() if meanwhile else None)
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


def _wait(pid: int, watch: Callable[[], bool] | None) -> int:
    """Waits until the program exits, and forwards signals to it. Returns its wait status. watch: see run()."""
    while True:
        waited, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if waited and not os.WIFSTOPPED(status):
            return status
        if waited and os.WSTOPSIG(status) in (sig.SIGTSTP, sig.SIGTTIN, sig.SIGTTOU):
            # Ctrl-Z: the shell expects the launcher to stop, too. After SIGSTOP the launcher keeps running: another process may
            # continue the program without knowing of the launcher.
            os.kill(os.getpid(), sig.SIGSTOP)
        info = sig.sigtimedwait(FORWARDED, WATCH_PERIOD) if watch else sig.sigwaitinfo(FORWARDED)
        if info is None:
            watch = watch if watch and watch() else None
            continue
        number = info.si_signo
        if number == sig.SIGCHLD:
            continue
        # a signal to the whole process group (kill -TERM -PGID, killpg) has reached the program, too
        if witness_has(number) or (number in FROM_TERMINAL and info.si_code >= SI_KERNEL):
            continue
        try:
            os.kill(pid, number)
        except OSError:
            pass


def finish(status: int, directory: str, results: Callable[[], None]) -> int:
    """Calls results() after the program has exited, and returns end_like(status). An error of results() is printed and does not
    change the exit status: it is that of the program."""
    try:
        results()
    except KeyboardInterrupt:
        complain(f"interrupted; what was recorded is in {directory}")
    except Exception as e:
        complain(f"the results cannot be made: {' '.join(str(e).split()) or type(e).__name__}")
    return end_like(status)


def end_like(status: int) -> int:
    """The exit status of the launcher. If a signal ended the program, the launcher sends itself the same signal, and this function
    may not return."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    import resource

    try:
        limits = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (CORE_LIMIT if limits[1] else 0, limits[1]))
    except (OSError, ValueError):
        pass
    if number not in (sig.SIGKILL, sig.SIGSTOP):
        sig.signal(number, sig.SIG_DFL)
        sig.pthread_sigmask(sig.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number


def leave(status: int) -> NoReturn:
    """Exits without the interpreter's finalization, which takes longer than all work of the launcher."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(status)
