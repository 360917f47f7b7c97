# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of the middleware: clients without a server, and what the pages contain."""

import asyncio
import threading
import time

from spartito.view import payload
from test_view_html import Page

TOKEN = "a token of the tests"
ASKING = {"X-Spartito": TOKEN}
ASKING_QUERY = "spartito=a+token+of%20the+tests"


def regions(page):
    """The names of the regions in a page."""
    return set(payload.unpack(Page(page).blocks["regions"])[0]["names"])


def settled():
    """Waits until the pages of all requests are made."""
    for thread in threading.enumerate():
        if thread.name == "spartito page":
            thread.join(100)
            assert not thread.is_alive()


def pages_in(directory):
    """The pages in a directory, in the order of their requests."""
    settled()
    return sorted(directory.glob("*.html"), key=lambda path: int(path.name.split("-")[3]))


def until(condition):
    end = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def scope(path="/", query="", headers=None, kind="http"):
    fields = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    return {"type": kind, "method": "GET", "path": path, "query_string": query.encode(), "headers": fields}


async def asgi(app, *words, **keywords):
    """Sends a request to an ASGI application; returns what it sent: status, headers and body."""
    sent = []

    async def receive():
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b""}

    async def send(message):
        await asyncio.sleep(0)
        sent.append(message)

    await app(scope(*words, **keywords), receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(message["body"] for message in sent[1:])
