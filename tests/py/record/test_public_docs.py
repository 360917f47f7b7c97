# SPDX-License-Identifier: BSD-3-Clause
"""`help(spartito)`: every public name has a docstring, a signature if it is callable, and an example that runs with and without a
measurement."""

import doctest
import inspect
import pathlib
import re
import shutil
import subprocess
import sys
import warnings

import pytest
import spartito
from conftest import ROOT

FUNCTIONS = [name for name in spartito.__all__ if name != "__version__"]
EXAMPLES = """
import doctest, spartito, sys
failed = 0
for name in sys.argv[1:]:
    thing = getattr(spartito, name)
    test = doctest.DocTestParser().get_doctest(thing.__doc__, {}, name, None, 0)
    failed += doctest.DocTestRunner().run(test).failed
sys.exit(failed)
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_name_is_explained(name):
    thing = getattr(spartito, name)
    assert doctest.DocTestParser().get_examples(thing.__doc__), "no example"
    if name != "region":  # region is a type whose calls have several forms
        parameters = inspect.signature(thing).parameters
        assert all(parameter in thing.__doc__ for parameter in parameters)


@pytest.mark.parametrize("measured", [False, True], ids=["plain", "measured"])
def test_the_examples_run(tmp_path, measured):
    command = [sys.executable, "-c", EXAMPLES, *FUNCTIONS]
    if measured:  # the examples end the measurement themselves
        command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "x", "--", *command]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


MEMBERS = [name for name in vars(spartito.Results) if not name.startswith("_")]
PROGRAM = """\
import time
def step(n): return n
def main():
    for i in range(1000): step(i)
    for i in range(3): time.sleep(0.001)
main()
"""


@pytest.fixture
def experiments(tmp_path, monkeypatch):
    """Creates run-1 and ranks-1 (of MPI ranks) in the current directory, as the examples need them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    options = ("--lines", "step", "--memory-profile", "--waits", "-o", "run-1")
    subprocess.run([sys.executable, "-m", "spartito", "run", "-q", *options, "--", sys.executable, "program.py"], check=True)
    (tmp_path / "ranks-1" / "raw").mkdir(parents=True)
    for rank in range(4):
        shutil.copy(ROOT / f"tests/old-raw/v3-mpi-{rank}.raw", tmp_path / "ranks-1" / "raw")


def test_every_member_of_results_is_explained(experiments):
    pytest.importorskip("pandas")
    assert {"info", "warnings", "notes", "regions", "as_dict"} <= set(MEMBERS)
    for name in MEMBERS:
        member = inspect.getattr_static(spartito.Results, name)
        test = doctest.DocTestParser().get_doctest(member.__doc__, {"spartito": spartito}, name, None, 0)
        assert test.examples, f"{name}: no example"
        if inspect.isfunction(member):
            parameters = set(inspect.signature(member).parameters) - {"self"}
            assert all(parameter in member.__doc__ for parameter in parameters), name
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert doctest.DocTestRunner().run(test).failed == 0, name


def test_help_shows_results():
    shown = subprocess.run([sys.executable, "-c", "import spartito; help(spartito)"], capture_output=True, text=True).stdout
    shown = re.sub(r"\s", "", shown)  # Python 3.13 breaks long signatures into lines
    assert "classResults" in shown and "load(directory" in shown and "regions(self,*,process" in shown


def test_no_module_hides_a_public_name():
    """Importing a submodule spartito.x would replace a public attribute x of the package."""
    modules = {path.stem for path in pathlib.Path(spartito.__file__).parent.iterdir()}
    assert not modules & set(spartito.__all__)
