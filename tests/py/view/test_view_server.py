# SPDX-License-Identifier: BSD-3-Clause
"""The server of `spartito view`: its answers, the requests it refuses, and that slow or hostile clients do not stall others."""

import asyncio
import contextlib
import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time

import pytest
from spartito.base.messages import Refused
from spartito.view import page, pool, server, wire

TOKEN = "t" * 43


class Fake:
    """An experiment that records each question, and blocks its answer until a test releases it."""

    def __init__(self):
        self.asked = []
        self.gate = threading.Event()
        self.begun = threading.Semaphore(0)

    def get(self, kind, parameters):
        self.asked.append((kind, dict(parameters)))
        if kind == "slow":
            self.begun.release()
            assert self.gate.wait(100)
        if kind == "refused":
            raise Refused("limit cannot be 'x': a number is needed")
        if kind == "broken":
            raise RuntimeError("oh")
        if kind == "large":
            return bytes(30_000_000)
        return json.dumps([kind, parameters]).encode()


class Running:
    def __init__(self, **options):
        self.fake = Fake()
        self.server = server.Server(self.fake, token=TOKEN, **options)
        self.server.bind()
        self.port = self.server.port
        self.thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.ready = threading.Event()
        self.thread.start()
        assert self.ready.wait(100)

    async def _run(self):
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        self.ready.set()
        await self.server.serve(self.stop)

    def close(self):
        self.fake.gate.set()
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(100)
        assert not self.thread.is_alive()

    def ask(self, path="", method="GET", host=None, **headers):
        """(status, headers, body) of the answer to /TOKEN/path."""
        return self.raw(f"/{TOKEN}/{path}", method, host, **headers)

    def raw(self, target, method="GET", host=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        with contextlib.closing(c):
            c.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            c.putheader("Host", host or f"127.0.0.1:{self.port}")
            for name, value in headers.items():
                c.putheader(name.replace("_", "-"), value)
            c.endheaders()
            r = c.getresponse()
            return r.status, dict(r.getheaders()), r.read()

    def bytes(self, data):
        """All bytes that the server sends in answer to these, until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), 100) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            parts = []
            while part := s.recv(1 << 16):
                parts.append(part)
            return b"".join(parts)


@pytest.fixture(scope="module", autouse=True)
def _static(tmp_path_factory):
    """A page made by the test, so that no node is needed."""
    folder = tmp_path_factory.mktemp("static")
    (folder / "app.js").write_text("script")
    (folder / "more.js").write_text("second")
    (folder / "app.css").write_text("style")
    before, page.STATIC = page.STATIC, str(folder)
    yield
    page.STATIC = before


PATIENCE = ("TIMEOUT_IDLE", "TIMEOUT_HEAD", "TIMEOUT_WRITE")


@pytest.fixture
def running(monkeypatch):
    for patience in PATIENCE:  # clients may be slow on a busy machine
        monkeypatch.setattr(server, patience, float("inf"))
    r = Running()
    yield r
    r.close()


def test_page_and_data(running):
    for path, kind, has in [
        ("", "text/html", b'src="app.js"'),
        ("app.js", "text/javascript", b"script"),
        ("more.js", "text/javascript", b"second"),
        ("app.css", "text/css", b"style"),
    ]:
        status, headers, body = running.ask(path)
        assert status == 200 and headers["Content-Type"].startswith(kind) and has in body
        assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert not [h for h in headers if h.lower().startswith("access-control")]
    status, headers, body = running.ask("data/tree?limit=7&name=a%26b")
    assert status == 200 and json.loads(body) == ["tree", {"limit": "7", "name": "a&b"}]
    status, headers, body = running.ask("data/tree", "HEAD")
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 0
    assert b"app.js" in running.ask("?token=of-jupyter")[2]
    assert running.ask(host=f"LOCALHOST:{running.port}")[0] == 200
    status, headers, _ = running.raw(f"/{TOKEN}")
    assert status == 301 and headers["Location"] == f"{TOKEN}/"


def test_what_cannot_be_answered_is_a_sentence(running, capfd):
    assert running.ask("data/refused") == (400, *running.ask("data/refused")[1:2], b"limit cannot be 'x': a number is needed\n")
    assert running.ask("data/tree?a=1&a=2")[0] == 400
    assert running.ask("data/tree?%")[0] == 400
    status, _, body = running.ask("data/broken")
    assert status == 500 and b"RuntimeError('oh')" in body
    assert "RuntimeError" in capfd.readouterr().err


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/x/",
        f"/{TOKEN[:-1]}/",
        f"/{TOKEN}x/",
        f"/{TOKEN.upper()}/",
        f"//{TOKEN}/",
        f"/./{TOKEN}/",
        f"/%74{TOKEN[1:]}/",
        "/favicon.ico",
        f"/data/facts?token={TOKEN}",
        f"/?{TOKEN}/",
    ],
)
def test_without_the_token_nothing_is_answered(running, path):
    status, headers, body = running.raw(path)
    assert status == 403 and body.decode().strip() == server.DENIED and TOKEN not in str(headers)


@pytest.mark.parametrize(
    "path",
    [
        "../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "app.js/../../server.py",
        "..%2fserver.py",
        "app.js%00",
        "/etc/passwd",
        "static/app.js",
        "data/",
        "data/../app.js",
        "data/%74ree",
        "data//tree",
        "data/tree/x",
        "data/__class__",
        "data/Tree",
        "app.js?x",
        "data\\tree",
    ],
)
def test_tricks_with_paths(running, path):
    status, _, body = running.ask(path)
    assert status == 404 and body == b"There is no such page.\n"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "localhost",
        "localhost:1",
        "127.0.0.1:{port}.evil.example",
        "evil.localhost:{port}",
        "127.0.0.1:{port}@evil.example",
        "0.0.0.0:{port}",
        "[::1]:{port}",
        " ",
        "127.1:{port}",
    ],
)
def test_a_name_that_leads_here_from_elsewhere(running, host):
    """DNS rebinding: the page of another site requests its own host name, which now resolves to this machine."""
    assert running.ask("data/facts", host=host.format(port=running.port))[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
    ],
)
def test_a_hostile_page_that_knows_the_token(running, headers):
    for path in ("", "app.js", "data/facts"):
        status, answered, body = running.ask(path, **headers)
        assert status == 403 and body.decode().strip() == server.DENIED
        assert not [h for h in answered if h.lower().startswith("access-control")]


def test_a_link_to_the_page_and_the_page_itself(running):
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert running.ask("", **link)[0] == 200
    assert running.ask("data/facts", **link)[0] == 403
    assert running.ask("data/facts", Sec_Fetch_Site="same-origin", Origin=f"http://127.0.0.1:{running.port}")[0] == 200


def test_the_name_of_a_proxy():
    running = Running(names=["hub.example", "other.example:81"])
    try:
        for host, status in [("hub.example", 200), ("Hub.example:8443", 200), ("other.example:81", 200), ("other.example:82", 403)]:
            assert running.ask(host=host)[0] == status
        assert running.ask("data/facts", host="hub.example", Origin="https://hub.example")[0] == 200
    finally:
        running.close()


HOST = b"Host: 127.0.0.1:%d\r\n"


@pytest.mark.parametrize(
    "status, head",
    [
        (405, b"POST /x HTTP/1.1\r\n%s\r\n"),
        (405, b"OPTIONS * HTTP/1.1\r\n%s\r\n"),
        (400, b"POST /x HTTP/1.1\r\n%sContent-Length: 300000\r\n\r\n" + b"x" * 300_000),
        (400, b"GET /x HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (400, b"GET http://127.0.0.1/x HTTP/1.1\r\n%s\r\n"),
        (400, b"GET  /x HTTP/1.1\r\n%s\r\n"),
        (400, b"GET /x\r\n%s\r\n"),
        (505, b"GET /x HTTP/2.0\r\n%s\r\n"),
        (400, b"GET /x HTTP/1.1\r\n%s%s\r\n"),
        (400, b"GET /x HTTP/1.1\r\n%sA: b\r\n c\r\n\r\n"),
        (400, b"GET /x HTTP/1.1\r\n%sA : b\r\n\r\n"),
        (400, b"GET /x HTTP/1.1\r\n%sA: \xff\r\n\r\n"),
        (400, b"GET /x HTTP/1.1\r\n%sA: b\nC: d\r\n\r\n"),
        (400, b"\r\n\r\n\r\n\r\n"),
        (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        (431, b"GET /x HTTP/1.1\r\n%sA: " + b"a" * 200_000 + b"\r\n\r\n"),
        (431, b"GET /" + b"a" * 200_000),
        (403, b"GET /x HTTP/1.1\r\n\r\n"),
    ],
)
def test_requests_that_the_page_does_not_send(running, status, head):
    answer = running.bytes(head.replace(b"%s", HOST % running.port))
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"Connection: close" in answer or status == 403


def test_several_requests_on_one_connection(running):
    one = b"GET /%s/data/tree HTTP/1.1\r\n%s\r\n" % (TOKEN.encode(), HOST % running.port)
    answer = running.bytes(one * 3 + one.replace(b"GET", b"HEAD") + one.replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert answer.count(b"HTTP/1.1 200 OK") == 5 and answer.count(b'["tree", {}]') == 4
    assert running.bytes(one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + one).count(b"200 OK") == 1


def test_slow_questions_are_asked_once_and_stall_nobody(running):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(running.ask("data/slow?limit=1"))) for _ in range(10)]
    for t in threads:
        t.start()
    assert running.fake.begun.acquire(timeout=100)
    assert running.ask("data/tree")[0] == 200  # while the slow answer is outstanding
    running.fake.gate.set()
    for t in threads:
        t.join(100)
    assert [a[0] for a in answers] == [200] * 10 and running.fake.asked.count(("slow", {"limit": "1"})) == 1


def test_a_client_that_leaves_takes_the_answer_from_nobody(running):
    with socket.create_connection(("127.0.0.1", running.port), 100) as s:
        s.sendall(b"GET /%s/data/slow HTTP/1.1\r\n%s\r\n" % (TOKEN.encode(), HOST % running.port))
        assert running.fake.begun.acquire(timeout=100)
    answers = []
    other = threading.Thread(target=lambda: answers.append(running.ask("data/slow")))
    other.start()
    running.fake.gate.set()
    other.join(100)
    assert answers[0][0] == 200


def test_what_a_page_no_longer_wants_is_not_done(running):
    fake, answers = running.fake, running.server.answers
    busy = [threading.Thread(target=running.ask, args=(f"data/slow?n={i}",)) for i in range(pool.THREADS)]
    for thread in busy:
        thread.start()
    for _ in busy:
        assert fake.begun.acquire(timeout=100)
    head = "GET /%s/data/tree?n=%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nSec-Fetch-Mode: cors\r\n\r\n"

    def until(wanted):
        end = time.monotonic() + 100
        while sorted(key for key in list(answers.asked) if key.startswith("tree")) != wanted:
            assert time.monotonic() < end
            time.sleep(0.01)

    with (
        socket.create_connection(("127.0.0.1", running.port), 100) as left,
        socket.create_connection(("127.0.0.1", running.port), 100) as stays,
    ):
        for s, n in ((left, 1), (stays, 2)):
            s.sendall((head % (TOKEN, n, running.port)).encode())
        until(["tree?n=1", "tree?n=2"])
        left.close()
        until(["tree?n=2"])
        fake.gate.set()
        assert b"200 OK" in stays.recv(1000)
    for thread in busy:
        thread.join(100)
    assert ("tree", {"n": "2"}) in fake.asked and ("tree", {"n": "1"}) not in fake.asked
    assert running.ask("data/tree?n=1")[0] == 200  # a repeated question is answered


def test_idle_slow_and_deaf_connections_stall_nobody(running):
    with contextlib.ExitStack() as stack:
        for i in range(300):
            s = stack.enter_context(socket.create_connection(("127.0.0.1", running.port), 100))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            if i % 3 == 1:  # an incomplete request
                s.sendall(b"GET /")
            if i % 3 == 2:  # a client that does not read its answer
                s.sendall(b"GET /%s/data/large HTTP/1.1\r\n%s\r\n" % (TOKEN.encode(), HOST % running.port))
        for _ in range(20):
            assert running.ask("data/tree")[0] == 200


def test_idle_connections_are_closed(running, monkeypatch):
    for patience, begin in (("TIMEOUT_HEAD", b"GET /x HTTP/1.1\r\n"), ("TIMEOUT_IDLE", b"")):
        monkeypatch.setattr(server, patience, 0.0)
        with socket.create_connection(("127.0.0.1", running.port), 100) as s:
            if begin:
                s.sendall(begin)  # sent at once: the time limit of the head begins with its first byte
            with contextlib.suppress(ConnectionResetError):
                assert s.recv(1) == b""


def test_a_full_table_makes_room(running, monkeypatch):
    monkeypatch.setattr(server, "IDLE", 0.0)
    running.server.max_connections = 20
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port), 100))
        assert running.ask("data/tree")[0] == 200
        assert len(running.server.connections) <= 20


HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
MANY = 10_000 if HARD == resource.RLIM_INFINITY else min(10_000, HARD - 200)
# in a separate process: each end of a connection needs a descriptor
CLIENTS = """
import asyncio, resource, sys
n, port, request = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (n + 100 if hard == resource.RLIM_INFINITY else min(hard, n + 100), hard))
asked = 0
async def one():
    global asked
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    asked += 1
    if asked == n:
        print("all have asked", flush=True)
    answer = await reader.read()
    writer.close()
    return answer.startswith(b"HTTP/1.1 200 OK") and answer.endswith(b'["slow", {}]')
