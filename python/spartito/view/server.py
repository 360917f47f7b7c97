# SPDX-License-Identifier: BSD-3-Clause
"""The server of `spartito view`: serves one experiment to one user of this machine.

It listens on the loopback interface, which other users of the machine can reach, and pages of other sites in the user's browser,
too. Neither know the token in the address. If such a page learns the token, three checks still refuse it: the Host header (against
DNS rebinding), the Origin and Sec-Fetch headers, and the missing CORS headers. The number of connections is limited. At the limit,
the connections that have been idle for the longest time are closed."""

from __future__ import annotations

import asyncio
import errno
import hmac
import json
import re
import secrets
import socket
import sys
import time
import traceback
from urllib.parse import parse_qsl

from spartito.base.messages import Refused, complain
from spartito.view import page, wire
from spartito.view.pool import Answers, Pool
from spartito.view.wire import Answer, Bad, Request, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import Any

    from spartito.view.live import Live, Loader
    from spartito.view.pool import Experiment

TIMEOUT_HEAD = 10.0  # s from a request's first byte to its last
TIMEOUT_IDLE = 60.0  # s between requests of a connection
TIMEOUT_WRITE = 30.0  # s until the client has received a part of an answer
IDLE = 1.0  # s after which a connection without a request may be closed at the limit of connections
PART = 64 << 10  # bytes of an answer that are written to the socket at a time
MAX_CONNECTIONS = 12_000  # open at the same time
SPARE = 64  # descriptors reserved for other purposes
KIND = re.compile(r"data/(?:([1-9][0-9]{0,8})/)?([a-z]+)(?:\?(.*))?\Z")  # the number: a version (live.py)
LIVE = re.compile(r"live\?version=([0-9]{1,9})&paused=([01])\Z")
FIRST = ("facts", "regions", "flat", "tree")  # kinds that every page queries; the answers are made while the browser starts
DENIED = "Not allowed: use the address that `spartito view` printed, whole."
OTHER_SITES = ("cross-site", "same-site")  # values of Sec-Fetch-Site for requests of pages of other sites


