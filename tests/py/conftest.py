# SPDX-License-Identifier: BSD-3-Clause
"""What all tests share: the repository's root, the measuring command line, and no SPARTITO_* variable from outside."""

import os
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))
# a shell starts what runs in the background with SIGINT ignored, and all children inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    for name in [n for n in os.environ if n.startswith("SPARTITO_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def spartito():
    """The command line of this Python's Spartito."""
    return [sys.executable, "-m", "spartito"]


def pytest_collection_modifyitems(items):
    """Tests that share what a file makes once (a browser, a kernel, an experiment, a library) all go to one of pytest-xdist's
    workers: each worker would make it again."""
    for item in items:
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        if hasattr(item.module, "needs_viewer") or any(found[-1].scope == "module" for found in fixtures):
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))
