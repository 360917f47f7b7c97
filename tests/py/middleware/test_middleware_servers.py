# SPDX-License-Identifier: BSD-3-Clause
"""The middleware in real servers, with their usual command lines: uvicorn with FastAPI, gunicorn with workers and threads,
and the recipes of docs/guides/requests.md for Flask and Django."""

import concurrent.futures
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from conftest import ROOT
from requests_made import ASKING, ASKING_QUERY, TOKEN, pages_in, regions, until

SHOP = f"""
import asyncio
import threading
import time
from spartito.middleware import ASGIMiddleware, WSGIMiddleware

def work(n):
    return sum(range(n))

def flat(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return (b"%d\\n" % work(n) for n in range(3))

wsgi = WSGIMiddleware(flat, "pages", token={TOKEN!r}, keep=4)

def asgi():
    from fastapi import FastAPI
    from fastapi.responses import StreamingResponse
    shop = FastAPI()

    @shop.get("/items/{{number}}")
    async def item(number: int):
        await asyncio.sleep(0.001)
        return work(number)

    @shop.get("/thread")
    def in_thread():
        return work(4)

    @shop.get("/stream")
    async def stream():
        async def parts():
            for n in range(3):
                await asyncio.sleep(0)
                yield b"%d" % n
        return StreamingResponse(parts())

    @shop.get("/fails")
    async def fails():
        raise ValueError("as meant")

    return ASGIMiddleware(shop, "pages", token={TOKEN!r})
"""


class Server:
    """A server of the module shop, as a process. text: of the module."""

    def __init__(self, cwd, *command, text=SHOP):
        (cwd / "shop.py").write_text(text)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        words = [word.replace("PORT", str(self.port)) for word in command]
        self.log = cwd / "log"
        env = {**os.environ, "HOME": str(cwd), "PROFILE_TOKEN": TOKEN}  # gunicorn puts a socket into HOME
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([sys.executable, "-m", *words], cwd=cwd, env=env, stdout=log, stderr=log)
        until(self.answers)

    def answers(self):
        assert self.process.poll() is None
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def get(self, path, headers=None):
        """The answer of the server: status, headers and body."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=100) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as e:
            with e:
                return e.code, e.headers, e.read()

    def end(self):
        """Ends the server as Ctrl-C does; returns its log."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(100)
        return self.log.read_text()


@pytest.fixture
def serve(tmp_path):
    servers = []

    def serve(*command, **keywords):
        servers.append(Server(tmp_path, *command, **keywords))
        return servers[-1]

    yield serve
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


def measured(server, path, headers=ASKING):
    """The answer of a request that is measured. The page of the request before may have to be made first."""
    found = []

    def asked():
        found[:] = server.get(path, headers)
        return found[0] != 503 and not found[1].get("X-Spartito", "").startswith("not measured")

    until(asked)
    return found


def test_uvicorn(serve, tmp_path):
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    server = serve("uvicorn", "--factory", "shop:asgi", "--port", "PORT")
    expected = server.get("/items/5")
    answer = measured(server, "/items/5")
    assert expected[0] == answer[0] == 200 and expected[2] == answer[2] == b"10"
    assert measured(server, "/stream")[2] == b"012"
    assert measured(server, "/fails")[:1] == [500]
    page = measured(server, "/thread?" + ASKING_QUERY, {})
    (tmp_path / "page.html").write_bytes(page[2])
    assert {"GET /thread", "shop:asgi.<locals>.in_thread", "shop:work"} <= regions(tmp_path / "page.html")
    log = server.end()  # which waits for the last page
    pages = pages_in(tmp_path / "pages")
    assert [path.name.split("-GET-")[1] for path in pages] == ["items-5.html", "stream.html", "fails.html"]
    assert answer[1]["X-Spartito"] == pages[0].name
    assert {"GET /items/5", "shop:asgi.<locals>.item"} <= regions(pages[0])
    assert {"GET /stream", "shop:asgi.<locals>.stream.<locals>.parts"} <= regions(pages[1])
    assert "ValueError: as meant" in log and "there is no page" not in log


def test_gunicorn_with_workers_and_threads(serve, tmp_path):
    """The workers share the directory and its limit. Threads of a worker serve other requests meanwhile."""
    pytest.importorskip("gunicorn")
    server = serve("gunicorn", "--workers", "2", "--threads", "2", "--bind", "127.0.0.1:PORT", "shop:wsgi")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: server.get(f"/{n}", ASKING if n % 2 else {}), range(24)))
    assert {(status, body) for status, _, body in answers} == {(200, b"0\n0\n1\n")}
    asked = [headers["X-Spartito"] for _, headers, _ in answers[1::2]]
    assert all(headers["X-Spartito"] is None for _, headers, _ in answers[::2]) and None not in asked
    names = {name for name in asked if name.endswith(".html")} | {measured(server, "/last")[1]["X-Spartito"]}
    server.end()
    pages = pages_in(tmp_path / "pages")
    assert 1 <= len(pages) == min(4, len(names)) and {page.name for page in pages} <= names
    for page in pages:
        assert {"shop:flat", "shop:work"} <= regions(page)


FLASK = """
import os
from flask import Flask
app = Flask(__name__)

def work(n):
    return sum(range(n))

@app.get("/items/<int:number>")
def item(number):
    return str(work(number))
"""
DJANGO = """
import os
from django.conf import settings
from django.http import HttpResponse
from django.urls import path
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="of the tests")

def work(n):
    return sum(range(n))

def item(request, number):
    return HttpResponse(str(work(number)))

urlpatterns = [path("items/<int:number>", item)]
"""


def recipe(framework):
    """The code of a recipe in the guide."""
    page = (ROOT / "docs/guides/requests.md").read_text()
    return re.search(rf"^\*\*{framework}\b.*?^```python\n(.*?)^```", page, re.M | re.S)[1]


@pytest.mark.parametrize("framework, text, name", [("Flask", FLASK, "app"), ("Django", DJANGO, "application")])
def test_a_recipe_of_the_guide(serve, tmp_path, framework, text, name):
    pytest.importorskip(framework.lower())
    pytest.importorskip("gunicorn")
    server = serve("gunicorn", "--bind", "127.0.0.1:PORT", f"shop:{name}", text=text + recipe(framework))
    assert measured(server, "/items/5")[::2] == [200, b"10"]
    until(lambda: pages_in(tmp_path / "profiles"))  # gunicorn does not wait for it when it is interrupted
    server.end()
    (page,) = pages_in(tmp_path / "profiles")
    assert {"GET /items/5", "shop:item", "shop:work"} <= regions(page)
