# SPDX-License-Identifier: BSD-3-Clause
"""The viewer's page in packages: an sdist contains the built page, and an installation from it needs no node."""

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
    pytest.mark.skipif(not shutil.which("node"), reason="needs node"),
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


def setup(sources, *options):
    """Runs meson setup on a machine whose node is too old."""
    machine, node = sources.parent / "machine.ini", sources.parent / "node"
    node.write_text("#!/bin/sh\necho v12.22.9\n")
    node.chmod(0o755)
    machine.write_text(f"[binaries]\nnode = '{node}'\n")
    command = ["meson", "setup", "--wipe", "--native-file", machine, *options, sources.parent / "build", sources]
    return subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_an_sdist_has_the_page_built(sources):
    names = {str(p.relative_to(sources)) for p in (sources / "viewer").rglob("*")}
    assert {*(f"viewer/built/{name}" for name in BUILT), "viewer/src/main.tsx", "viewer/package-lock.json"} <= names
    assert not [name for name in names if "node_modules" in name]
    script = (sources / "viewer" / "built" / "app.js").read_text()
    assert "preact, Copyright" in script and len(script.encode()) <= 240_000
    done = setup(sources)
    assert done.returncode == 0, done.stdout
    installed = subprocess.run(
        ["meson", "introspect", "--installed", sources.parent / "build"], env=ENVIRONMENT, stdout=subprocess.PIPE
    )
    targets = {source: target for source, target in json.loads(installed.stdout).items() if "/viewer/" in source}
    assert {Path(source).name for source in targets} == BUILT
    assert all(Path(target).parent.parts[-3:] == ("spartito", "view", "static") for target in targets.values())


def test_without_node_and_a_built_page_it_is_left_out_or_refused(sources):
    bare = sources.parent / "bare" / "spartito"
    shutil.copytree(sources, bare)
    shutil.rmtree(bare / "viewer" / "built")
    done = setup(bare, "-Dviewer=enabled")
    assert done.returncode != 0 and "viewer: needs node 18 or newer" in done.stdout
    done = setup(bare)
    assert done.returncode == 0 and "viewer: left out" in done.stdout


def test_the_lock_names_no_registry():
    lock = json.loads((ROOT / "viewer" / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
