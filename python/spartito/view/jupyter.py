# SPDX-License-Identifier: BSD-3-Clause
"""The entry point for jupyter-server-proxy: shows the newest experiment in Jupyter's working directory at /spartito/ below
Jupyter's address. Jupyter authenticates the user. The token keeps other users of the machine from reaching the server without
Jupyter."""

from __future__ import annotations

import os
import secrets
import sys

from spartito.experiments.reading import newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXPERIMENT = "SPARTITO_VIEW"  # the directory to show instead
# the token of the server's address, which must be known before the server starts; not an argument, as all users can see these
TOKEN = "SPARTITO_VIEW_TOKEN"


def command() -> list[str]:
    """The command line that starts the server. jupyter-server-proxy calls this when the user opens the page."""
    chosen = os.environ.get(EXPERIMENT) or newest(os.getcwd())
    # without an experiment, `spartito view` writes an error to Jupyter's log
    words = [sys.executable, "-m", "spartito", "view", "--no-browser", "--port", "{port}"]
    if chosen:
        words.append(chosen.replace("{", "{{").replace("}", "}}"))
    return words


def setup() -> dict[str, Any]:
    """The description of the server, as jupyter-server-proxy requires it of an entry point."""
    token = secrets.token_urlsafe(32)
    return {
        "command": command,
        "environment": {TOKEN: token},
        "mappath": lambda path: "/" + token + path,
        # the server accepts only its own host name; Jupyter has checked the name in the browser's request
        "request_headers_override": {"Host": "127.0.0.1:{port}"},
        "timeout": 120,
        "launcher_entry": {"title": "Spartito"},
    }
