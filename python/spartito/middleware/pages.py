# SPDX-License-Identifier: BSD-3-Clause
"""The pages of measured requests: `spartito html` makes them in another process, and a directory holds a limited number of them."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
import time

from spartito.base import interpreter
from spartito.base.messages import Refused, reason

TIMEOUT = 600  # seconds for making a page
CODE = "from spartito.cli.main import main; sys.exit(main(['html', *sys.argv[1:]]))"
# time, process, number of the page in this process, request
NAMES = re.compile(r"\d{8}-\d{6}-\d+-\d+-[A-Za-z0-9_-]*\.html")
_numbers = itertools.count(1)


def new_name(request: str) -> str:
    """A new file name for the page of a request such as "GET /items/7". The client chooses the path, so only harmless
    characters of it are in the name."""
    words = re.sub(r"[^A-Za-z0-9_]+", "-", request)[:60].strip("-")
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{next(_numbers)}-{words}.html"


def make(experiment: str, path: str) -> list[str]:
    """Writes the page of an experiment, complete or not at all. Returns messages, such as those about omitted data. Refused: the
    page cannot be made, and why."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        done = subprocess.run(
            interpreter.command(CODE, experiment, "-o", path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=interpreter.environment(),
            timeout=TIMEOUT,
            start_new_session=True,  # Ctrl-C ends the server and not the page of its last request
        )
    except OSError as e:
        raise Refused(f"{e.filename or path}: {reason(e)}") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{path}: spartito html did not end within {TIMEOUT} s") from None
    lines = [line.removeprefix("spartito: ") for line in _lines(done.stderr)]
    if done.returncode:
        raise Refused(lines[-1] if lines else f"{path}: spartito html ended with status {done.returncode}")
    return lines


def _lines(output: bytes) -> list[str]:
    return output.decode(errors="replace").strip().splitlines()


def limit(directory: str, keep: int) -> int:
    """Removes the oldest pages, so that at most `keep` remain; returns how many. Other files stay. OSError: the directory cannot be
    read or changed."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if NAMES.fullmatch(entry.name):
                with contextlib.suppress(FileNotFoundError):  # another worker removes pages as well
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    removed = 0
    for _, path in sorted(found)[: max(0, len(found) - keep)]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            removed += 1
    return removed
