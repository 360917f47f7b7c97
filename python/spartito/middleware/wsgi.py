# SPDX-License-Identifier: BSD-3-Clause
"""Middleware for WSGI applications: Django, Flask and others."""

from __future__ import annotations

from spartito.base.messages import Refused
from spartito.middleware.profiler import BUSY, HEADER, Asked, Measurement, Profiler, region_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    StartResponse = Callable[..., Any]

_KEY = "HTTP_" + HEADER.upper().replace("-", "_")


def _discard(body: bytes) -> None:
    """The write() of an application whose response is not sent."""


def _without_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
    return _discard


def _with_header(start_response: StartResponse, value: str) -> StartResponse:
    def start_with_header(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
        return start_response(status, [*headers, (HEADER, value)], *exc_info)

    return start_with_header


def _respond(start_response: StartResponse, status: str, body: bytes, kind: str) -> list[bytes]:
    headers = [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
    start_response(status, headers)
    return [body]


def _name(environ: dict[str, Any]) -> str:
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")  # bytes, decoded as latin-1
    return region_name(environ["REQUEST_METHOD"], path.encode("latin-1", "replace").decode("utf-8", "replace"))


def _is_complete(body: Iterable[bytes], environ: dict[str, Any]) -> bool:
    """Whether a server may treat this type of body in its own way: it derives Content-Length from a list of one block, or sends a
    file with the system call sendfile. Such a body is passed on as it is, and computing it has ended."""
    wrapper = environ.get("wsgi.file_wrapper")
    return hasattr(body, "__len__") or (isinstance(wrapper, type) and isinstance(body, wrapper))


class WSGIMiddleware(Profiler):
    """A WSGI application that serves `app` and profiles some of its requests. A measurement covers the call of the application, and
    the iteration over a body that is computed meanwhile, until the server closes it."""

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        asked = self.choose(environ.get(_KEY), environ.get("QUERY_STRING", ""))
        if asked is None:
            body: Iterable[bytes] = self.app(environ, start_response)
            return body
        return self._chosen(asked, environ, start_response)

    def _chosen(self, asked: Asked, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        measurement = self.begin(_name(environ))
        if asked.returned:
            environ["QUERY_STRING"] = asked.query
            return self._page_instead(measurement, environ, start_response)
        if asked.by == "token":
            start_response = _with_header(start_response, measurement.file if measurement else BUSY)
        if measurement is None:
            unmeasured: Iterable[bytes] = self.app(environ, start_response)
            return unmeasured
        measurement.region.__enter__()
        try:
            body: Iterable[bytes] = self.app(environ, start_response)
            if not _is_complete(body, environ):
                return _Body(body, self, measurement)
        except BaseException:
            self.finish(measurement)
            raise
        self.finish(measurement)
        return body

    def finish(self, measurement: Measurement) -> None:
        measurement.region.__exit__(None, None, None)
        self.page(measurement, keep=True)

    def _page_instead(self, measurement: Measurement | None, environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        if measurement is None:
            return _respond(start_response, "503 Service Unavailable", f"{BUSY}; ask again\n".encode(), "text/plain")
        try:
            with measurement.region:
                body = self.app(environ, _without_response)
                try:
                    for _ in body:
                        pass
                finally:
                    if hasattr(body, "close"):
                        body.close()
        except BaseException:
            self.page(measurement, keep=True)  # the client gets the server's answer to the exception
            raise
        try:
            page = self.page(measurement, keep=False).result()
        except Refused as e:
            text = f"there is no page: {e}\n".encode("utf-8", "backslashreplace")
            return _respond(start_response, "500 Internal Server Error", text, "text/plain")
        return _respond(start_response, "200 OK", page, "text/html")


class _Body:
    """The body of a measured request while the server iterates over it. close() ends the measurement, as servers call it after
    every request."""

    def __init__(self, body: Iterable[bytes], profiler: WSGIMiddleware, measurement: Measurement) -> None:
        self._body = body
        self._iterator: Iterator[bytes] | None = None
        self._profiler = profiler
        self._measurement: Measurement | None = measurement

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._iterator is None:
            self._iterator = iter(self._body)
        return next(self._iterator)

    def close(self) -> None:
        try:
            if hasattr(self._body, "close"):
                self._body.close()
        finally:
            measurement, self._measurement = self._measurement, None
            if measurement:
                self._profiler.finish(measurement)
