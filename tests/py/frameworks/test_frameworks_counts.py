# SPDX-License-Identifier: BSD-3-Clause
"""docutils and sympy: the calls of each Python and C function are those that cProfile counts, but for the differences in
docs/from/cprofile.md."""

import collections
import os
import pstats
import re
import subprocess
import sys

import pytest

pytest.importorskip("docutils")
pytest.importorskip("sympy")

DOCUTILS = """
import docutils.core
TEXT = "Title\\n=====\\n\\n" + "\\n\\n".join(
    f"Paragraph *{n}* with ``code``, a `link <http://x.org/{n}>`_.\\n\\n- one\\n- two\\n\\n.. note:: {n}" for n in range(30))
def main():
    docutils.core.publish_string(TEXT, writer="html5", settings_overrides={"report_level": 5})
"""
SYMPY = """
import sympy, sympy.core.random
from sympy.core.cache import clear_cache
def main():
    clear_cache()  # and the same random numbers in all runs, for the same calls
    sympy.core.random.seed(0)
    x, y, z = sympy.symbols("x y z")
    p = sympy.Poly((x + y) ** 6 * (x - z) ** 4, x, y, z)
    str((p * p).factor_list()), sympy.latex(p.as_expr())
    sympy.Matrix(5, 5, lambda i, j: i * 7 + j * j + 1).rank(), sympy.factorint(2**61 - 3)
"""
# cProfile's own file keeps only one of several functions with equal file, line and name; here they are added up
RUN = """
import cProfile, pstats, random
import spartito
from program import main
main(), main()
random.seed(0)
profile = cProfile.Profile()
profile.enable()
main()
profile.disable()
with open("counts", "w") as counts:
    for entry in profile.getstats():
        code = entry.code
        key = ("~", 0, code) if isinstance(code, str) else (code.co_filename, code.co_firstlineno, code.co_name)
        print((key, entry.callcount), file=counts)
random.seed(0)
spartito.start("x", c_calls=True)
main()
spartito.stop()
"""
NEW_OF_ANY = re.compile(r"<built-in method __new__ of type object at 0x\w+>")
NEW_OF_ONE = re.compile(r"<method '__new__' of '\w+' objects>")
OVERRIDDEN = re.compile(r"<function Random.seed at 0x\w+>")
SEED = "<method 'seed' of '_random.Random' objects>"


def alike(counts):
    """The counts with one entry for all C functions __new__, and seed() by the type that defines it."""
    found = collections.Counter()
    for (file, line, name), n in counts:
        name = OVERRIDDEN.sub(SEED, NEW_OF_ANY.sub("__new__", NEW_OF_ONE.sub("__new__", name)))
        found[file, line, name] += n
    return +found  # without those that were called before the measurement


@pytest.mark.parametrize("text", [DOCUTILS, SYMPY], ids=["docutils", "sympy"])
def test_counts_are_those_of_cprofile(text, tmp_path):
    (tmp_path / "program.py").write_text(text)
    (tmp_path / "run.py").write_text(RUN)
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "run.py"], cwd=tmp_path, env=environment, check=True)
    subprocess.run([sys.executable, "-m", "spartito", "convert", "--to", "pstats", "-o", "ours", "x"], cwd=tmp_path, check=True)
    theirs = alike(eval(line) for line in (tmp_path / "counts").read_text().splitlines())
    ours = alike((key, entry[1]) for key, entry in pstats.Stats(str(tmp_path / "ours")).stats.items())
    del theirs["~", 0, "<method 'disable' of '_lsprof.Profiler' objects>"]
    assert ours == theirs and len(ours) > 300 and sum(ours.values()) > 100_000
