# SPDX-License-Identifier: BSD-3-Clause
"""`spartito report imports`, and the summary of a run without its imports: the modules and their importers are those that
Python's own `-X importtime` reports, and the times add up."""

import json
import re
import subprocess
import sys

from commandline import run
from spartito.analysis import Model

PROGRAM = """
import email.message, decimal
def work():
    import heavy.inner
    return sum(range(100))
work()
"""
HEAVY = "import time, json\ndef pause(): time.sleep(.05)\npause()\nclass Local: pause()\n"
INNER = "import xml.dom.minidom\nfrom heavy import Local\nimport time\ntime.sleep(.02)\n"


def program(tmp_path):
    (tmp_path / "heavy").mkdir()
    (tmp_path / "heavy" / "__init__.py").write_text(HEAVY)
    (tmp_path / "heavy" / "inner.py").write_text(INNER)
    (tmp_path / "program.py").write_text(PROGRAM)


def measured(spartito, tmp_path, *options):
    done = run(spartito, "run", "-o", "out", *options, "--", sys.executable, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stderr


def importers(tmp_path):
    """module: the module that imports it (""; the program), by `-X importtime`, which prints each module after what it imports."""
    done = subprocess.run([sys.executable, "-X", "importtime", "program.py"], cwd=tmp_path, capture_output=True, text=True)
    found, inner = {}, {}
    for indent, module in re.findall(r"^import time: +\d+ \| +\d+ \| ( *)(\S+)$", done.stderr, re.M):
        depth = len(indent) // 2
        found.update(dict.fromkeys(inner.pop(depth + 1, ()), module))
        inner.setdefault(depth, []).append(module)
    return {**found, **dict.fromkeys(inner[0], "")}


def names(rows):
    """module: its importer, of the rows of Model.imports()."""
    return {row["module"]: rows[row["importer"]]["module"] if row["importer"] else "" for row in rows[1:]}


def test_the_modules_are_those_of_importtime(spartito, tmp_path):
    program(tmp_path)
    measured(spartito, tmp_path)
    rows = Model(str(tmp_path / "out")).imports()
    ours, theirs = names(rows), importers(tmp_path)
    assert {"heavy", "heavy.inner", "xml.dom.minidom", "email.message", "decimal", "json"} <= set(ours)
    assert len(ours) == len(rows) - 1  # a module is imported once
    assert set(ours) <= set(theirs)
    # a package that only the import of its submodule needs is imported within that import there; compiled modules have no row
    for module, importer in ours.items():
        while theirs[module] and theirs[module] not in ours:
            module = theirs[module]
        assert importer == theirs[module] or module.rpartition(".")[0] == theirs[module] or theirs[module].startswith(module)


def test_times_add_up(spartito, tmp_path):
    program(tmp_path)
    measured(spartito, tmp_path)
    rows = Model(str(tmp_path / "out")).imports()
    by_name = {row["module"]: row for row in rows[1:]}
    for i, row in enumerate(rows):
        within = sum(other["incl"] for other in rows[1:] if other["importer"] == i)
        assert abs(row["incl"] - (row["excl"] + row["loading"] + within)) < 1e-6 * max(1, row["incl"]), row
    assert by_name["heavy"]["excl"] >= 0.1 and by_name["heavy.inner"]["excl"] >= 0.02
    assert by_name["heavy"]["own"] and not by_name["json"]["own"]
    assert by_name["heavy"]["visits"] == 1


def test_the_summary_leaves_imports_out(spartito, tmp_path):
    program(tmp_path)
    summary = measured(spartito, tmp_path)
    assert re.search(r"^imports took \S+ \S+: .*spartito report imports", summary, re.M)
    assert "importlib" not in summary.partition("next:")[0]
    # the program's own modules are its work
    rows = Model(str(tmp_path / "out")).flat(imports=False)
    found = {row["name"]: row for row in rows}
    assert found["heavy:pause"]["visits"] == 2 and found["heavy:pause"]["excl"] >= 0.1
    assert "xml.dom.minidom:<module>" not in found and "__main__:work" in found
    whole = {row["name"]: row for row in Model(str(tmp_path / "out")).flat()}
    assert "xml.dom.minidom:<module>" in whole and found["__main__:work"]["incl"] < whole["__main__:work"]["incl"]


def test_report(spartito, tmp_path):
    program(tmp_path)
    measured(spartito, tmp_path, "-q")
    done = run(spartito, "report", "imports", "--limit", "2", "out", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert re.search(r"^ *\S+ \S+ .*  (heavy|email\.message)$", done.stdout, re.M) and "not shown (--limit)" in done.stdout
    found = json.loads(run(spartito, "report", "imports", "--json", "out", cwd=tmp_path).stdout)
    assert found["imports"]["modules"] == len(found["rows"]) and found["imports"]["incl"] <= found["imports"]["busy"]


def test_no_imports(spartito, tmp_path):
    (tmp_path / "program.py").write_text("def work(): pass\nwork()\n")
    measured(spartito, tmp_path, "-q", "--only-mine")
    done = run(spartito, "report", "imports", "out", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == (
        "spartito: out: no imports were recorded: a filter such as --only-mine leaves out the functions that import\n"
    )
