# SPDX-License-Identifier: BSD-3-Clause
"""Opens the page: starts a browser, or prints the ssh command that forwards the port to the user's machine."""

from __future__ import annotations

import html
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def is_remote(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("SSH_CONNECTION") or environment.get("SSH_CLIENT"))


def ssh_line(environment: Mapping[str, str], port: int) -> str:
    """The ssh command that forwards the port from this machine to the user's; "": this is the user's machine. For a node of a batch
    job, the command connects through the host that submitted the job."""
    gate = environment.get("SLURM_SUBMIT_HOST") or environment.get("PBS_O_HOST") or environment.get("LSB_SUB_HOST") or ""
    host = socket.gethostname()
    if gate.split(".")[0] == host.split(".")[0]:
        gate = ""
    if not is_remote(environment) and not gate:
        return ""
    user = environment.get("USER") or environment.get("LOGNAME") or ""
    at = f"{user}@" if user else ""
    words = ["ssh", "-C", "-N", "-L", f"{port}:127.0.0.1:{port}"]
    there = environment.get("SSH_CONNECTION", "").split()
    if gate:
        words += ["-J", at + gate]
    elif len(there) == 4 and there[3] != "22":
        words += ["-p", there[3]]
    return shlex.join([*words, at + host])


def find_browser(environment: Mapping[str, str]) -> list[str]:
    """The command that opens a file in a browser; empty: there is no browser or no display."""
    chosen = environment.get("BROWSER", "").split(os.pathsep)[0]
    if chosen:
        try:
            words = shlex.split(chosen)
        except ValueError:  # a quote that is not closed
            words = [chosen]
        return words if words and shutil.which(words[0]) else []
    if is_remote(environment) or not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        return []
    for name in ("xdg-open", "x-www-browser", "sensible-browser", "firefox", "chromium", "google-chrome"):
        if shutil.which(name):
            return [name]
    return []


class RedirectFile:
    """An HTML file that redirects to the page and that only its owner can read. The browser gets this file as its argument instead
    of the address: the address has the token, and all users of the machine can see the arguments of processes."""

    def __init__(self, url: str) -> None:
        self.directory = tempfile.mkdtemp(prefix="spartito-view-", dir=os.environ.get("XDG_RUNTIME_DIR") or None)
        self.path = os.path.join(self.directory, "open.html")
        there = html.escape(url, quote=True)
        with open(self.path, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(
                f'<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url={there}">\n'
                f'<title>Spartito</title>\n<p><a href="{there}">To the page</a></p>\n'
            )

    def open(self, command: list[str]) -> bool:
        words = [word.replace("%s", self.path) for word in command]
        if words == command:
            words.append(self.path)
        try:
            # in a separate session, so Ctrl-C in this terminal does not end the browser
            subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as e:
            print(f"spartito: {words[0]} cannot be started: {e.strerror}", file=sys.stderr)
            return False
        return True

    def close(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
