# SPDX-License-Identifier: BSD-3-Clause
"""The origin of `import omnitrace` and `omnitrace-python`: the drop-in distribution, a measured run without it, or an installed
omnitrace."""

import importlib.util
import os
import subprocess
import sys
import zipfile

import pytest
from omnitrace_helpers import DROPIN, environment, program
from spartito.startup import DROPINS


@pytest.fixture(scope="module")
def backend():
    spec = importlib.util.spec_from_file_location("backend", os.path.join(DROPIN, "backend.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def paths(tmp_path, monkeypatch, backend):
    """Directories for modules and for commands, as the build backend sees them."""
    for name in ("site", "bin"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(backend.sysconfig, "get_path", lambda name: str(tmp_path / ("bin" if name == "scripts" else "site")))
    return tmp_path


def test_the_wheel_has_the_module_and_the_command(paths, backend):
    with zipfile.ZipFile(paths / backend.build_wheel(str(paths))) as wheel:
        names = wheel.namelist()
        script = wheel.read("spartito_dropin-0.1.0.data/scripts/omnitrace-python").decode()
    assert {f"spartito_dropin/omnitrace/{name}.py" for name in ("__init__", "__main__", "profiler", "user")} < set(names)
    assert script.startswith("#!python\n")
    # pip writes the interpreter into the first line
    (paths / "bin/omnitrace-python").write_text(script.replace("#!python", f"#!{sys.executable}"))
    os.chmod(paths / "bin/omnitrace-python", 0o755)
    program(paths, "import sys\ndef f(): pass\nf()\nsys.exit(4)\n")
    words = ["bin/omnitrace-python", "-v", "-1", "--", "program.py"]
    done = subprocess.run(words, cwd=paths, env=environment(OMNITRACE_PROFILE="on"), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "")
    assert list(paths.glob("omnitrace-program-output/*/wall_clock.txt"))
    # the backend replaces a script of the drop-in, but not one of another package
    assert backend.real_scripts(str(paths / "bin")) == []


@pytest.mark.parametrize("what", ["site/omnitrace/__init__.py", "bin/omnitrace-python"])
def test_beside_the_real_one_nothing_is_installed(paths, backend, what):
    (paths / what).parent.mkdir(exist_ok=True)
    (paths / what).write_text("#!/bin/bash\n")
    with pytest.raises(SystemExit) as e:
        backend.build_wheel(str(paths))
    kind = "module omnitrace" if what.startswith("site") else "command omnitrace-python"
    message = str(e.value)
    assert f"the {kind} of another package is installed in {paths / what.split('/')[0]} and stays in use" in message
    assert "pip uninstall omnitrace)" in message and "scorep" not in message
    assert not list(paths.glob("*.whl"))


FIND = "import omnitrace; print(omnitrace.__file__)"


def found(tmp_path, path=""):
    """Where a process of `spartito run` finds omnitrace, without the distribution."""
    env = {**environment(), "PYTHONPATH": path}
    command = [sys.executable, "-m", "spartito", "run", "-q", "--", sys.executable, "-c", FIND]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()


def test_measured_processes_have_it_without_the_distribution(tmp_path):
    alone = subprocess.run([sys.executable, "-c", FIND], cwd="/", env={**environment(), "PYTHONPATH": ""}, capture_output=True)
    if not alone.returncode:
        pytest.skip("an omnitrace is installed here")
    assert found(tmp_path) == os.path.join(DROPINS, "omnitrace", "__init__.py")


def test_the_real_package_wins_in_measured_processes(tmp_path):
    (tmp_path / "site/omnitrace").mkdir(parents=True)
    (tmp_path / "site/omnitrace/__init__.py").write_text("real = True\n")
    assert found(tmp_path, str(tmp_path / "site")) == str(tmp_path / "site/omnitrace/__init__.py")


def test_one_copy_of_the_source():
    above = os.path.join(DROPIN, "omnitrace")
    for name in os.listdir(above):
        if name.endswith(".py"):
            with open(os.path.join(DROPINS, "omnitrace", name), "rb") as mine, open(os.path.join(above, name), "rb") as theirs:
                assert mine.read() == theirs.read(), "build again"
