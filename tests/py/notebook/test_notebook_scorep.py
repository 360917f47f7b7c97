# SPDX-License-Identifier: BSD-3-Clause
"""The kernel for notebooks of the Score-P kernel runs its example notebook in order and prints the same output."""

import os
import subprocess
from pathlib import Path

import pytest
from scorep_helpers import environment, visits

notebook = pytest.importorskip("notebook")
from kernel_helpers import (  # noqa: E402
    ARGUMENTS,
    SETTINGS,
    SLEEP,
    as_at_the_start,  # noqa: F401
    is_ours,
    places,
    start,
)

CLASS = """\
%%execute_with_scorep
import scorep
class A:
    desc = "This class and method should be..."
    def print_desc(self, x):
        print(self.desc + str(x))

a = A()"""
MARKED = "marked the cell for multi-cell mode. This cell will be executed at position: "

# (cell, its output in the example, expected regions, or None for a cell that is not measured)
FIRST = (
    (SETTINGS, "set user environment sucessfully: {'SCOREP_ENABLE_TRACING': '1', 'SCOREP_ENABLE_PROFILING': '0', "
               "'SCOREP_TOTAL_MEMORY': '3g'}", None),
    (ARGUMENTS, "use the following scorep python binding arguments: --noinstrumenter", None),
    (CLASS, "", []),
    ('a.print_desc("known here")', "This class and method should be...known here\n", None),
    ('a.desc = "new desc"', "", None),
    ("print(a.desc)", "new desc\n", None),
    ('%%execute_with_scorep\nimport scorep\nwith scorep.instrumenter.enable():\n    a.desc = "new desc2"', "", []),
    ("print(a.desc)", "new desc2\n", None),
    # the example sleeps 5 and 10 seconds
    (SLEEP.replace("time.sleep(x)", "time.sleep(x / 1000)"), "", ["__main__:sleep_and_double"]),
    ("print(x)", "20\n", None),
    ("%%enable_multicellmode", "started multi-cell mode. The following cells will be marked.", None),
    ("#%%abort_multicellmode", MARKED + "1", None),
    ("%%abort_multicellmode", "aborted multi-cell mode.", None),
    ("%%enable_multicellmode", "started multi-cell mode. The following cells will be marked.", None),
    ('with scorep.instrumenter.enable():\n    class B:\n        desc = "This is a class defined in multi cell mode"\n'
     "        def print_desc(self, x):\n            print(self.desc + str(x))", MARKED + "1", None),
    ("import scorep\nwith scorep.instrumenter.enable():\n    b = B()", MARKED + "2", None),
    ('with scorep.instrumenter.enable():\n    b.print_desc("...and this object is initialized and used in it.")',
     MARKED + "3", None),
    ('b.desc = "modified desc"', MARKED + "4", None),
    ("print(b.desc)", MARKED + "5", None),
    ("%%finalize_multicellmode", "finalizing multi-cell mode and execute cells.This is a class defined in multi cell mode"
     "...and this object is initialized and used in it.\nmodified desc\n", ["__main__.B:print_desc", "__main__:B"]),
)  # fmt: skip


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    above = tmp_path_factory.mktemp("scorep")
    (above / "work").mkdir()
    with start(above / "work", above / "specs") as kernel:
        yield kernel


def test_the_example_in_order(kernel):
    for code, printed, regions in FIRST:
        cell = kernel.ok(code)
        assert (cell.stdout, cell.stderr) == (printed, ""), cell
        assert [o for o in cell.outputs if o["output_type"] != "stream" and not is_ours(o)] == []
        found = places(cell)
        assert len(found) == (regions is not None), cell
        for path in map(Path, found):
            # the experiment is complete when the cell ends
            assert path.parent == kernel.directory and path.name.startswith("scorep-")
            assert {"traces.otf2", "traces.def", "traces", "scorep.cfg", "MANIFEST.md"} <= set(os.listdir(path))
            assert not (path / "profile.cubex").exists()
            mine = [name for name in visits(path) if name.startswith("__main__") and not name.endswith("<module>")]
            assert sorted(mine) == sorted(regions), visits(path)


WRITTEN = (
    (SETTINGS, "Environment variables recorded."),
    (ARGUMENTS, "Score-P bindings arguments recorded."),
    ('print("Cell without instrumentation.")', "Python commands without instrumentation recorded."),
    ("%%execute_with_scorep\n\nimport numpy as np\nimport scorep\n\na = np.array([1, 2, 3])\nb = np.array([4, 5, 6])\nc = a.dot(b)",
     "Python commands with instrumentation recorded."),
    ("%%enable_multicellmode\n\nwith scorep.instrumenter.enable():\n    d = a.outer(b)",
     "started multi-cell mode. The following cells will be recorded with instrumentation."),
    ("with scorep.instrumenter.enable():\n    e = b.outer(a)", "Python commands with instrumentation recorded."),
    ("%%abort_multicellmode", "aborted multi-cell mode."),
)  # fmt: skip


