# SPDX-License-Identifier: BSD-3-Clause
"""What a release needs of the files of this tree; .github/workflows/release.yml runs it.

release.py check TAG: fails unless TAG is v and the version that all files have, and the changelog has a dated part for it.
release.py notes: prints that part of the changelog.
release.py recipes SDIST DIRECTORY: writes into the new DIRECTORY the recipes beside this file, with the checksum of the sdist.

If something is wrong, one line on stderr says what; the status is 1."""

import hashlib
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CHECKSUM = "@SHA256@"
RECIPES = ("conda", "debian", "easybuild", "modulefiles", "spack", "Containerfile", "README.md")
# where the version is: (files, pattern); of a name of a file also what is in brackets
PLACES = (
    ("meson.build", r"^  version: '(.+)'"),
    ("pyproject.toml", r'^version = "(.+)"'),
    ("CITATION.cff", r"^version: (.+)"),
    ("dropin/backend.py", r'^NAME, VERSION = "spartito-dropin", "(.+)"'),
    ("packaging/conda/recipe.yaml", r'^  version: "(.+)"'),
    ("packaging/spack/package.py", r'^    version\("(.+?)"'),
    ("packaging/spack/package.py", r"spartito-(.+)\.tar\.gz"),
    ("packaging/easybuild/*.eb", r"^version = '(.+)'"),
    ("packaging/debian/changelog", r"\Aspartito \((.+)-\d+\)"),
)


def versions():
    """[(file, version)] of all files that name it."""
    found = []
    for files, pattern in PLACES:
        for path in ROOT.glob(files):
            match = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
            found.append((str(path.relative_to(ROOT)), match[1] if match else "no version"))
    found += [(str(path.relative_to(ROOT)), path.name.split("-")[1]) for path in HERE.glob("easybuild/*.eb")]
    return found


def version():
    """The version of meson.build, if all other files have the same."""
    (_, first), *others = versions()
    for name, other in others:
        if other != first:
            sys.exit(f"{name}: has version {other}, but meson.build has {first}")
    return first


def notes():
    """The part of the changelog about this version, without its heading."""
    wanted = version()
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(wanted)} - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"CHANGELOG.md: has no part '## {wanted} - YEAR-MONTH-DAY'")
    return found[1].strip()


def check(tag):
    if tag != f"v{version()}":
        sys.exit(f"the tag {tag} is not v{version()}, the version of meson.build")
    notes()


def recipes(sdist, directory):
    sdist, directory = pathlib.Path(sdist), pathlib.Path(directory)
    if sdist.name != f"spartito-{version()}.tar.gz":
        sys.exit(f"{sdist}: is not spartito-{version()}.tar.gz")
    checksum = hashlib.sha256(sdist.read_bytes()).hexdigest()
    directory.mkdir()
    for name in RECIPES:
        source, target = HERE / name, directory / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    for path in [path for path in directory.rglob("*") if path.is_file()]:
        text = path.read_text(encoding="utf-8")
        if CHECKSUM in text:
            path.write_text(text.replace(CHECKSUM, checksum), encoding="utf-8")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["check"] and len(words) == 2:
        check(words[1])
    elif words == ["notes"]:
        print(notes())
    elif words[:1] == ["recipes"] and len(words) == 3:
        recipes(words[1], words[2])
    else:
        sys.exit("usage: release.py check TAG | notes | recipes SDIST DIRECTORY")
