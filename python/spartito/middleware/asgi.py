# SPDX-License-Identifier: BSD-3-Clause
"""Middleware for ASGI applications: Starlette, FastAPI, Django, Quart and others, on asyncio and uvloop."""

from __future__ import annotations

import asyncio

from spartito.base.messages import Refused
from spartito.middleware.profiler import BUSY, HEADER, Asked, Measurement, Profiler, region_name
from spartito.user import await_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import Any

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

_NAME = HEADER.lower().encode()


async def _discard(message: Message) -> None:
    """The send() of an application whose response is not sent."""


def _with_header(send: Send, value: str) -> Send:
    async def send_with_header(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (_NAME, value.encode())]}
        await send(message)

    return send_with_header


async def _respond(send: Send, status: int, body: bytes, kind: str) -> None:
    headers = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class ASGIMiddleware(Profiler):
    """An ASGI application that serves `app` and profiles some of its requests. A measurement covers the call of the application,
    with background tasks that the call waits for. Websockets and the lifespan are passed through."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        header = next((value.decode("latin-1") for name, value in scope["headers"] if name.lower() == _NAME), None)
        asked = self.choose(header, scope.get("query_string", b"").decode("latin-1"))
        if asked is None:
            await self.app(scope, receive, send)
        else:
            await self._chosen(asked, scope, receive, send)

    async def _chosen(self, asked: Asked, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        measurement = self.begin(region_name(scope["method"], scope["path"]))
        if asked.returned:
            scope = {**scope, "query_string": asked.query.encode("latin-1")}
            await self._return_page(measurement, scope, receive, send)
            return
        if asked.by == "token":
            send = _with_header(send, measurement.file if measurement else BUSY)
        if measurement is None:
            await self.app(scope, receive, send)
            return
        try:
            await self._measured(measurement, scope, receive, send)
        finally:
            self.page(measurement, keep=True)

    async def _measured(self, measurement: Measurement, scope: Message, receive: Receive, send: Send) -> None:
        # the recorder knows a task from the begin of its next step on: otherwise it would miss the first wait of the request
        await asyncio.sleep(0)
        await await_in(measurement.region, self.app, scope, receive, send)

    async def _return_page(self, measurement: Measurement | None, scope: Message, receive: Receive, send: Send) -> None:
        if measurement is None:
            await _respond(send, 503, f"{BUSY}; ask again\n".encode(), "text/plain")
            return
        try:
            await self._measured(measurement, scope, receive, _discard)
        except BaseException:
            self.page(measurement, keep=True)  # the client gets the server's answer to the exception
            raise
        try:
            body = await asyncio.wrap_future(self.page(measurement, keep=False))
        except Refused as e:
            await _respond(send, 500, f"there is no page: {e}\n".encode("utf-8", "backslashreplace"), "text/plain")
        else:
            await _respond(send, 200, body, "text/html")
