# SPDX-License-Identifier: BSD-3-Clause
"""The HTML of the page, and its scripts and styles, which the build of viewer/ writes to static/."""

from __future__ import annotations

import os

from spartito.base.messages import Refused

CELL_MORE = ("memory", "locks")  # members of Facts.has for which the frame below a notebook's cell contains cellmore.js
STATIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
GET = "build it again without -Dviewer=disabled, or install a wheel"
HEAD = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
)
NO_SCRIPT = "<noscript>Spartito shows this page with JavaScript, which is disabled here.</noscript>\n"
# an empty icon, so browsers do not request /favicon.ico
ICON = '<link rel="icon" href="data:,">\n'


def index(version: int | None = None) -> str:
    """The page of a server. version: of a run that has not ended (spartito.view.live); None: it has ended."""
    live = "" if version is None else f' data-live="{version}"'
    return (
        f'{HEAD}<title>Spartito</title>\n{ICON}<link rel="stylesheet" href="app.css">\n</head>\n<body{live}>\n'
        f'<div id="app"></div>\n{NO_SCRIPT}<script src="app.js"></script>\n</body>\n</html>\n'
    )


def asset(name: str) -> bytes:
    """The contents of a file of the viewer. Refused: this Spartito was built without the viewer."""
    try:
        with open(os.path.join(STATIC, name), "rb") as f:
            return f.read()
    except FileNotFoundError:
        raise Refused(f"this Spartito was built without the viewer's page: {GET}") from None
