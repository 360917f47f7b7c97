# SPDX-License-Identifier: BSD-3-Clause
"""The server of `spartito view` for a kernel, in a separate process.

The kernel holds the other end of the server's standard input. Its end tells the server that the kernel has exited or was killed.
The server is not measured, and has its own session, so an interrupt of the kernel does not end it."""

from __future__ import annotations

import asyncio
import html
import json
import os
import secrets
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

from spartito.base import interpreter
from spartito.base.messages import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CODE = "from spartito.notebook import serving; serving.main()"
_pages: list[Page] = []  # keeps the servers alive: a browser may show a page whose Page object the user has not kept


class Page:
    """A running viewer. url: its address on this host; link: its address for the browser that shows the notebook."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, token: str) -> None:
        self._process = process
        self.url = f"http://127.0.0.1:{port}/{token}/"
        base = proxy()
        self.link = f"{base}proxy/{port}/{token}/" if base else self.url

    def close(self) -> None:
        """Ends the viewer."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        if self in _pages:
            _pages.remove(self)

    def __str__(self) -> str:
        return self.url

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        link = html.escape(self.link)
        return {"text/plain": self.url, "text/html": f'<a href="{link}" target="_blank" rel="noopener">{link}</a>'}


def proxy() -> str:
    """The base path of Jupyter's server, such as "/user/ada/", if the server forwards requests (jupyter-server-proxy); else ""."""
    if find_spec("jupyter_server_proxy") is None:
        return ""
    if os.environ.get("JUPYTERHUB_SERVICE_PREFIX"):
        return os.environ["JUPYTERHUB_SERVICE_PREFIX"]
    try:
        runtime: str = import_module("jupyter_core.paths").jupyter_runtime_dir()
        with open(os.path.join(runtime, f"jpserver-{os.environ['JPY_PARENT_PID']}.json"), encoding="utf-8") as f:
            return str(json.load(f)["base_url"])
    except (ImportError, KeyError, OSError, ValueError):
        return ""


def start(directory: str, base: str | None, compensate: bool) -> Page:
    """Starts the viewer's server. base: directory of the result to compare with. compensate: subtract the measured cost of
    measuring from the times. Refused: the server did not start."""
    token = secrets.token_urlsafe(32)
    asked = {"directory": directory, "base": base, "compensate": compensate, "token": token, "proxied": bool(proxy())}
    process = subprocess.Popen(
        interpreter.command(CODE),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=interpreter.environment(),
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    try:
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # the process has ended; its error message is read below
    answer = process.stdout.readline()
    process.stdout.close()
    if not answer.strip().isdigit():
        message = process.communicate()[1].decode(errors="replace").strip().split("\n")[-1]
        raise Refused(message or "the viewer ended without a message")
    process.stderr.close()
    page = Page(process, int(answer), token)
    _pages.append(page)
    return page


def main() -> None:
    """The main function of the server's process. Its standard input has a line of JSON, see start(); it writes its port."""
    from spartito._analyse import Error
    from spartito.view import kinds
    from spartito.view.server import Server

    class Proxied(Server):
        """Accepts any host name: Jupyter has authenticated the user, under a host name that is unknown here. Requests without the
        token are still refused."""

        def _known_name(self, host: str) -> bool:
            return True

    asked = json.loads(sys.stdin.buffer.readline())
    try:
        experiment = kinds.open_experiment(asked["directory"], compare=asked["base"], compensate=asked["compensate"])
        server = (Proxied if asked["proxied"] else Server)(experiment, token=asked["token"])
        server.bind(0)
    except (Refused, Error) as e:
        sys.exit(str(e))
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    asyncio.run(_serve(server))


async def _serve(server: Any) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def kernel_ended() -> None:
        loop.remove_reader(0)
        stop.set()

    loop.add_reader(0, kernel_ended)
    # the kernel does not read later output
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    await server.serve(stop)
