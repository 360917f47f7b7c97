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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.view.attached import Attached
    from spartito.view.live import Loader

LAST_PORT = 65535
NAME = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?")  # a name or an address, and a port


def main(values: dict[str, object], operands: list[str]) -> int:
    port = values.get("port", 0)
    assert isinstance(port, int)
    if port > LAST_PORT:
        raise Usage(f"--port {port}: ports end at {LAST_PORT}")
    names = values.get("host", [])
    assert isinstance(names, list)
    for name in names:
        if not NAME.fullmatch(name):
            raise Usage(f"--host: {name!r} is no name of a machine such as hub.example.org or hub.example.org:8000")
    if values.get("compare") is not None and values.get("live"):
        raise Usage("--live shows one run, without --compare")
    attached = _attached(operands) if values.get("live") else None
    try:
        directory = attached.directory if attached else one_experiment("view", operands)
        experiment, loader = _opened(directory, values)
        server = Server(experiment, token=os.environ.pop(TOKEN, ""), names=names, loader=loader)
        server.bind(port)
        for run in experiment.runs if loader is None else ():
            losses.say_all(run.model.info(), run.directory, experiment.base is not None)
        asyncio.run(_serve(server, bool(values.get("no_browser"))))
    finally:
        if attached:
            attached.close()
    return 0


def _attached(operands: list[str]) -> Attached | None:
    """The sampled process, if the operand is a process id and not a directory."""
    if len(operands) != 1 or not (operands[0].isascii() and operands[0].isdigit()) or os.path.exists(operands[0]):
        return None
    from spartito.sample.operand import one_process
    from spartito.view.attached import Attached

    return Attached(one_process("view --live", operands))


def _opened(directory: str, values: dict[str, object]) -> tuple[kinds.Experiment, Loader | None]:
    """The experiment, and with --live the loader of its later versions, if its run has not ended."""
    compare, compensate, source = values.get("compare"), bool(values.get("compensate")), not values.get("no_source")
    if not values.get("live"):
        assert compare is None or isinstance(compare, str)
        return kinds.open_experiment(directory, compare=compare and opened(compare), compensate=compensate, source=source), None
    from spartito.view.live import Loader

    loader = Loader(directory, compensate=compensate, source=source)
    experiment = loader.first()
    if loader.running:
        return experiment, loader
    say(f"spartito: the run in {directory} has ended; this shows all of it")
    return experiment, None


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
