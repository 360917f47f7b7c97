# SPDX-License-Identifier: BSD-3-Clause
"""The recipes in packaging/ are true: their versions and dependencies are those of meson.build and pyproject.toml. A release has
its notes and the checksum of its sdist."""

import hashlib
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "packaging"))
import release

PACKAGING = ROOT / "packaging"
# what meson.build and pyproject.toml ask for, and its name in each recipe; None: the recipe has no such package, and says so
NAMES = {
    "python": ("python", "python", "Python", "python3-all-dev", "python"),
    "meson": ("meson", "meson", "Meson", "meson", None),
    "meson-python": ("meson-python", "py-meson-python", "meson-python", "python3-mesonpy", None),
    "ninja": ("ninja", "ninja", "Ninja", "ninja-build", None),
    "rich": ("rich", "py-rich", "rich", "python3-rich", None),
    "tomli": ("tomli", "py-tomli", None, None, None),
    "libdw": ("elfutils", "elfutils", "elfutils", "libdw-dev", "libdw-dev"),
    "otf2": (None, "otf2", "OTF2", "libotf2-trace-dev", "libotf2-trace-dev"),
    "libzstd": ("zstd", "zstd", "zstd", "libzstd-dev", "libzstd-dev"),
    "zlib": ("zlib", "zlib-api", "zlib", "zlib1g-dev", "zlib1g-dev"),
}
# beside these: a compiler, pkg-config, pip, MPI, and what the format of the recipe wants
MORE = (
    {"${{ compiler('c') }}", "${{ stdlib('c') }}", "pkg-config", "pip", "${{ mpi }}"},
    {"c", "pkgconfig", "py-pip", "mpi"},
    {"pkgconf"},
    {"debhelper-compat", "dh-sequence-python3", "pybuild-plugin-pyproject", "pkgconf", "libmpich-dev", "libopenmpi-dev"},
    {"build-essential", "pkg-config", "libmpich-dev", "libopenmpi-dev"},
)
# libraries that the options of meson name otherwise
OPTIONS = {"libdw": "dw", "libzstd": "zstd"}


def text(name):
    return (PACKAGING / name).read_text(encoding="utf-8")


def easyconfig():
    (path,) = (PACKAGING / "easybuild").glob("*.eb")
    return path.read_text(encoding="utf-8")


def conda():
    block = re.search(r"^requirements:\n(.*?)^tests:", text("conda/recipe.yaml"), re.MULTILINE | re.DOTALL)[1]
    items = re.findall(r"^(?:    - |      then: )(?!if:)(\$\{\{.+\}\}|\S+)(?: (.+))?$", block, re.MULTILINE)
    return [(name, version or "") for name, version in items]


def spack():
    found = re.findall(r'depends_on\("([\w-]+)(?:@([\d.]+):[\d.]*)?"', text("spack/package.py"))
    return [(name, f">={version}" if version else "") for name, version in found]


def easybuild():
    lists = re.findall(r"^(?:build)?dependencies = \[\n(.*?)^\]", easyconfig(), re.MULTILINE | re.DOTALL)
    return re.findall(r"\('([\w-]+)', '([\d.]+)'", "".join(lists))


def debian():
    lists = re.findall(r"^(?:Build-)?Depends:\n((?: .+\n)+)", text("debian/control"), re.MULTILINE)
    assert len(lists) == 2
    return re.findall(r"^ ([\w.+-]+)(?: \((.+)\))?,$", "".join(lists), re.MULTILINE)


def container():
    packages = re.search(r"install -y --no-install-recommends \\\n(.+?)\\\n", text("Containerfile"))[1].split()
    images = re.findall(r"^FROM docker.io/library/(\w+):", text("Containerfile"), re.MULTILINE)
    return [(name, "") for name in [*packages, *images]]


READERS = (conda, spack, easybuild, debian, container)


