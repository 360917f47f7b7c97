# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of the command line."""

import subprocess
import time


def run(spartito, *words, **keywords):
    keywords.setdefault("timeout", 200)
    return subprocess.run([*spartito, *map(str, words)], capture_output=True, text=True, **keywords)


def wait_for(path, seconds=100):
    end = time.monotonic() + seconds
    while not (path.exists() and (path.stat().st_size or path.name == "ready")):
        assert time.monotonic() < end, f"{path.name} did not appear"
        time.sleep(0.02)