class Connection:
    """A connection of a browser. since: time in seconds of its last progress."""

    __slots__ = ("gone", "phase", "since", "writer")

    def __init__(self, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self.writer = writer
        self.gone = gone  # set when the client has closed its end
        self.phase = "idle"  # idle, head (receives a request), work (makes the answer), write
        self.since = time.monotonic()

    def now(self, phase: str) -> None:
        self.phase = phase
        self.since = time.monotonic()

    def abort(self) -> None:
        self.writer.transport.abort()


class Protocol(asyncio.StreamReaderProtocol):
    """Sets `gone` as soon as the client closes the connection, even while no one reads from it."""

    def __init__(self, reader: asyncio.StreamReader, gone: asyncio.Event) -> None:
        super().__init__(reader)
        self.gone = gone

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


class Server:
    def __init__(
        self, experiment: Experiment, *, token: str = "", names: Sequence[str] = (), loader: Loader | None = None
    ) -> None:
        """token: part of the address (default: a random one). names: further host names that requests may have, NAME or NAME:PORT,
        for proxies. loader: of a run that has not ended; the experiment is its first version. Refused: this Spartito was built
        without the viewer."""
        self.token = token or secrets.token_urlsafe(32)
        self.names = [name.lower() for name in names]
        self.static = {
            "": Answer(200, "text/html; charset=utf-8", page.index().encode()),
            "app.js": Answer(200, "text/javascript; charset=utf-8", page.asset("app.js")),
            "more.js": Answer(200, "text/javascript; charset=utf-8", page.asset("more.js")),
            "app.css": Answer(200, "text/css; charset=utf-8", page.asset("app.css")),
        }
        pool = Pool()
        self.answers: Answers | None = None  # None: self.live has them
        self.live: Live | None = None
        if loader is None:
            self.answers = Answers(experiment, pool)
        else:
            from spartito.view.live import Live

            self.live = Live(loader, experiment, pool)
        self.connections: set[Connection] = set()
        self.max_connections = MAX_CONNECTIONS
        self.freed: asyncio.Event | None = None  # set when a connection has ended; created in the loop that waits for it
        self.port = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.listening: socket.socket | None = None

    # ---- access control

    def _known_name(self, host: str) -> bool:
        host = host.lower()
        if host in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return True
        name = host.rsplit(":", 1)[0] if re.search(r":\d+\Z", host) else host
        return host in self.names or name in self.names

    def _check(self, request: Request) -> str:
        """The path and query of a request without the token. Bad: the request is not allowed."""
        headers = request.headers
        host = headers.get("host", "")
        if not self._known_name(host):
            raise Bad(403, DENIED)
        path, slash, rest = request.target[1:].partition("/")
        if not hmac.compare_digest(path.encode(), self.token.encode()):
            raise Bad(403, DENIED)
        if not slash:
            raise Bad(301, self.token + "/")
        wanted = "" if rest.startswith("?") else rest  # the query of the page itself may be Jupyter's token
        if "origin" in headers and headers["origin"].partition("://")[2].lower() != host.lower():
            raise Bad(403, DENIED)
        # other sites may only link to the page
        linked = wanted == "" and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if headers.get("sec-fetch-site") in OTHER_SITES and not linked:
            raise Bad(403, DENIED)
        return wanted

    def _answers(self, version: str | None = None) -> Answers:
        """The answers of that version; None: of the newest one. Bad: the version is not kept any more."""
        if self.live:
            return self.live.answers(int(version or self.live.newest))
        assert self.answers
        return self.answers

    async def _answer(self, request: Request) -> Answer:
        wanted = self._check(request)
        live, polled = self.live, LIVE.match(wanted)
        if live and wanted == "":
            return Answer(200, "text/html; charset=utf-8", page.index(live.newest if live.running else None).encode())
        if live and polled:
            state = live.state(int(polled[1]), polled[2] == "1")
            return Answer(200, "application/json", json.dumps(state).encode())
        if wanted in self.static:
            return self.static[wanted]
        asked = KIND.match(wanted)
        if not asked or (asked[1] and not live):
            raise Bad(404, "There is no such page.")
        answers = self._answers(asked[1])
        try:
            given = parse_qsl(asked[3] or "", keep_blank_values=True, strict_parsing=bool(asked[3]), max_num_fields=32)
        except ValueError:
            raise Bad(400, "The query cannot be read.") from None
        if len(dict(given)) != len(given):
            raise Bad(400, "A parameter is given twice.")
        return Answer(200, "application/octet-stream", await answers.get(asked[2], dict(given)))

    async def _answered(self, request: Request) -> Answer:
        """The answer to a request; exceptions become error responses."""
        from spartito._analyse import Error

        try:
            return await self._answer(request)
        except Bad as e:
            if e.status == 301:
                return sentence(301, "The page is there.", [("Location", str(e))])
            return sentence(e.status, str(e))
        except Refused as e:
            return sentence(400, str(e))
        except Error as e:
            return sentence(422, str(e))
        except Exception as e:
            complain(f"view: internal error in the answer to {request.target.rpartition('/')[2]!r}: {e!r}")
            traceback.print_exc(file=sys.stderr)
            return sentence(500, f"Internal error: {e!r}. The terminal of `spartito view` shows details.")

    # ---- connections

    async def _send(self, c: Connection, answer: Answer, keep: bool, body: bool) -> None:
        c.now("write")
        c.writer.write(answer.head(keep))
        left = memoryview(answer.body) if body else memoryview(b"")
        while left:
            c.writer.write(left[:PART])
            left = left[PART:]
            await c.writer.drain()
            c.since = time.monotonic()
        await c.writer.drain()

    async def _request(self, c: Connection, reader: asyncio.StreamReader) -> bytes:
        """The head of the next request; b"": the client has closed the connection."""
        c.now("idle")
        first = await reader.read(1)
        if not first:
            return b""
        c.now("head")
        try:
            return first + await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise Bad(431, "The request is too long.") from None

    async def _drain_refused(self, c: Connection, reader: asyncio.StreamReader) -> None:
        """Reads the rest of a refused request. A socket closed with unread data resets the connection, so the client would lose the
        error message."""
        c.now("head")
        c.writer.write_eof()
        for _ in range(64):
            if not await reader.read(PART):
                return

    async def _unless_gone(self, c: Connection, answering: Coroutine[Any, Any, Answer]) -> Answer | None:
        """The answer. None: the client has closed the connection meanwhile; work that has not begun is cancelled."""
        working = asyncio.ensure_future(answering)
        gone = asyncio.ensure_future(c.gone.wait())
        try:
            await asyncio.wait([working, gone], return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            gone.cancel()
            if not working.done():
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)

    async def _serve(self, c: Connection, reader: asyncio.StreamReader) -> None:
        keep = True
        while keep:
            try:
                head = await self._request(c, reader)
                if not head:
                    return
                c.now("work")
                request = wire.parse(head)
            except Bad as e:
                extra = [("Allow", "GET, HEAD")] if e.status == 405 else []
                await self._send(c, sentence(e.status, str(e), extra), False, True)
                await self._drain_refused(c, reader)
                return
            # programs other than browsers may close their sending end and still receive
            browser = "sec-fetch-mode" in request.headers
            answer = await (self._unless_gone(c, self._answered(request)) if browser else self._answered(request))
            if answer is None:
                return
            keep = request.keep
            await self._send(c, answer, keep, request.method != "HEAD")

    async def _connection(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=wire.MAX_HEAD)
        gone = asyncio.Event()
        protocol = Protocol(reader, gone)
        c: Connection | None = None
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
            c = Connection(asyncio.StreamWriter(transport, protocol, reader, loop), gone)
            self.connections.add(c)
            await self._serve(c, reader)
            c.writer.close()
            await c.writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has closed the connection
        finally:
            if c is not None:
                self.connections.discard(c)
                c.writer.close()
            else:
                sock.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if self.freed is not None:
            self.freed.set()

    def _sweep(self) -> None:
        """Closes connections whose timeout is over. At the limit of connections, closes half of the idle ones, longest idle
        first."""
        now = time.monotonic()
        timeouts = {"idle": TIMEOUT_IDLE, "head": TIMEOUT_HEAD, "write": TIMEOUT_WRITE}
        for c in list(self.connections):
            if now - c.since > timeouts.get(c.phase, float("inf")):
                c.abort()
        if len(self.tasks) < self.max_connections:
            return
        waiting = [c for c in self.connections if c.phase in ("idle", "head") and now - c.since > IDLE]
        waiting.sort(key=lambda c: c.since)
        for c in waiting[: max(1, len(waiting) // 2)]:
            c.abort()

    async def _sweeping(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.5)
            # do not count time in which the machine or this process was suspended
            late = time.monotonic() - before - 0.5
            for c in self.connections:
                c.since += late
            self._sweep()

    async def _accepting(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self.freed = asyncio.Event()
        while True:
            while len(self.tasks) >= self.max_connections:
                self.freed.clear()
                await self.freed.wait()
            try:
                accepted, _ = await loop.sock_accept(sock)
            except OSError as e:
                if e.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED):
                    raise
                await asyncio.sleep(0.1)  # _sweep() closes connections meanwhile
                continue
            task = asyncio.ensure_future(self._connection(accepted))
            self.tasks.add(task)
            task.add_done_callback(self._ended)

    # ---- start and end

    def bind(self, port: int = 0) -> None:
        """Listens on the port, 0: a free one. Refused: the port cannot be used."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
            sock.listen(4096)
        except OSError as e:
            sock.close()
            if e.errno == errno.EADDRINUSE:
                raise Refused(f"port {port} is taken: name another with --port, or leave it out for a free one") from None
            raise Refused(f"port {port} cannot be used: {e.strerror}") from None
        sock.setblocking(False)
        self.listening = sock
        self.port = int(sock.getsockname()[1])
        self.max_connections = min(MAX_CONNECTIONS, _descriptors() - SPARE)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    async def serve(self, stop: asyncio.Event) -> None:
        """Serves until stop is set. Call bind() first."""
        assert self.listening is not None
        loops = [asyncio.ensure_future(self._accepting(self.listening)), asyncio.ensure_future(self._sweeping())]
        if self.live:
            loops.append(asyncio.ensure_future(self.live.run()))
        first = [asyncio.ensure_future(self._answers().get(kind, {})) for kind in FIRST]
        try:
            stopped = asyncio.ensure_future(stop.wait())
            await asyncio.wait([stopped, *loops], return_when=asyncio.FIRST_COMPLETED)
            for loop in loops:
                if loop.done():
                    loop.result()
        finally:
            self.listening.close()
            for task in (*loops, *first, *self.tasks):
                task.cancel()
            await asyncio.gather(*loops, *first, *self.tasks, return_exceptions=True)


def _descriptors() -> int:
    """The limit of open files of this process, after raising it as far as needed and allowed."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + SPARE if hard == resource.RLIM_INFINITY else min(hard, MAX_CONNECTIONS + SPARE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return soft
        return wanted
    return wanted