def asked():
    """{what meson.build and pyproject.toml ask for: its oldest version, or ""}."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:requires|dependencies) = \[(.+)\]", project, re.MULTILINE)
    found = dict(re.findall(r'"([\w-]+)(?:>=([\d.]+))?[";]', "".join(lists)))
    found["python"] = re.search(r'^requires-python = ">=(.+)"', project, re.MULTILINE)[1]
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("meson.build")))
    found.update((name, "") for name in re.findall(r"dependency\('(\w+)', required: get_option", sources))
    return found


def number(version):
    return tuple(map(int, version.split(".")))


def test_every_file_has_the_version():
    found = release.versions()
    assert len(found) == 10 and {version for _, version in found} == {release.version()}


@pytest.mark.parametrize("recipe", range(len(READERS)), ids=[reader.__name__ for reader in READERS])
def test_dependencies_are_those_of_the_build(recipe):
    wanted = asked()
    assert set(wanted) == set(NAMES)
    names = {NAMES[what][recipe]: oldest for what, oldest in wanted.items() if NAMES[what][recipe]}
    written = {}
    for name, version in READERS[recipe]():
        written[name] = max(written.get(name, ""), version, key=len)
    assert set(written) - MORE[recipe] == set(names)
    assert MORE[recipe] <= set(written)
    for name, version in written.items():
        oldest = names.get(name)
        if READERS[recipe] is easybuild and oldest:
            assert number(version) >= number(oldest), name
        elif oldest and name not in ("python", "python3-all-dev"):
            assert version.replace(" ", "") == f">={oldest}", name


def test_a_missing_library_ends_the_build_of_a_recipe():
    """Each recipe enables the libraries that it has, with the options of meson."""
    options = re.findall(r"^option\('(\w+)', type: 'feature', value: 'auto'", (ROOT / "meson.options").read_text(), re.MULTILINE)
    libraries = {name for name, names in NAMES.items() if (names[3] or "").endswith("-dev")} - {"python"}
    assert {OPTIONS.get(name, name) for name in libraries} == set(options)
    for option in options:
        value = "disabled" if option == "otf2" else "enabled"
        assert f"-D{option}={value}\n" in text("conda/recipe.yaml")
        assert f'"-D{option}": "enabled"' in text("spack/package.py")
        assert re.search(rf"for name in .*'{option}'", easyconfig())
        assert re.search(rf"foreach library,.*\b{option}\b", text("debian/rules"))
        assert f"-D{option}=enabled" in text("Containerfile")
    assert "conda-forge has no package of libotf2" in text("conda/recipe.yaml")


def test_supported_pythons_are_those_of_meson():
    oldest, newer = re.findall(r"version_compare\('[<>]=?3\.(\d+)'\)", (ROOT / "meson.build").read_text(encoding="utf-8"))
    assert f'"python@3.{oldest}:3.{int(newer) - 1}"' in text("spack/package.py")
    for line in (f'match(python, "<3.{oldest}")', f'match(python, ">=3.{newer}")'):
        assert line in text("conda/recipe.yaml")


def test_a_release_has_its_notes_and_the_recipes_its_checksum(tmp_path, monkeypatch):
    version = release.version()
    sdist = tmp_path / f"spartito-{version}.tar.gz"
    sdist.write_bytes(b"sdist")
    release.recipes(sdist, tmp_path / "out")
    recipes = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    checksum = hashlib.sha256(b"sdist").hexdigest()
    named = {path.parent.name for path in recipes if checksum in path.read_text()}
    assert {"conda", "spack", "easybuild"} <= named
    assert os.access(tmp_path / "out" / "debian" / "rules", os.X_OK)

    changelog = "# Changelog\n\n## {}\n\nWords.\n\n### Added\n\n- One.\n\n## 0.0.1 - 2020-01-01\n\nOlder.\n"
    for name, _ in release.versions():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((ROOT / name).read_text(encoding="utf-8"))
    monkeypatch.setattr(release, "ROOT", tmp_path / "tree")
    monkeypatch.setattr(release, "HERE", tmp_path / "tree" / "packaging")
    (tmp_path / "tree" / "CHANGELOG.md").write_text(changelog.format(f"{version} - 2026-11-27"))
    release.check(f"v{version}")
    assert release.notes() == "Words.\n\n### Added\n\n- One."
    with pytest.raises(SystemExit, match=f"the tag v9 is not v{version}"):
        release.check("v9")
    (tmp_path / "tree" / "CHANGELOG.md").write_text(changelog.format(f"Unreleased ({version})"))
    with pytest.raises(SystemExit, match="CHANGELOG.md: has no part"):
        release.check(f"v{version}")
    citation = tmp_path / "tree" / "CITATION.cff"
    citation.write_text(citation.read_text().replace(version, "9.9"))
    with pytest.raises(SystemExit, match="CITATION.cff: has version 9.9, but meson.build has"):
        release.notes()


def test_the_workflow_uses_pinned_actions_and_scripts_that_exist():
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    uses = re.findall(r"uses: (\S+)", workflow)
    assert uses and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in uses)
    for script, command in re.findall(r"python3? (packaging/\S+) (\w+)", workflow):
        done = subprocess.run([sys.executable, ROOT / script, command, "x", "y", "z"], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and command in done.stderr
    # an input of the workflow within a script would be run as code
    for script in re.findall(r"run: (?:\|\n((?: {10}.*\n)+)|(.+)\n)", workflow):
        assert "${{" not in "".join(script)