def bash(path, **more):
    return subprocess.run(["bash", path], cwd=path.parent, env=environment(**more), capture_output=True, text=True, timeout=240)


def test_the_example_of_write_mode(kernel):
    script, run = kernel.directory / "myscript.py", kernel.directory / "myscript_run.sh"
    message = f"Started converting to Python script. See files:\n{run}\n{script}\n"
    assert kernel.ok("%%start_writefile myscript.py").text == message
    for code, printed in WRITTEN:
        cell = kernel.ok(code)
        assert cell.stdout == printed and not places(cell), cell
        assert cell.stderr == ("additional code in this cell is ignored\n" if "d = a.outer" in code else ""), cell
        compile(script.read_text(), str(script), "exec")  # the script is complete after each cell
    # the marked cells are discarded
    assert kernel.ok("%%finalize_multicellmode").stderr == "KernelWarning: Currently in writefile, command ignored.\n"
    assert kernel.ok("%%end_writefile").text == "Finished converting to Python script."
    assert "outer" not in script.read_text() and os.access(run, os.X_OK)
    assert run.read_text().startswith("#!/bin/bash\n")
    before = set(kernel.directory.glob("scorep-*"))
    done = bash(run)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Cell without instrumentation.\n", "")
    (made,) = set(kernel.directory.glob("scorep-*")) - before
    assert (made / "traces.otf2").exists() and not (made / "profile.cubex").exists()


def test_script_gives_the_regions_of_the_cells(kernel):
    """Functions of measured cells, of other cells, and of those that the program itself enables: the script has the same regions as
    the cells."""
    cells = (
        '%%execute_with_scorep\nimport scorep, scorep.user\n\ndef inner(n):\n    return [i for i in range(n)]\n\ndef outer():\n'
        '    with scorep.user.region("part"):\n        return inner(3)\nouter()\nprint("one")',
        'text = """a\n  b\n    c"""\nouter()\nif True:\n    print(text)',
        "%%execute_with_scorep\nclass Point:\n    def __init__(self):\n        self.x = 1\n\n    def double(self):\n"
        "        return 2 * self.x\nprint(Point().double(), text)",
    )
    kernel.ok("import scorep, scorep.user")
    kernel.ok("%%scorep_env\nSCOREP_ENABLE_PROFILING=1\nSCOREP_ENABLE_TRACING=0")
    run = [kernel.ok(code) for code in cells]
    kernel.ok("%%start_writefile same")
    kernel.ok("%%scorep_env\nSCOREP_EXPERIMENT_DIRECTORY=of-script")
    for code in cells:
        kernel.ok(code)
    kernel.ok("%%end_writefile")
    done = bash(kernel.directory / "same_run.sh")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == "".join(cell.stdout for cell in run)
    measured = [path for cell in run for path in places(cell)]
    assert len(measured) == 2 and all(os.path.exists(os.path.join(path, "profile.cubex")) for path in measured)
    of_cells = {name for path in measured for name in visits(path)}
    assert {"__main__:outer", "__main__:inner", "user:part", "__main__.Point:double", "__main__:<module>"} <= of_cells
    # only the script imports modules: the kernel imported them before
    assert {name for name in visits(kernel.directory / "of-script") if name.startswith(("__main__", "user"))} == of_cells


def test_cells_within_the_cell_end_nothing(kernel):
    """%%capture and shell commands make the shell run another cell within this one: the measurement continues after it."""
    code = "def late():\n    pass\n\n[get_ipython().run_cell('def early():\\n    pass\\nearly()').success, late()]"
    cell = kernel.ok("%%execute_with_scorep\n" + code)
    assert {"__main__:early", "__main__:late"} <= set(visits(*places(cell)))
    cell = kernel.ok("%%execute_with_scorep\n%%capture\nlate()\nprint('kept')")
    assert "__main__:late" in visits(*places(cell)) and cell.text == ""


def test_other_magics_know_these_cells(kernel):
    cell = kernel.ok("%%execute_with_scorep\ndef late():\n    pass\n\nfor n in range(10_000):\n    late()")
    assert "__main__:late" in kernel.ok(f"%spartito_report {cell.count} tree").text
    assert kernel.ok("%spartito_save kept").status == "ok" and (kernel.directory / "kept" / "scorep.cfg").exists()
