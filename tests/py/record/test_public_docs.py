# SPDX-License-Identifier: BSD-3-Clause
"""What `help(spartito)` shows: every public name has a text, a signature where it is called, and an example that runs, with and
without a measurement."""

import doctest
import inspect
import pathlib
import subprocess
import sys

import pytest
import spartito

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
    if name != "region":  # a type whose calls have several forms
        parameters = inspect.signature(thing).parameters
        assert all(parameter in thing.__doc__ for parameter in parameters)


@pytest.mark.parametrize("measured", [False, True], ids=["plain", "measured"])
def test_the_examples_run(tmp_path, measured):
    command = [sys.executable, "-c", EXAMPLES, *FUNCTIONS]
    if measured:  # the examples end the measurement
        command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "x", "--", *command]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_hides_a_public_name():
    """The import of spartito.x makes it the attribute x of spartito."""
    modules = {path.stem for path in pathlib.Path(spartito.__file__).parent.iterdir()}
    assert not modules & set(spartito.__all__)
