# SPDX-License-Identifier: BSD-3-Clause
"""--include, --exclude and --only-mine select functions in a program, with patterns as users write them."""

import os
import shutil
import subprocess
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
    """Returns a function that measures a program: (names of recorded functions, messages besides the summary)."""
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
    ("pkg.__main__:*", ("-m", "pkg"), MINE),
])
def test_a_script_matches_by_its_module_name(recorded, pattern, program, found):
    names, message = recorded("--include", pattern, program=program)
    # a function made by exec() in the script has the module __main__, but no file
    assert names - {"__main__:made", "pkg:<module>"} == found and bool(message) == (not found)


@pytest.mark.parametrize("program, more", [(("solver.py",), set()), (("-c", SCRIPT), {"__main__:made"})], ids=["file", "-c"])
def test_only_mine_leaves_generated_code_out(recorded, program, more):
    assert recorded("--only-mine", program=program) == (MINE | more, "")


def test_an_include_that_matches_nothing_is_named(recorded):
    names, message = recorded("--include", "Solvr", "--include", "nothing:*")
    assert names == set()
    assert message == ("spartito: --include 'Solvr': no recorded function matches it; did you mean Solver or Solver.step?\n"
                    "spartito: --include 'nothing:*': no recorded function matches it\n")


def test_an_include_of_the_scripts_module_is_suggested(recorded):
    names, message = recorded("--include", "solvr:Solver.step")
    assert (names, message) == (set(), "spartito: --include 'solvr:Solver.step': no recorded function matches it; "
                                    "did you mean solver:Solver.step or solver:Solver or Solver.step?\n")


@pytest.mark.parametrize("pattern, found", [("child:work", {"__mp_main__:work"}), ("__main__:work", {"__mp_main__:work"})])
def test_a_script_in_a_process_of_multiprocessing(tmp_path, spartito, pattern, found):
    (tmp_path / "child.py").write_text("""
import multiprocessing
def work(n): return n
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map(work, [1, 2])
""")
    done = run(spartito, "run", "-q", "--include", pattern, "-o", "x", "--", sys.executable, "child.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert {row["name"] for row in analyse.Model(str(tmp_path / "x")).flat() if row["visits"]} == found


@pytest.mark.parametrize("words", [
    ("report", "--match", "solver:*"),
    ("report", "--match", "solver:Solver.step"),
    ("report", "callers", "--match", "solver:*"),
    ("report", "lines", "--match", "solver:*"),
    ("plot", "--kind", "graph", "-o", "graph.svg", "--match", "solver:*"),
    ("plot", "--kind", "timeline", "-o", "plot.svg", "--match", "solver:*"),
    ("diff", "--match", "solver:*", "y"),
], ids=lambda words: " ".join(words[:3]))  # fmt: skip
def test_reports_know_a_script_by_its_module_name(recorded, tmp_path, spartito, words):
    recorded("--lines", "solver:*", "--trace")
    shutil.copytree(tmp_path / "x", tmp_path / "y")
    done = run(spartito, *words, "x", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    if words[0] == "report":
        assert "__main__:Solver.step" in done.stdout
    # the script's name is not part of the name of a function
    assert "__main__:D" not in run(spartito, "report", "--match", "solver", "x", cwd=tmp_path).stdout


def test_filters_of_score_p_have_a_script_by_the_name_it_has_there(recorded, tmp_path, spartito):
    names, _ = recorded("--exclude", "solver:*")
    assert not names & (MINE - {"__main__:<module>"})  # code from exec() of a string has a <module>, too
    filters = "SCOREP_REGION_NAMES_BEGIN\nEXCLUDE solver:*\nSCOREP_REGION_NAMES_END\n"
    (tmp_path / "filter").write_text(filters)
    words = [sys.executable, "-m", "spartito.compat.scorep", "solver.py"]
    environment = {**os.environ, "SCOREP_FILTERING_FILE": "filter", "SCOREP_EXPERIMENT_DIRECTORY": "y"}
    assert subprocess.run(words, cwd=tmp_path, env=environment).returncode == 0
    assert "__main__.Solver:step" in {row["name"] for row in analyse.Model(str(tmp_path / "y")).flat()}
