# SPDX-License-Identifier: BSD-3-Clause
"""The entry for jupyter-server-proxy: the newest experiment of the directory that Jupyter was started in, at /spartito/ below its
address. Jupyter has let the user in by then; the token keeps others of the machine from going around it."""

from __future__ import annotations

import os
import secrets
import sys

from spartito.experiments.reading import newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXPERIMENT = "SPARTITO_VIEW"  # the directory to show instead
# of a server whose address is known before it has begun; in no command line, as every user of the machine sees those
TOKEN = "SPARTITO_VIEW_TOKEN"


def command() -> list[str]:
    """Asked for when the page is opened."""
    chosen = os.environ.get(EXPERIMENT) or newest(os.getcwd())
    # without an experiment the command says so, in Jupyter's log
    words = [sys.executable, "-m", "spartito", "view", "--no-browser", "--port", "{port}"]
    if chosen:
        words.append(chosen.replace("{", "{{").replace("}", "}}"))
    return words


def setup() -> dict[str, Any]:
    """What jupyter-server-proxy asks its entry points for."""
    token = secrets.token_urlsafe(32)
    return {
        "command": command,
        "environment": {TOKEN: token},
        "mappath": lambda path: "/" + token + path,
        # the server answers to its own name only; who may come by another, Jupyter has decided
        "request_headers_override": {"Host": "127.0.0.1:{port}"},
        "timeout": 120,
        "launcher_entry": {"title": "Spartito"},
    }
