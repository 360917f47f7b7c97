# SPDX-License-Identifier: BSD-3-Clause
"""spartito.middleware.WSGIMiddleware: which requests are measured, what clients get, and what the pages contain."""

import io
import threading
import urllib.request
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.util import FileWrapper, setup_testing_defaults

import pytest
import spartito
from requests_made import ASKING, ASKING_QUERY, TOKEN, pages_in, regions, settled
from spartito.middleware import WSGIMiddleware


def work(n):
    return sum(range(n))


class Stream:
    """A body that is computed meanwhile. calls: of its methods."""

    def __init__(self, calls, error=None):
        self.calls, self.error = calls, error

    def __iter__(self):
        for n in range(3):
            work(n)
            yield b"%d" % n
        if self.error:
            raise self.error

    def close(self):
        self.calls.append("close")


def environment(path="/", query="", headers=None):
    environ = {"PATH_INFO": path.encode().decode("latin-1"), "QUERY_STRING": query, "wsgi.file_wrapper": FileWrapper}
    setup_testing_defaults(environ)
    environ.update({"HTTP_" + name.upper().replace("-", "_"): value for name, value in (headers or {}).items()})
    return environ


def answer(make):
    """An application that answers with the body that make() returns."""

    def app(environ, start_response):
        work(5)
        start_response("201 Created", [("X-Own", "1")])
        return make()

    return app


class Client:
    """start_response() of a server: what the application gave it."""

    def __call__(self, status, headers, exc_info=None):
        self.status, self.headers = status, dict(headers)


@pytest.mark.parametrize("token", [None, TOKEN])
def test_requests_that_do_not_ask_are_passed_on(tmp_path, token):
    calls, body = [], object()

    def app(*arguments):
        calls.append(arguments)
        return body

    middleware = WSGIMiddleware(app, tmp_path / "pages", token=token)
    wrong = {"X-Spartito": TOKEN + "-"} if token else ASKING
    start_response = object()
    for environ in (environment(), environment(headers=wrong), environment(query="spartito=x")):
        before = dict(environ)
        assert middleware(environ, start_response) is body
        assert calls.pop() == (before, start_response)
    assert (middleware.counts["requests"], middleware.counts["refused"]) == (3, 2 if token else 0)
    assert middleware.counts["measured"] == 0 and not (tmp_path / "pages").exists()


def test_a_body_that_is_complete_stays_the_same_object(tmp_path):
    """Servers derive Content-Length from a list of one block, and send files with the system call sendfile."""
    for number, body in enumerate(([b"one"], FileWrapper(io.BytesIO(b"of a file")))):
        middleware, client = WSGIMiddleware(answer(lambda body=body: body), tmp_path, token=TOKEN), Client()
        assert middleware(environment(f"/ö{number}", headers=ASKING), client) is body
        page = pages_in(tmp_path)[-1]
        assert (client.status, client.headers) == ("201 Created", {"X-Own": "1", "X-Spartito": page.name})
        assert {f"GET /ö{number}", __name__ + ":work"} <= regions(page)


@pytest.mark.parametrize("asked", [3, 1], ids=["whole", "closed early"])
def test_a_stream_is_measured_until_it_is_closed(tmp_path, asked):
    calls, client = [], Client()
    middleware = WSGIMiddleware(answer(lambda: Stream(calls)), tmp_path, every=1)
    body = middleware(environment("/stream"), client)
    parts = iter(body)
    assert [next(parts) for _ in range(asked)] == [b"0", b"1", b"2"][:asked]
    assert spartito.active() and client.headers == {"X-Own": "1"}
    body.close()
    body.close()
    assert not spartito.active() and calls == ["close", "close"]
    (page,) = pages_in(tmp_path)
    assert {"GET /stream", __name__ + ":Stream.__iter__", __name__ + ":Stream.close"} <= regions(page)


@pytest.mark.parametrize("asking", ["", ASKING_QUERY], ids=["header", "query"])
def test_exceptions_pass_through(tmp_path, asking):
    errors = ValueError("in the body"), KeyError("in the call")
    calls = []

    def raises():
        raise errors[1]

    middleware = WSGIMiddleware(answer(lambda: Stream(calls, errors[0])), tmp_path, token=TOKEN)
    with pytest.raises(ValueError) as raised:
        body = middleware(environment("/body", asking, ASKING), Client())
        try:
            list(body)
        finally:
            body.close()
    assert raised.value is errors[0] and calls == ["close"]
    settled()
    middleware.app = answer(raises)
    with pytest.raises(KeyError) as raised:
        middleware(environment("/call", asking, ASKING), Client())
    assert raised.value is errors[1] and not spartito.active()
    assert [page.name.split("-GET-")[1] for page in pages_in(tmp_path)] == ["body.html", "call.html"]


def test_a_query_returns_the_page_instead(tmp_path):
    calls, seen, client = [], [], Client()

    def app(environ, start_response):
        seen.append(environ["QUERY_STRING"])
        start_response("200 OK", [])(b"written")
        return Stream(calls)

    middleware = WSGIMiddleware(app, tmp_path / "pages", token=TOKEN)
    (page,) = middleware(environment("/slow", ASKING_QUERY), client)
    assert seen == [""] and calls == ["close"]
    assert (client.status, client.headers["Content-Type"]) == ("200 OK", "text/html; charset=utf-8")
    (tmp_path / "page.html").write_bytes(page)
    assert {"GET /slow", __name__ + ":Stream.__iter__"} <= regions(tmp_path / "page.html")
    with spartito.measure(str(tmp_path / "own")):
        (text,) = middleware(environment("/slow", ASKING_QUERY), client)
    assert client.status == "503 Service Unavailable" and text.startswith(b"not measured") and len(calls) == 1


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def test_a_server_sends_the_same_with_it(tmp_path):
    def exchange(app, headers):
        with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
            thread = threading.Thread(target=server.handle_request)
            thread.start()
            request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}/", headers=headers)
            with urllib.request.urlopen(request, timeout=100) as response:
                found = response.status, dict(response.headers), response.read()
            thread.join()
        found[1].pop("Date")
        return found

    for make in (lambda: [b"one block"], lambda: Stream([])):
        app = answer(make)
        expected = exchange(app, {})
        assert exchange(WSGIMiddleware(app, tmp_path, every=1), {}) == expected
        settled()
        status, headers, body = exchange(WSGIMiddleware(app, tmp_path, token=TOKEN), ASKING)
        assert headers.pop("X-Spartito") == pages_in(tmp_path)[-1].name
        assert (status, headers, body) == expected
