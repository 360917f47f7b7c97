# SPDX-License-Identifier: BSD-3-Clause
"""Setup of all tests: the repository's root, the command line of Spartito, and an environment without SPARTITO_* variables."""

import functools
import os
import re
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Imports of helpers, and of fixtures from other test modules: file names are unique
sys.path[:0] = [str(folder) for folder in sorted(Path(__file__).parent.iterdir()) if folder.is_dir()]
# a shell starts background processes with SIGINT ignored, and their children inherit this
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    for name in [n for n in os.environ if n.startswith("SPARTITO_")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _answers_are_as_agreed(request, monkeypatch):
    """In tests of the viewer, validates each answer of spartito.view.kinds with src/view/contract.json."""
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


@pytest.fixture(scope="module")
def viewer(recorded, tmp_path_factory):
    """A viewer of the experiment `recorded`, which the module of the tests makes."""
    from viewing import Viewer

    v = Viewer(recorded, tmp_path_factory.mktemp("browser"))
    yield v
    v.close()


def shares(path):
    """Whether the tests of a file share an expensive fixture: a browser, a kernel, an experiment, a library."""
    return re.search(r'scope="module"|needs_viewer', path.read_text(encoding="utf-8")) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """All tests of a file with a shared fixture go to the same pytest-xdist worker, as each worker would create the fixture again.
    These files come first. pytest-xdist's mark xdist_group has no effect with pytest 9."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    shared = functools.cache(lambda name: shares(config.rootpath / name))

    class Sharing(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            name = nodeid.split("::")[0]
            return name if shared(name) else nodeid

    return Sharing(config, log)
