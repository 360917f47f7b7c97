# SPDX-License-Identifier: BSD-3-Clause
"""The origin of `import scorep`: the drop-in distribution, a measured run without it, or an installed scorep."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest
from conftest import ROOT
from scorep_helpers import environment

DROPIN = ROOT / "dropin"
FIND = "import importlib.util as u; s = u.find_spec('scorep'); print(s.origin if s else None)"


@pytest.fixture(scope="module")
def backend():
    spec = importlib.util.spec_from_file_location("backend", DROPIN / "backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bare(tmp_path):
    """An interpreter with empty site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}{sys.abiflags}"
    return tmp_path / "venv/bin/python", tmp_path / "venv/lib" / version / "site-packages"


def pip(python, *words):
    command = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd="/")


def origin(python):
    done = subprocess.run([str(python), "-c", FIND], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def add_real(site):
    (site / "scorep").mkdir(parents=True)
    (site / "scorep/__init__.py").write_text("real = True\n")


def test_wheel_holds_nothing_where_the_real_files_are(backend, tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    name = backend.build_wheel(str(tmp_path))
    assert name == "spartito_dropin-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        names = wheel.namelist()
        assert wheel.read("spartito_dropin.pth") == b"spartito_dropin\n"
        record = wheel.read("spartito_dropin-0.1.0.dist-info/RECORD").decode().splitlines()
    assert not [n for n in names if n.startswith("scorep")]
    sources = {f"spartito_dropin/scorep/{p.name}" for p in (DROPIN / "scorep").glob("*.py")}
    assert sources < set(names)
    assert sorted(line.split(",")[0] for line in record) == sorted(names)


def test_source_distribution_builds_the_same(backend, tmp_path, monkeypatch):
    import tarfile

    name = backend.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as sdist:
        names = sdist.getnames()
    base = "spartito_dropin-0.1.0"
    assert {f"{base}/pyproject.toml", f"{base}/backend.py", f"{base}/PKG-INFO", f"{base}/scorep/user.py"} <= set(names)
    assert not [n for n in names if "__pycache__" in n]


def test_pip_installs_and_removes(bare):
    python, site = bare
    done = pip(python, "install", "--no-index", "--no-deps", DROPIN)
    assert done.returncode == 0, done.stderr
    assert origin(python) == str(site / "spartito_dropin/scorep/__init__.py")
    # when the real package is installed later, it has other files and is found first
    add_real(site)
    assert origin(python) == str(site / "scorep/__init__.py")
    assert pip(python, "uninstall", "-y", "spartito-dropin").returncode == 0
    assert origin(python) == str(site / "scorep/__init__.py")
    assert not (site / "spartito_dropin").exists() and not (site / "spartito_dropin.pth").exists()


def test_pip_refuses_beside_the_real_package(bare):
    python, site = bare
    add_real(site)
    done = pip(python, "install", "--no-index", "--no-deps", DROPIN)
    assert done.returncode != 0
    message = " ".join((done.stdout + done.stderr).split())
    assert f"the module scorep of another package is installed in {site}" in message
    assert "pip uninstall scorep" in message and "Nothing was changed" in message
    assert sorted(os.listdir(site)) == ["scorep"]
    assert (site / "scorep/__init__.py").read_text() == "real = True\n"


def measured_origin(tmp_path, path=""):
    """Where a process of `spartito run` finds scorep, without the distribution."""
    env = {**environment(), "PYTHONPATH": path}
    code = FIND + "; import scorep, sys; print(sys.meta_path[-1].__name__, list(scorep.__path__))"
    command = [sys.executable, "-m", "spartito", "run", "-q", "--", sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def no_distribution():
    return subprocess.run([sys.executable, "-c", FIND], cwd="/", env={**environment(), "PYTHONPATH": ""},
                          capture_output=True, text=True).stdout.strip() == "None"


def test_measured_processes_have_it_without_the_distribution(tmp_path):
    if not no_distribution():
        pytest.skip("a scorep is installed here")
    import spartito

    place = os.path.join(os.path.dirname(spartito.__file__), "dropin", "scorep")
    first, second = measured_origin(tmp_path)
    assert first == os.path.join(place, "__init__.py")
    assert second == f"spartito.startup {[place]}"


def test_the_real_package_wins_in_measured_processes(tmp_path):
    add_real(tmp_path / "site")
    assert measured_origin(tmp_path, str(tmp_path / "site"))[0] == str(tmp_path / "site/scorep/__init__.py")


def test_one_copy_of_the_source():
    import spartito

    installed = os.path.join(os.path.dirname(spartito.__file__), "dropin", "scorep")
    for path in (DROPIN / "scorep").glob("*.py"):
        with open(os.path.join(installed, path.name), "rb") as f:
            assert f.read() == path.read_bytes(), "build again"
    git = shutil.which("git")
    tracked = subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, text=True) if git else None
    if tracked and tracked.returncode == 0:
        assert [n for n in tracked.stdout.splitlines() if n.endswith("scorep/user.py")] == ["dropin/scorep/user.py"]
