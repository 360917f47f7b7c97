# SPDX-License-Identifier: BSD-3-Clause
"""spartito view: shows an experiment in the browser with a dedicated server."""

from __future__ import annotations

import asyncio
import os
import re
import signal

from spartito.base.messages import say
from spartito.base.text import standard_output
from spartito.experiments import losses
from spartito.experiments.reading import one_experiment, opened
from spartito.options.table import Usage
from spartito.view import kinds, opening
from spartito.view.jupyter import TOKEN
from spartito.view.server import Server

LAST_PORT = 65535
NAME = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?")  # a name or an address, and a port


def main(values: dict[str, object], operands: list[str]) -> int:
    directory = one_experiment("view", operands)
    port = values.get("port", 0)
    assert isinstance(port, int)
    if port > LAST_PORT:
        raise Usage(f"--port {port}: ports end at {LAST_PORT}")
    names = values.get("host", [])
    assert isinstance(names, list)
    for name in names:
        if not NAME.fullmatch(name):
            raise Usage(f"--host: {name!r} is no name of a machine such as hub.example.org or hub.example.org:8000")
    compare = values.get("compare")
    assert compare is None or isinstance(compare, str)
    compare = None if compare is None else opened(compare)
    experiment = kinds.open_experiment(
        directory, compare=compare, compensate=bool(values.get("compensate")), source=not values.get("no_source")
    )
    server = Server(experiment, token=os.environ.pop(TOKEN, ""), names=names)
    server.bind(port)
    for run in experiment.runs:
        losses.say_all(run.model.info(), run.directory, experiment.base is not None)
    asyncio.run(_serve(server, bool(values.get("no_browser"))))
    return 0


def _show(server: Server, silent: bool) -> opening.RedirectFile | None:
    """Prints the address of the page, and opens it in a browser if possible."""
    out = standard_output()
    line = opening.ssh_line(os.environ, server.port)
    command = [] if silent else opening.find_browser(os.environ)
    redirect = None
    if command:
        redirect = opening.RedirectFile(server.url)
        if not redirect.open(command):
            redirect.close()
            redirect = None
    out.line(server.url)
    if line:
        out.line(f"from your own machine first: {line}")
    elif redirect is None and not silent:
        say("spartito: no browser could be started here; open the address above in one on this machine")
    out.stream.flush()  # standard output may be a buffered pipe, and the server runs for long
    say("Ctrl-C ends it")
    return redirect


async def _serve(server: Server, silent: bool) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # keep ignoring a signal that nohup ignores
            loop.add_signal_handler(number, stop.set)
    redirect = _show(server, silent)
    try:
        await server.serve(stop)
    finally:
        if redirect is not None:
            redirect.close()
