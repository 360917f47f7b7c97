# SPDX-License-Identifier: BSD-3-Clause
"""The server of `spartito view` for a kernel: in a process of its own, which ends with the kernel however that ends.

The two hold the ends of a pipe. What the kernel measures, this process is not a part of, and an interrupt of the kernel is not for
it."""

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

from spartito.base import package
from spartito.base.messages import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# the kernel's directory may have any module; this process is to find its own ones
CODE = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; sys.path.append(sys.argv[1]); "
    "from spartito.notebook import serving; serving.main()"
)
_pages: list[Page] = []  # a page that nobody holds is still looked at


class Page:
    """A viewer that runs. url: its address; link: what a browser that shows the notebook follows to it."""

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
    """The path below which Jupyter's server hands requests on, "/user/ada/"; "": it does not, or cannot be asked."""
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


def _environment() -> dict[str, str]:
    """Without what makes a process a part of a measurement."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SPARTITO_")}
    preload = kept.pop("LD_PRELOAD", "").split(os.pathsep)
    others = [path for path in preload if path and "spartito" not in path]
    return {**kept, "LD_PRELOAD": os.pathsep.join(others)} if others else kept


def start(directory: str, base: str | None, compensate: bool) -> Page:
    """base: what it is compared with, a directory. compensate: without the cost of measuring. Refused: the server did not start."""
    token = secrets.token_urlsafe(32)
    asked = {"directory": directory, "base": base, "compensate": compensate, "token": token, "proxied": bool(proxy())}
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, package.SITE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    try:
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it tells why below
    answer = process.stdout.readline()
    process.stdout.close()
    if not answer.strip().isdigit():
        said = process.communicate()[1].decode(errors="replace").strip().split("\n")[-1]
        raise Refused(said or "the viewer ended without a word")
    process.stderr.close()
    page = Page(process, int(answer), token)
    _pages.append(page)
    return page


def main() -> None:
    """The process of the server."""
    from spartito._analyse import Error
    from spartito.view import kinds
    from spartito.view.server import Server

    class Proxied(Server):
        """Jupyter has let the user in, by a name that is not known here; who has not the token is turned away all the same."""

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
    # nobody reads what it may still say
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    await server.serve(stop)