async def everyone():
    return await asyncio.gather(*(one() for _ in range(n)))
print(sum(asyncio.run(everyone())))
"""


def test_ten_thousand_requests_at_once(running):
    """All clients have sent their request before the first answer is given."""
    request = f"GET /{TOKEN}/data/slow HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nConnection: close\r\n\r\n"
    words = [sys.executable, "-c", CLIENTS, str(MANY), str(running.port), request]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as clients:
        assert clients.stdout.readline() == "all have asked\n"
        running.fake.gate.set()
        assert clients.stdout.readline() == f"{MANY}\n"
    assert running.fake.asked.count(("slow", {})) == 1


def test_a_port_that_is_taken():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        with pytest.raises(Refused, match=f"port {port} is taken"):
            server.Server(Fake()).bind(port)


def test_only_the_loopback_interface(running):
    assert running.server.listening.getsockname()[0] == "127.0.0.1"
    # each server has another token
    tokens = {server.Server(Fake()).token for _ in range(50)}
    assert len(tokens) == 50 and min(map(len, tokens)) >= 43


def test_a_build_without_the_page(monkeypatch):
    monkeypatch.setattr(page, "STATIC", os.devnull + "x")
    with pytest.raises(Refused, match="built without the viewer"):
        server.Server(Fake())


def test_heads_are_read_strictly():
    request = wire.parse(b"GET /a?b HTTP/1.1\r\nHost: x\r\nAccept:  */* \r\n\r\n")
    assert (request.method, request.target, request.headers, request.keep) == ("GET", "/a?b", {"host": "x", "accept": "*/*"}, True)
