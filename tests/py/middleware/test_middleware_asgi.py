# SPDX-License-Identifier: BSD-3-Clause
"""spartito.middleware.ASGIMiddleware: which requests are measured, what clients get, and what the pages contain."""

import asyncio
import logging

import pytest
import spartito
from requests_made import ASKING, ASKING_QUERY, TOKEN, asgi, pages_in, regions, scope, settled, until
from spartito.middleware import ASGIMiddleware

BODY = b"first second"


def work(n):
    return sum(range(n))


async def query():
    await asyncio.sleep(0.001)
    return work(10)


class Application:
    """Answers with a stream of two parts. before: awaited between them."""

    def __init__(self, before=query):
        self.before = before
        self.scopes = []

    async def __call__(self, scope, receive, send):
        self.scopes.append(scope)
        await receive()
        await send({"type": "http.response.start", "status": 201, "headers": [(b"x-own", b"1")]})
        await send({"type": "http.response.body", "body": BODY[:6], "more_body": True})
        await self.before()
        await send({"type": "http.response.body", "body": BODY[6:]})


@pytest.mark.parametrize("token", [None, TOKEN])
def test_requests_that_do_not_ask_are_passed_on(tmp_path, token):
    calls = []

    async def app(*arguments):
        calls.append(arguments)

    middleware = ASGIMiddleware(app, tmp_path / "pages", token=token)
    wrong = {"X-Spartito": TOKEN[:-1]} if token else ASKING
    scopes = [scope(), scope(headers=wrong), scope(query="spartito=&a=1"), scope(kind="websocket"), {"type": "lifespan"}]
    receive, send = object(), object()
    for one in scopes:
        asyncio.run(middleware(one, receive, send))
    assert [tuple(map(id, call)) for call in calls] == [(id(one), id(receive), id(send)) for one in scopes]
    refused = 2 if token else 0
    assert middleware.counts == {**dict.fromkeys(middleware.counts, 0), "requests": 3, "refused": refused}
    assert not (tmp_path / "pages").exists()


def test_a_header_stores_a_page(tmp_path):
    middleware = ASGIMiddleware(Application(), tmp_path / "pages", token=TOKEN)
    status, headers, body = asyncio.run(asgi(middleware, "/items/7/\n\ud800ö", "a=1", ASKING))
    (page,) = pages_in(tmp_path / "pages")
    assert (status, headers, body) == (201, {"x-own": "1", "x-spartito": page.name}, BODY)
    assert page.name.endswith("-GET-items-7.html") and (tmp_path / "pages").stat().st_mode & 0o77 == 0
    own = __name__ + ":"
    assert {"GET /items/7/??ö", own + "query", own + "work", own + "Application.__call__"} <= regions(page)
    assert middleware.counts["measured"] == middleware.counts["pages"] == 1


def test_a_query_returns_the_page_instead(tmp_path):
    app = Application()
    middleware = ASGIMiddleware(app, tmp_path / "pages", token=TOKEN)
    status, headers, body = asyncio.run(asgi(middleware, "/slow", f"a=1&{ASKING_QUERY}&b=2"))
    assert (status, headers["content-type"], headers["content-length"]) == (200, "text/html; charset=utf-8", str(len(body)))
    assert app.scopes[0]["query_string"] == b"a=1&b=2"
    (tmp_path / "page.html").write_bytes(body)
    assert {"GET /slow", __name__ + ":work"} <= regions(tmp_path / "page.html")
    assert pages_in(tmp_path / "pages") == [] and not spartito.active()


def test_one_request_at_a_time(tmp_path):
    async def both():
        gate, begun = asyncio.Event(), asyncio.Event()

        async def before():
            begun.set()
            await gate.wait()

        app = Application(before)
        middleware = ASGIMiddleware(app, tmp_path / "pages", token=TOKEN)
        first = asyncio.create_task(asgi(middleware, "/first", headers=ASKING))
        await begun.wait()
        refused = await asgi(middleware, "/third", ASKING_QUERY)
        assert len(app.scopes) == 1 and refused[0] == 503 and b"another measurement" in refused[2]
        second = asyncio.create_task(asgi(middleware, "/second", headers=ASKING))
        await asyncio.sleep(0)
        gate.set()
        return middleware, await first, await second

    middleware, first, second = asyncio.run(both())
    (page,) = pages_in(tmp_path / "pages")
    assert first[1]["x-spartito"] == page.name and second[1]["x-spartito"].startswith("not measured")
    assert first[2] == second[2] == BODY
    assert [name for name in regions(page) if name.startswith("GET")] == ["GET /first"]
    assert (middleware.counts["measured"], middleware.counts["busy"]) == (1, 2)


