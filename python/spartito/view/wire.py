# SPDX-License-Identifier: BSD-3-Clause
"""The subset of HTTP/1.1 that the page needs: requests without a body, answers of known length. Other requests are refused and the
connection is closed, so that a proxy and this server cannot read the same bytes as different requests."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_HEAD = 16 << 10  # bytes of a request
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
REASONS = {
    200: "OK",
    301: "Moved Permanently",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    410: "Gone",
    422: "Unprocessable Content",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    505: "HTTP Version Not Supported",
}
# The page may load its own scripts and style and send requests to this server, and no page may embed it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
ALWAYS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Content-Security-Policy", POLICY),
)


class Bad(Exception):
    """A refused request: HTTP status and message."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Request:
    __slots__ = ("headers", "keep", "method", "target")

    def __init__(self, method: str, target: str, headers: dict[str, str], keep: bool) -> None:
        self.method = method
        self.target = target  # path and query as received, not decoded before the token is checked
        self.headers = headers  # names in lower case
        self.keep = keep  # whether the connection stays open


class Answer:
    __slots__ = ("body", "headers", "kind", "status")

    def __init__(self, status: int, kind: str, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> None:
        self.status = status
        self.kind = kind
        self.body = body
        self.headers = tuple(headers)

    def head(self, keep: bool) -> bytes:
        lines = [
            f"HTTP/1.1 {self.status} {REASONS[self.status]}",
            f"Content-Type: {self.kind}",
            f"Content-Length: {len(self.body)}",
            f"Connection: {'keep-alive' if keep else 'close'}",
            *(f"{name}: {value}" for name, value in (*ALWAYS, *self.headers)),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def sentence(status: int, text: str, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    return Answer(status, "text/plain; charset=utf-8", (text + "\n").encode("utf-8", "backslashreplace"), headers)


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not TOKEN.match(name):  # also refuses continuation lines, which begin with a space
            raise Bad(400, "a malformed header")
        name = name.lower()
        if name in headers and name in ("host", "content-length", "transfer-encoding", "origin"):
            raise Bad(400, f"two headers {name}")
        headers[name] = value.strip(" \t")
    return headers


def parse(head: bytes) -> Request:
    """head: the bytes up to and including the empty line. Bad: the request is refused."""
    try:
        first, *lines = head[:-4].decode("ascii").split("\r\n")
    except UnicodeDecodeError:
        raise Bad(400, "a header that is not ASCII") from None
    words = first.split(" ")
    if len(words) != 3 or any(not c.isprintable() for c in first):
        raise Bad(400, "no HTTP request")
    method, target, version = words
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Bad(505 if version.startswith("HTTP/") else 400, "only HTTP/1.1 is supported")
    headers = _headers(lines)
    if any(c in value for value in headers.values() for c in "\r\n\0"):
        raise Bad(400, "a header with an invalid character")
    if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
        raise Bad(400, "requests must not have a body")
    if method not in ("GET", "HEAD"):
        raise Bad(405, "only GET and HEAD are answered")
    if not target.startswith("/"):
        raise Bad(400, "the address of a request begins with /")
    connection = headers.get("connection", "keep-alive" if version == "HTTP/1.1" else "close").lower()
    return Request(method, target, headers, "close" not in connection)
