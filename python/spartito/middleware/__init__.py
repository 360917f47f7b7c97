# SPDX-License-Identifier: BSD-3-Clause
"""Middleware that profiles requests of a web application, for ASGI and WSGI (docs/guides/requests.md)."""

from spartito.middleware.asgi import ASGIMiddleware
from spartito.middleware.wsgi import WSGIMiddleware

__all__ = ["ASGIMiddleware", "WSGIMiddleware"]
