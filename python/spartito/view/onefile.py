# SPDX-License-Identifier: BSD-3-Clause
"""The viewer as one HTML file, which contains script, style and answers. It makes no network requests."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import html
import os
import re
import stat

from spartito.base.messages import Refused, reason
from spartito.base.text import name, size
from spartito.view import page
from spartito.view.packing import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from spartito.view.kinds import Experiment

LIMIT = 20  # MiB, default of --max-size


def inline(name: str) -> str:
    """The text of a script or style of the viewer, escaped so that it does not end its HTML element early."""
    text = page.asset(name).decode()
    if name.endswith(".js"):
        # both only occur in strings and regular expressions, where the backslash has no effect
        return re.sub(r"<(/script|!--)", r"<\\\1", text, flags=re.IGNORECASE)
    if "</style" in text.lower():
        raise AssertionError("the style of the page holds the end of an element")
    return text


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(scripts: Iterable[str], style: str) -> str:
    """The content security policy of a document with only these scripts and this style, and without network access."""
    return (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def document(experiment: Experiment, limit: int, source: bool) -> tuple[str, list[str]]:
    """The text of the file, of at most limit bytes, and notes about omitted data. source: include source text. Refused: this
    Spartito was built without the viewer, or the limit is too small."""
    scripts, style = [inline("app.js"), inline("more.js")], inline("app.css")
    title = name(str(experiment.facts()["title"])).encode("utf-8", "replace").decode()
    begin = (
        f'{page.HEAD}<meta http-equiv="Content-Security-Policy" content="{policy(scripts, style)}">\n'
        f"<title>{html.escape(title)} – Spartito</title>\n{page.ICON}<style>{style}</style>\n</head>\n<body>\n"
        f'<div id="app"></div>\n{page.NO_SCRIPT}'
    )
    end = "".join(f"<script>{script}</script>\n" for script in scripts) + "</body>\n</html>\n"
    budget = limit - len(begin.encode()) - len(end.encode())
    try:
        blocks, pruned = pack(experiment, budget, source)
    except Refused as e:
        raise Refused(f"the file cannot be made within {size(limit)}: {e}; raise --max-size") from None
    return begin + "".join(block.text for block in blocks) + end, pruned


def write(path: str, text: str) -> None:
    """Writes a file; an incomplete one is removed. An existing file is replaced, a directory is not; pipes and terminals are
    written to. Refused: the path cannot be written."""
    data = text.encode()
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = 0
    if stat.S_ISDIR(mode):
        raise Refused(f"{path} is a directory: name a file with -o")
    try:
        if mode and not stat.S_ISREG(mode):
            with open(path, "wb") as f:
                f.write(data)
            return
        _replace(os.path.realpath(path) if mode else path, data)
    except OSError as e:
        if isinstance(e, BrokenPipeError):
            raise
        raise Refused(f"{path}: {reason(e)}") from None


def _replace(path: str, data: bytes) -> None:
    for attempt in range(100):
        part = f"{path}.part-{os.getpid()}-{attempt}"
        with contextlib.suppress(FileExistsError):
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            break
    else:
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    try:
        with open(fd, "wb") as f:
            f.write(data)
        os.rename(part, path)
    except BaseException:
        os.unlink(part)
        raise
