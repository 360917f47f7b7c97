# SPDX-License-Identifier: BSD-3-Clause
"""spartito view: shows an experiment in the browser with a dedicated server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import threading
from concurrent.futures import Future, wait

from spartito._analyse import Error
from spartito.base.messages import say
from spartito.base.text import standard_output
from spartito.experiments import conversion, losses
from spartito.experiments.reading import one_experiment, opened
from spartito.options.table import Usage
from spartito.view import kinds, opening
from spartito.view.jupyter import TOKEN
from spartito.view.server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from spartito.view.attached import Attached
    from spartito.view.live import Loader

LAST_PORT = 65535
PROMPT = 0.3  # s after which the address is printed, even if the experiment is still being read
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
        token, silent = os.environ.pop(TOKEN, ""), bool(values.get("no_browser"))
        if values.get("live"):
            first, loader = _live(directory, values)
            server = Server(first, token=token, names=names, loader=loader)
            server.bind(port)
            asyncio.run(_serve(server, silent))
        else:
            experiment = Opening(directory, values)
            server = Server(experiment, token=token, names=names)
            server.bind(port)
            asyncio.run(_serve(server, silent, experiment))
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


class Opening:
    """An experiment that a thread opens. One with millions of call paths takes seconds, and the page can be shown meanwhile."""

    def __init__(self, directory: str, values: dict[str, object]) -> None:
        """Returns after PROMPT seconds at the latest. Refused, _analyse.Error: by then it is known that the experiment cannot be
        read. Later errors are those of `future`."""
        compare = values.get("compare")
        assert compare is None or isinstance(compare, str)
        base = compare and opened(compare)
        self.future: Future[kinds.Experiment] = Future()

        def work() -> None:
            try:
                compensate, source = bool(values.get("compensate")), not values.get("no_source")
                if not compensate:
                    _merge_large([directory, *([base] if base else [])])
                found = kinds.open_experiment(directory, compare=base, compensate=compensate, source=source)
                for run in found.runs:
                    losses.say_all(run.model.info(), run.directory, found.base is not None)
            except BaseException as e:
                self.future.set_exception(e)
            else:
                self.future.set_result(found)
                with contextlib.suppress(Exception):  # then the page gets the error when it asks
                    found.get("facts", {})  # while the browser starts: it is the first question

        threading.Thread(target=work, daemon=True).start()  # Ctrl-C does not wait for it
        if wait([self.future], PROMPT).done:
            self.future.result()

    def get(self, kind: str, parameters: Mapping[str, str]) -> bytes:
        """The answer, once the experiment is open; see Experiment.get()."""
        return self.future.result().get(kind, parameters)


def _merge_large(directories: list[str]) -> None:
    """Merges experiments with millions of call paths, once: a merged file opens ten times faster, and only the parts that a
    question needs are in memory. An experiment that cannot be merged, for instance a read-only one, is read as it is."""
    for directory in directories:
        with contextlib.suppress(Error, OSError):
            conversion.merge_large(directory)


def _live(directory: str, values: dict[str, object]) -> tuple[kinds.Experiment, Loader | None]:
    """The experiment, and the loader of its later versions if its run has not ended."""
    from spartito.view.live import Loader

    loader = Loader(directory, compensate=bool(values.get("compensate")), source=not values.get("no_source"))
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


async def _serve(server: Server, silent: bool, experiment: Opening | None = None) -> None:
    """Serves until a signal ends it, or the experiment cannot be opened: then it raises that error."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # keep ignoring a signal that nohup ignores
            loop.add_signal_handler(number, stop.set)
    redirect = _show(server, silent)

    def opened(future: asyncio.Future[kinds.Experiment]) -> None:
        if future.exception():
            stop.set()

    if experiment:
        asyncio.wrap_future(experiment.future).add_done_callback(opened)
    try:
        await server.serve(stop)
        if experiment and experiment.future.done():
            experiment.future.result()
    finally:
        if redirect is not None:
            redirect.close()
