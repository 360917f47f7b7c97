# SPDX-License-Identifier: BSD-3-Clause
"""What --include, --exclude and --only-mine choose in a program as users write them."""

import sys

import pytest
import spartito._analyse as analyse
from commandline import run

SCRIPT = """
import collections, dataclasses
P = collections.namedtuple("P", "x y")
@dataclasses.dataclass
class D:
    x: int
class Solver:
    def step(self): return P(1, 2), D(3)
exec("def made(): return 1")
for i in range(3): Solver().step(); made()
"""


@pytest.fixture
def recorded(tmp_path, spartito):
    """The functions that a run records, and what it says beside the summary."""
    (tmp_path / "pkg").mkdir()
    for name, text in (("solver.py", SCRIPT), ("pkg/mod.py", SCRIPT), ("pkg/__init__.py", ""), ("pkg/__main__.py", SCRIPT)):
        (tmp_path / name).write_text(text)

    def measure(*options, program=("solver.py",)):
        done = run(spartito, "run", "-q", *options, "-o", "x", "--", sys.executable, *program, cwd=tmp_path)
        assert done.returncode == 0
        rows = analyse.Model(str(tmp_path / "x")).flat()
        return {row["name"] for row in rows if row["visits"]}, done.stderr

    return measure


MINE = {"__main__:<module>", "__main__:Solver", "__main__:Solver.step", "__main__:D"}


@pytest.mark.parametrize("pattern, program, found", [
    ("solver:*", ("solver.py",), MINE),
    ("solver", ("solver.py",), MINE),
    ("module:solver", ("solver.py",), MINE),
    ("solver:Solver.step", ("solver.py",), {"__main__:Solver.step"}),
    ("re:^solver:Sol", ("solver.py",), {"__main__:Solver", "__main__:Solver.step"}),
    ("__main__:Solver.*", ("solver.py",), {"__main__:Solver.step"}),
    ("pkg.mod:*", ("-m", "pkg.mod"), MINE),
    ("mod:*", ("-m", "pkg.mod"), set()),
    ("pkg:*", ("-m", "pkg"), MINE),
])
def test_a_script_matches_by_its_module_name(recorded, pattern, program, found):
    names, said = recorded("--include", pattern, program=program)
    # what exec() made in the script is of the module __main__, but of no file
    assert names - {"__main__:made", "pkg:<module>"} == found and bool(said) == (not found)


@pytest.mark.parametrize("program, more", [(("solver.py",), set()), (("-c", SCRIPT), {"__main__:made"})], ids=["file", "-c"])
def test_only_mine_leaves_generated_code_out(recorded, program, more):
    assert recorded("--only-mine", program=program) == (MINE | more, "")


def test_an_include_that_matches_nothing_is_named(recorded):
    names, said = recorded("--include", "Solvr", "--include", "nothing:*")
    assert names == set()
    assert said == ("spartito: --include 'Solvr': no recorded function matches it; did you mean Solver or Solver.step?\n"
                    "spartito: --include 'nothing:*': no recorded function matches it\n")