@pytest.mark.parametrize("asking", ["", ASKING_QUERY], ids=["header", "query"])
def test_exceptions_and_cancellation_pass_through(tmp_path, asking):
    error = ValueError("of the application")

    async def fails():
        raise error

    middleware = ASGIMiddleware(Application(fails), tmp_path, token=TOKEN)
    with pytest.raises(ValueError) as raised:
        asyncio.run(asgi(middleware, "/fails", asking, ASKING))
    assert raised.value is error
    settled()

    async def cancelled():
        middleware.app = Application(asyncio.Event().wait)
        task = asyncio.create_task(asgi(middleware, "/cancelled", asking, ASKING))
        while not middleware.app.scopes:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [page.name.split("-GET-")[1] for page in pages_in(tmp_path)] == ["fails.html", "cancelled.html"]


def test_samples_and_the_number_of_pages(tmp_path, caplog):
    (tmp_path / "own.html").write_text("not of Spartito")
    middleware = ASGIMiddleware(Application(), tmp_path, every=2, keep=1)
    for number in range(5):
        status, headers, body = asyncio.run(asgi(middleware, f"/{number}"))
        assert (status, headers, body) == (201, {"x-own": "1"}, BODY)
        settled()
    (page,) = sorted(tmp_path.glob("2*.html"))
    assert page.name.endswith("-GET-3.html") and (tmp_path / "own.html").exists()
    expected = {"requests": 5, "measured": 2, "pages": 2, "removed": 1}
    assert middleware.counts == {**dict.fromkeys(middleware.counts, 0), **expected}
    always = [ASGIMiddleware(Application(), tmp_path, rate=rate) for rate in (0, 1)]
    assert [one.choose(None, "") is not None for one in always] == [False, True]


def test_a_long_request_is_measured_in_part(tmp_path, caplog):
    async def until_it_ended():
        while spartito.active():
            await asyncio.sleep(0.01)

    middleware = ASGIMiddleware(Application(until_it_ended), tmp_path, token=TOKEN, max_seconds=0.1)
    assert asyncio.run(asgi(middleware, "/long", headers=ASKING))[2] == BODY
    (page,) = pages_in(tmp_path)
    assert __name__ + ":Application.__call__" in regions(page)
    assert "GET /long: the measurement ended after 0.1 s" in caplog.text


def test_failures_do_not_reach_the_client(tmp_path, caplog, monkeypatch):
    (tmp_path / "file").write_text("")
    middleware = ASGIMiddleware(Application(), tmp_path / "file", token=TOKEN)
    assert asyncio.run(asgi(middleware, headers=ASKING))[2] == BODY
    until(lambda: middleware.counts["failed"])
    assert f"there is no page of GET /: {tmp_path}/file: File exists" in caplog.text
    settled()
    middleware = ASGIMiddleware(Application(), tmp_path, token=TOKEN)
    with monkeypatch.context() as m:
        m.setattr("tempfile.tempdir", str(tmp_path / "missing"))
        assert asyncio.run(asgi(middleware, headers=ASKING))[0] == 201
    assert middleware.counts["failed"] == 1 and "requests are not measured: " in caplog.text
    with spartito.measure(str(tmp_path / "own")):
        assert asyncio.run(asgi(middleware, query=ASKING_QUERY))[0] == 503
        assert spartito.experiment() == str(tmp_path / "own")
    assert middleware.counts["busy"] == 1
    assert [r.levelno for r in caplog.records] == [logging.WARNING] * 2


@pytest.mark.parametrize(
    "wrong",
    [{"token": ""}, {"every": 0}, {"rate": 2}, {"every": 2, "rate": 0.1}, {"keep": 0}, {"max_seconds": 0}, {"depth": "deep"}],
    ids=lambda wrong: "-".join(wrong),
)
def test_invalid_arguments(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ASGIMiddleware(None, **wrong)
    with pytest.raises(TypeError, match="trase"):
        ASGIMiddleware(None, trase=True)
