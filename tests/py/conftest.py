# SPDX-License-Identifier: BSD-3-Clause
"""What all tests share: the repository's root, the measuring command line, and no SPARTITO_* variable from outside."""

import functools
import os
import re
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# helpers, and test modules that take fixtures from each other: their names are unique
sys.path[:0] = [str(folder) for folder in sorted(Path(__file__).parent.iterdir()) if folder.is_dir()]
# a shell starts what runs in the background with SIGINT ignored, and all children inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    for name in [n for n in os.environ if n.startswith("SPARTITO_")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _answers_are_as_agreed(request, monkeypatch):
    """Tests of the viewer: each answer that one is given by spartito.view.kinds is held against src/view/contract.json."""
    if request.path.parent.name != "view":
        return
    import contract
    from spartito.view import kinds

    get = kinds.Experiment.get

    def checked(self, kind, parameters):
        data = get(self, kind, parameters)
        assert not (found := contract.wrong(kind, data)), found
        return data

    monkeypatch.setattr(kinds.Experiment, "get", checked)


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def spartito():
    """The command line of this Python's Spartito."""
    return [sys.executable, "-m", "spartito"]


def shares(path):
    """Whether tests of that file share what it makes once: a browser, a kernel, an experiment, a library."""
    return re.search(r'scope="module"|needs_viewer', path.read_text(encoding="utf-8")) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests of a file that share something all go to one of pytest-xdist's workers, as each worker would make it again; these files
    come first. Not by its mark xdist_group: with pytest 9 the mark changes nothing any more."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    shared = functools.cache(lambda name: shares(config.rootpath / name))

    class Sharing(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            name = nodeid.split("::")[0]
            return name if shared(name) else nodeid

    return Sharing(config, log)
